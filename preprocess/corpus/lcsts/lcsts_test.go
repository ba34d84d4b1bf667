package lcsts

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func TestGoldens(t *testing.T) {
	n := corpustest.Check(t, func(g corpustest.Golden) corpustest.Reader {
		switch {
		case g.Reader == "lcsts":
			return corpustest.With(Format)
		case g.Corpus == "lcsts" || g.Corpus == "csl":
			return corpustest.With(Articles(g.Corpus))
		}
		return nil
	})
	if n != 4 {
		t.Errorf("%d files", n)
	}
}

func traps(c corpustest.Trap) corpustest.Reader {
	if c.ReadAs == "lcsts" {
		return corpustest.With(Format)
	}
	return nil
}

func TestSharedTraps(t *testing.T) {
	if n := corpustest.SharedTraps(t, traps); n != 1 {
		t.Errorf("%d traps", n)
	}
}

func TestTraps(t *testing.T) {
	if n := corpustest.Traps(t, "testdata", traps); n != 1 {
		t.Errorf("%d traps", n)
	}
}
