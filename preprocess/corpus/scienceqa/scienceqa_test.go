package scienceqa

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func TestGoldens(t *testing.T) {
	n := corpustest.Check(t, func(g corpustest.Golden) corpustest.Reader {
		if g.Reader == "scienceqa" {
			return corpustest.With(Format)
		}
		return nil
	})
	if n != 3 {
		t.Errorf("%d files", n)
	}
}
