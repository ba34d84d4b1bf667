package unigram

import (
	"testing"

	"espalier/tokenize/model"
	"espalier/tokenize/spm"
	"espalier/tokenize/tokentest"
)

func BenchmarkAppend(b *testing.B) {
	for _, name := range []string{"t5", "zh", "albert"} {
		m := load(b, name)
		b.Run(name, func(b *testing.B) { tokentest.Bench(b, false, m.NewEncoder) })
		b.Run(name+"/fresh", func(b *testing.B) {
			tokentest.Bench(b, true, func() model.Encoder {
				m, err := New(m.Model)
				if err != nil {
					b.Fatal(err)
				}
				return m.NewEncoder()
			})
		})
		m.words = nil
		b.Run(name+"/plain", func(b *testing.B) { tokentest.Bench(b, false, m.NewEncoder) })
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, name := range []string{"t5", "zh"} {
		file := tokentest.Data(b, tokentest.SentencePiece[name])
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s, err := spm.Parse(file)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := New(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
