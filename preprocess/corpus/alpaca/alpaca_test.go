package alpaca

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func TestGoldens(t *testing.T) {
	n := corpustest.Check(t, func(g corpustest.Golden) corpustest.Reader {
		switch {
		case g.Reader == "alpaca-seeds":
			return corpustest.With(Seeds)
		case g.Corpus == "alpaca":
			return corpustest.With(Format(g.Task))
		case g.Corpus == "dolly":
			return corpustest.With(Dolly)
		}
		return nil
	})
	if n != 5 {
		t.Errorf("%d files", n)
	}
}
