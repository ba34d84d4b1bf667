package paraphrase

import (
	"strings"
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func TestGoldens(t *testing.T) {
	n := corpustest.Check(t, func(g corpustest.Golden) corpustest.Reader {
		if g.Corpus == "paws-x" {
			return corpustest.With(PAWSX(strings.TrimPrefix(g.Task, "paws-x-")))
		}
		return nil
	})
	if n != 6 {
		t.Errorf("%d files", n)
	}
}
