package preset

import (
	"testing"

	"espalier/tokenize/bytebpe"
	"espalier/tokenize/model"
	"espalier/tokenize/tokentest"
	"espalier/tokenize/wordpiece"
)

// BenchmarkAppend times the classes on the benchmark's text, with their words in
// memory and, fresh, without.
func BenchmarkAppend(b *testing.B) {
	for _, x := range []struct {
		name string
		open func() (*Class, error)
	}{
		{"t5", func() (*Class, error) { return t5Class(b, Options{}), nil }},
		{"t5-converted", func() (*Class, error) { return t5Class(b, Options{Kind: V5}), nil }},
		{"llama", func() (*Class, error) { return llamaClass(b, Options{}), nil }},
		{"bert", func() (*Class, error) {
			return bertClass(b, bertFiles["bert_uncased"], wordpiece.Options{Lower: true}), nil
		}},
		{"gpt2", func() (*Class, error) { return GPT2(gpt2Model(b, bytebpe.GPT2), ByteOptions{}) }},
		{"roberta", func() (*Class, error) { return Roberta(robertaModel(b, bytebpe.GPT2), ByteOptions{}) }},
		{"clip", func() (*Class, error) { return clipClass(b, CLIPOptions{}), nil }},
	} {
		fresh := func() model.Encoder {
			c, err := x.open()
			if err != nil {
				b.Fatal(err)
			}
			return c.NewEncoder()
		}
		b.Run(x.name, func(b *testing.B) { tokentest.Bench(b, false, fresh) })
		b.Run(x.name+"/fresh", func(b *testing.B) { tokentest.Bench(b, true, fresh) })
	}
}
