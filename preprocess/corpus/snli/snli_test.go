package snli

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func TestGoldens(t *testing.T) {
	n := corpustest.Check(t, func(g corpustest.Golden) corpustest.Reader {
		if g.Corpus == "snli" {
			return corpustest.With(SNLI())
		}
		return nil
	})
	if n != 1 {
		t.Errorf("%d files, want 1", n)
	}
}
