package trie

import (
	"bufio"
	"os"
	"testing"

	"espalier/internal/shared"
)

func lines(t testing.TB, elem ...string) []string {
	f, err := os.Open(shared.Dir(t, elem...))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []string
	for s := bufio.NewScanner(f); s.Scan(); {
		out = append(out, s.Text())
	}
	return out
}

func BenchmarkNew(b *testing.B) {
	keys := lines(b, "data", "tok-bert-vocab", "google_uncased_en_vocab.txt")
	for b.Loop() {
		if _, err := New(keys); err != nil {
			b.Fatal(err)
		}
	}
}
