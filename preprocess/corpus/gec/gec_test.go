package gec

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func TestGoldens(t *testing.T) {
	n := corpustest.Check(t, func(g corpustest.Golden) corpustest.Reader {
		switch g.Reader {
		case "gec-source":
			return corpustest.With(Gold)
		case "parallel":
			return corpustest.With(Parallel(g.Corpus))
		case "m2":
			return corpustest.With(M2(g.Corpus))
		}
		return nil
	})
	if n != 4 {
		t.Errorf("%d files", n)
	}
}

func traps(c corpustest.Trap) corpustest.Reader {
	switch c.ReadAs {
	case "m2":
		return corpustest.With(M2("m2"))
	case "nlpcc-train":
		return corpustest.With(Train)
	}
	return nil
}

func TestSharedTraps(t *testing.T) {
	if n := corpustest.SharedTraps(t, traps); n != 2 {
		t.Errorf("%d traps", n)
	}
}

func TestTraps(t *testing.T) {
	if n := corpustest.Traps(t, "testdata", traps); n != 2 {
		t.Errorf("%d traps", n)
	}
}
