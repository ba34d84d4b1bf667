package vqa

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func TestGoldens(t *testing.T) {
	n := corpustest.Check(t, func(g corpustest.Golden) corpustest.Reader {
		switch g.Reader {
		case "vqa":
			return corpustest.With(Annotated("vqav2", "answer"))
		case "vqa-results":
			return corpustest.With(Results)
		}
		return nil
	})
	if n != 4 {
		t.Errorf("%d files", n)
	}
}

func traps(c corpustest.Trap) corpustest.Reader {
	if c.ReadAs == "json/vqa" {
		return corpustest.With(Annotated("vqav2", "answer"))
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
