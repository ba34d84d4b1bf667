package wordpiece

import (
	"bytes"
	"testing"

	"espalier/tokenize/model"
	"espalier/tokenize/tokentest"
)

func BenchmarkAppend(b *testing.B) {
	for _, name := range []string{"google_uncased_en_vocab.txt", "google_zh_vocab.txt"} {
		fresh := func() model.Encoder {
			v, err := ReadVocab(bytes.NewReader(tokentest.Data(b, "tok-bert-vocab/"+name)))
			if err != nil {
				b.Fatal(err)
			}
			m, err := New(v, Options{Lower: true})
			if err != nil {
				b.Fatal(err)
			}
			return m.NewEncoder()
		}
		b.Run(name, func(b *testing.B) { tokentest.Bench(b, false, fresh) })
		b.Run(name+"/fresh", func(b *testing.B) { tokentest.Bench(b, true, fresh) })
	}
}
