package trec

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func TestGoldens(t *testing.T) {
	n := corpustest.Check(t, func(g corpustest.Golden) corpustest.Reader {
		switch {
		case g.Reader == "trec":
			return corpustest.With(TREC())
		case g.Reader == "label-space-text":
			return corpustest.With(Labelled(g.Corpus, g.Task))
		}
		return nil
	})
	if n != 9 {
		t.Errorf("%d files, want 9", n)
	}
}

func TestTraps(t *testing.T) {
	n := corpustest.Traps(t, "testdata", func(c corpustest.Trap) corpustest.Reader {
		if c.ReadAs == "trec" {
			return corpustest.With(TREC())
		}
		return nil
	})
	if n != 1 {
		t.Errorf("%d traps, want 1", n)
	}
}

func TestSharedTraps(t *testing.T) {
	n := corpustest.SharedTraps(t, func(c corpustest.Trap) corpustest.Reader {
		if c.ReadAs == "trec" {
			return corpustest.With(TREC())
		}
		return nil
	})
	if n != 1 {
		t.Errorf("%d traps, want 1", n)
	}
}

func FuzzTREC(f *testing.F) {
	f.Add([]byte("DESC:manner How far \xf0 is it ?\r\n\nXXX:y What ?\nLOC:city\n"))
	f.Add([]byte("\xff\xfe"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, read := range []corpustest.Reader{corpustest.With(TREC()), corpustest.With(Labelled("sst", "sst"))} {
			corpustest.SameSlices(t, read, "x.label", b)
		}
	})
}
