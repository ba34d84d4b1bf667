package snlive

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func TestGoldens(t *testing.T) {
	n := corpustest.Check(t, func(g corpustest.Golden) corpustest.Reader {
		switch g.Corpus {
		case "snli-ve":
			return corpustest.With(Format)
		case "e-snli-ve":
			return corpustest.With(Explained)
		}
		return nil
	})
	if n != 2 {
		t.Errorf("%d files", n)
	}
}
