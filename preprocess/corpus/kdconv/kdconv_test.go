package kdconv

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func TestGoldens(t *testing.T) {
	n := corpustest.Check(t, func(g corpustest.Golden) corpustest.Reader {
		if g.Reader == "kdconv" {
			return corpustest.With(Format)
		}
		return nil
	})
	if n != 2 {
		t.Errorf("%d files", n)
	}
}
