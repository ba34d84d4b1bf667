package matinf

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func TestGoldens(t *testing.T) {
	n := corpustest.Check(t, func(g corpustest.Golden) corpustest.Reader {
		if g.Corpus == "matinf" {
			return corpustest.With(Format)
		}
		return nil
	})
	if n != 3 {
		t.Errorf("%d files", n)
	}
}

func traps(c corpustest.Trap) corpustest.Reader {
	if c.ReadAs == "csv" {
		return corpustest.With(Format)
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
