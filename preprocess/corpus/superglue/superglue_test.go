package superglue

import (
	"strings"
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func readerOf(task string) corpustest.Reader {
	switch task {
	case "boolq":
		return corpustest.With(BoolQ())
	case "cb":
		return corpustest.With(CB())
	case "copa":
		return corpustest.With(COPA())
	case "multirc":
		return corpustest.With(MultiRC())
	case "record":
		return corpustest.With(ReCoRD())
	case "rte":
		return corpustest.With(RTE())
	case "wic":
		return corpustest.With(WiC())
	case "wsc":
		return corpustest.With(WSC())
	case "axb":
		return corpustest.With(AXb())
	case "axg":
		return corpustest.With(AXg())
	}
	return nil
}

func TestGoldens(t *testing.T) {
	n := corpustest.Check(t, func(g corpustest.Golden) corpustest.Reader {
		if g.Corpus != "superglue" {
			return nil
		}
		if g.Twins == 0 && g.Reader == "json-lines" {
			return corpustest.With(BoolQNumbered())
		}
		return readerOf(g.Task)
	})
	if n != 37 {
		t.Errorf("%d files, want 37", n)
	}
}

func TestTraps(t *testing.T) {
	n := corpustest.Traps(t, "testdata", func(c corpustest.Trap) corpustest.Reader {
		return readerOf(strings.TrimPrefix(c.ReadAs, "jsonl/"))
	})
	if n != 2 {
		t.Errorf("%d traps, want 2", n)
	}
}

func TestSharedTraps(t *testing.T) {
	n := corpustest.SharedTraps(t, func(c corpustest.Trap) corpustest.Reader {
		return readerOf(strings.TrimPrefix(c.ReadAs, "jsonl/"))
	})
	if n != 2 {
		t.Errorf("%d traps, want 2", n)
	}
}
