package commongen

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func TestGoldens(t *testing.T) {
	n := corpustest.Check(t, func(g corpustest.Golden) corpustest.Reader {
		if g.Corpus == "common_gen" {
			return corpustest.With(CommonGen())
		}
		return nil
	})
	if n != 2 {
		t.Errorf("%d files, want 2", n)
	}
}
