package coco

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func TestGoldenResults(t *testing.T) {
	n := corpustest.Check(t, func(g corpustest.Golden) corpustest.Reader {
		switch {
		case g.Reader == "coco-results":
			return corpustest.With(Results(g.Corpus))
		case g.Corpus == "spice":
			return corpustest.With(Spice)
		}
		return nil
	})
	if n != 6 {
		t.Errorf("%d files", n)
	}
}
