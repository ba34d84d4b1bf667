package zhtext

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func TestGoldens(t *testing.T) {
	n := corpustest.Check(t, func(g corpustest.Golden) corpustest.Reader {
		switch g.Corpus {
		case "book_review", "chnsenticorp":
			return corpustest.With(Reviews(g.Corpus))
		case "news-commentary":
			return corpustest.With(News)
		case "zh-summ":
			return corpustest.With(Sentences)
		}
		return nil
	})
	if n != 9 {
		t.Errorf("%d files", n)
	}
}
