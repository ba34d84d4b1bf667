package family

import (
	"testing"

	"espalier/internal/shared"
	"espalier/tokenize/tokentest"
)

// BenchmarkOpen times what comes before the first text: reading a vocabulary and
// making its encoder.
func BenchmarkOpen(b *testing.B) {
	for name, x := range map[string]struct{ path, as string }{
		"t5":      {tokentest.SentencePiece["t5"], "t5"},
		"zh":      {tokentest.SentencePiece["zh"], "t5"},
		"mistral": {tokentest.SentencePiece["mistral_v1"], "llama"},
		"bert":    {"tok-bert-vocab/google_uncased_en_vocab.txt", "bert-uncased"},
		"gpt2":    {"tok-gpt2", "gpt2"},
		"roberta": {"tok-roberta/roberta.json", "roberta"},
		"clip":    {"tok-clip/bpe_simple_vocab_16e6.txt.gz", "clip"},
	} {
		path := shared.Dir(b, "data", x.path)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s, err := Read(path, "")
				if err != nil {
					b.Fatal(err)
				}
				if name == "zh" { // no </s>, so no class
					m, err := s.Model(nil)
					if err != nil {
						b.Fatal(err)
					}
					m.NewEncoder()
					continue
				}
				c, err := s.As(x.as, nil)
				if err != nil {
					b.Fatal(err)
				}
				c.NewEncoder()
			}
		})
	}
}
