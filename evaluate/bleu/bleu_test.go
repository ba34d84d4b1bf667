package bleu

import (
	"math"
	"testing"

	"espalier/evaluate/captiontest"
	"espalier/evaluate/ngram"
)

// near is the bound that the reference data states.
func near(got, want float64) bool {
	return got == want || math.Abs(got-want) <= 1e-14*math.Abs(want)
}

func number(words *ngram.Words, im captiontest.Image) (hyp []uint32, refs [][]uint32) {
	for _, r := range im.Refs {
		refs = append(refs, words.Fields(nil, r))
	}
	return words.Fields(nil, im.Hyp), refs
}

func check(t *testing.T, what string, got [4]float64, want ...float64) {
	t.Helper()
	for k := range got {
		if !near(got[k], want[k]) {
			t.Errorf("%s: BLEU-%d = %v, want %v", what, k+1, got[k], want[k])
		}
	}
}

func checkCorpus(t *testing.T, c *captiontest.Corpus) {
	t.Helper()
	var words ngram.Words
	var counter Counter
	var whole Corpus
	var halves [2]Corpus
	for i, im := range c.Scored() {
		s := counter.Count(number(&words, im))
		whole.Add(s)
		halves[i%2].Add(s)
		w := c.PerImage[i]
		check(t, c.Name, s.Score(Closest), w.Bleu1, w.Bleu2, w.Bleu3, w.Bleu4)
		if n := w.BleuCounts; n != nil {
			got := captiontest.Counts{TestLen: s.Hyp, RefLen: s.Closest, Guess: s.Guess, Correct: s.Correct}
			if got != *n {
				t.Errorf("%s: image %d: counts %v, want %v", c.Name, i, got, *n)
			}
		}
	}
	w := c.Corpus
	check(t, c.Name, whole.Score(Closest), w.Bleu1, w.Bleu2, w.Bleu3, w.Bleu4)
	check(t, c.Name+" shortest", whole.Score(Shortest), w.Bleu1Shortest, w.Bleu2Shortest, w.Bleu3Shortest, w.Bleu4Shortest)
	check(t, c.Name+" average", whole.Score(Average), w.Bleu1Average, w.Bleu2Average, w.Bleu3Average, w.Bleu4Average)
	if n := w.BleuCounts; n != nil {
		got := captiontest.Counts{TestLen: whole.Hyp, RefLen: whole.Closest, Guess: whole.Guess, Correct: whole.Correct}
		if got != *n {
			t.Errorf("%s: counts %v, want %v", c.Name, got, *n)
		}
	}
	halves[1].Merge(&halves[0])
	for _, l := range []RefLength{Closest, Shortest, Average} {
		if got, want := halves[1].Score(l), whole.Score(l); got != want {
			t.Errorf("%s: merged halves give %v, one pass %v", c.Name, got, want)
		}
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

// The published scores of the caption tools' demo.
func TestKnownAnswer(t *testing.T) {
	c := captiontest.Shared(t, "fakecap1000")
	var words ngram.Words
	var counter Counter
	var whole Corpus
	for _, im := range c.Images {
		whole.Add(counter.Count(number(&words, im)))
	}
	for k, want := range []float64{.57940, .40439, .27854, .19083} {
		if got := whole.Score(Closest)[k]; math.Abs(got-want) > 5e-6 {
			t.Errorf("BLEU-%d = %.5f, want %.5f", k+1, got, want)
		}
	}
	if whole.Hyp != 9893 || whole.Closest != 9855 || whole.Guess != [4]int64{9893, 8893, 7893, 6893} || whole.Correct != [4]int64{5732, 2510, 1043, 423} {
		t.Errorf("counts %v", whole)
	}
}

func BenchmarkCount(b *testing.B) {
	c := captiontest.Shared(b, "fakecap1000")
	var words ngram.Words
	var counter Counter
	type image struct {
		hyp  []uint32
		refs [][]uint32
	}
	var images []image
	for _, im := range c.Images {
		h, r := number(&words, im)
		images = append(images, image{h, r})
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, im := range images {
			counter.Count(im.hyp, im.refs)
		}
	}
}
