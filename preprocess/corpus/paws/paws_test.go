package paws

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func TestGoldens(t *testing.T) {
	n := corpustest.Check(t, func(g corpustest.Golden) corpustest.Reader {
		switch g.Corpus {
		case "paws":
			return corpustest.With(Numbered())
		case "quora":
			return corpustest.With(Quora())
		}
		return nil
	})
	if n != 4 {
		t.Errorf("%d files, want 4", n)
	}
}

func TestTraps(t *testing.T) {
	n := corpustest.Traps(t, "testdata", func(c corpustest.Trap) corpustest.Reader {
		if c.ReadAs == "paws" {
			return corpustest.With(PAWS())
		}
		return nil
	})
	if n != 1 {
		t.Errorf("%d traps, want 1", n)
	}
}

func TestSharedTraps(t *testing.T) {
	n := corpustest.SharedTraps(t, func(c corpustest.Trap) corpustest.Reader {
		if c.ReadAs == "paws" {
			return corpustest.With(PAWS())
		}
		return nil
	})
	if n != 1 {
		t.Errorf("%d traps, want 1", n)
	}
}
