package adgen

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func TestGoldens(t *testing.T) {
	n := corpustest.Check(t, func(g corpustest.Golden) corpustest.Reader {
		if g.Reader == "adgen" {
			return corpustest.With(Format)
		}
		return nil
	})
	if n != 5 {
		t.Errorf("%d files", n)
	}
}

func traps(c corpustest.Trap) corpustest.Reader {
	switch c.ReadAs {
	case "json/adgen", "jsonl/adgen":
		return corpustest.With(Format)
	}
	return nil
}

func TestSharedTraps(t *testing.T) {
	if n := corpustest.SharedTraps(t, traps); n != 7 {
		t.Errorf("%d traps", n)
	}
}

func TestTraps(t *testing.T) {
	if n := corpustest.Traps(t, "testdata", traps); n != 7 {
		t.Errorf("%d traps", n)
	}
}
