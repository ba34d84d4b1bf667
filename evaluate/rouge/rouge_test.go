package rouge

import (
	"math"
	"testing"

	"espalier/evaluate/captiontest"
	"espalier/evaluate/ngram"
	"espalier/evaluate/numeric"
)

func near(got, want float64) bool {
	return got == want || math.Abs(got-want) <= 1e-14*math.Abs(want)
}

func checkCorpus(t *testing.T, c *captiontest.Corpus) {
	t.Helper()
	var words ngram.Words
	var s Scorer
	var sum numeric.Sum
	for i, im := range c.Scored() {
		var refs [][]uint32
		for _, r := range im.Refs {
			refs = append(refs, words.Cut(nil, r))
		}
		got := s.Score(words.Cut(nil, im.Hyp), refs)
		sum.Add(got)
		if want := c.PerImage[i].RougeL; !near(got, want) {
			t.Errorf("%s: image %d: ROUGE-L = %v, want %v", c.Name, i, got, want)
		}
	}
	if got, want := sum.Value()/float64(len(c.Images)), c.Corpus.RougeL; !near(got, want) {
		t.Errorf("%s: ROUGE-L = %v, want %v", c.Name, got, want)
	}
}

func TestEqualToTheCaptionTools(t *testing.T) {
	for _, c := range captiontest.Adversarial(t) {
		checkCorpus(t, c)
	}
	for _, name := range captiontest.Names {
		t.Run(name, func(t *testing.T) { checkCorpus(t, captiontest.Shared(t, name)) })
	}
}
