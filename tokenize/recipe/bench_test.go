package recipe

import (
	"os"
	"testing"

	"espalier/tokenize/model"
	"espalier/tokenize/tokentest"
	"espalier/tokenize/vocab"
)

// BenchmarkNew opens the file that ESPALIER_TOKENIZER names, or a small one.
func BenchmarkNew(b *testing.B) {
	v := benchFile(b)
	for b.Loop() {
		if _, err := New(v, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppend encodes the benchmark's text with it.
func BenchmarkAppend(b *testing.B) {
	v := benchFile(b)
	tokentest.Bench(b, true, func() model.Encoder {
		x, err := New(v, Options{})
		if err != nil {
			b.Fatal(err)
		}
		return x.NewEncoder()
	})
}

func benchFile(b *testing.B) *vocab.Tokenizer {
	b.Helper()
	name := os.Getenv("ESPALIER_TOKENIZER")
	if name == "" {
		name = "testdata/llama3.json"
	}
	text, err := os.ReadFile(name)
	if err != nil {
		b.Fatal(err)
	}
	v, err := vocab.Parse(string(text))
	if err != nil {
		b.Fatal(err)
	}
	return v
}
