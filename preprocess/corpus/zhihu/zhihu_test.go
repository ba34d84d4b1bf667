package zhihu

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func TestGoldens(t *testing.T) {
	n := corpustest.Check(t, func(g corpustest.Golden) corpustest.Reader {
		switch g.Reader {
		case "zhihu-label":
			return corpustest.With(WithTopics)
		case "zhihu-columns":
			return corpustest.With(Columns)
		}
		return nil
	})
	if n != 2 {
		t.Errorf("%d files", n)
	}
}
