package cider

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"espalier/evaluate/captiontest"
	"espalier/evaluate/ngram"
)

// sameScores compares a Corpus with a Scorer over the table of the same
// references, bit by bit, for numbers of workers and passes.
func sameScores(t *testing.T, what string, df *DF, images []image, vocabulary int) {
	t.Helper()
	var hyps [][]uint32
	var refs [][][]uint32
	for _, im := range images {
		hyps, refs = append(hyps, im.hyp), append(refs, im.refs)
	}
	for _, n := range []struct{ workers, passes int }{{1, 1}, {2, 1}, {7, 1}, {1, 3}, {2, 2}} {
		p := NewPlan(hyps, refs, 1<<40)
		p.Passes = n.passes
		c, err := NewCorpus(t.Context(), hyps, refs, vocabulary, p, n.workers)
		if err != nil {
			t.Fatal(err)
		}
		for _, opt := range []Options{{}, {Plain: true, Sigma: 2}} {
			slow, fast := NewScorer(df, opt), c.NewScorer(opt)
			for i, im := range images {
				if got, want := fast.Score(i), slow.Score(im.hyp, im.refs); got != want {
					t.Fatalf("%s, %+v, %+v: image %d: %v, want %v", what, n, opt, i, got, want)
				}
			}
		}
	}
}

// Few words, so that n-grams come again in a text and in others; texts of no
// word, of more than a machine word has bits, and references without an image's
// words.
func TestCorpusIsTheTableSpreadOut(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 30 {
		vocabulary := 1 + r.IntN(40)
		text := func() []uint32 {
			n := r.IntN(12)
			switch r.IntN(30) {
			case 0:
				n = 63 + r.IntN(4)
			case 1:
				n = r.IntN(200)
			}
			words := make([]uint32, n)
			for i := range words {
				words[i] = uint32(r.IntN(vocabulary))
			}
			return words
		}
		var images []image
		for range 1 + r.IntN(60) {
			im := image{hyp: text()}
			for range 1 + r.IntN(5) {
				im.refs = append(im.refs, text())
			}
			images = append(images, im)
		}
		var words ngram.Words
		for w := range vocabulary {
			words.Number(fmt.Sprint(w))
		}
		sameScores(t, fmt.Sprint("round ", round), corpusDF(&words, images), images, vocabulary)
	}
}

// Counts that do not fit a class are listed.
func TestLargeCounts(t *testing.T) {
	var images []image
	for i := range firstLarge + 3 {
		refs := [][]uint32{{0, 1, uint32(2 + i%2), 0}}
		images = append(images, image{hyp: refs[0], refs: refs})
	}
	images[5].refs[0] = []uint32{0, 1, 1}
	var words ngram.Words
	for w := range 4 {
		words.Number(fmt.Sprint(w))
	}
	df := corpusDF(&words, images)
	sameScores(t, "large", df, images, 4)
}

func TestPlanStaysNearTheLimit(t *testing.T) {
	hyps, refs := [][]uint32{{1, 2, 3}}, [][][]uint32{{{1, 2}, {}}}
	const words = 4 + 3 + 1
	for limit, passes := range map[int64]int{1 << 20: 1, words * gramBytes: 1, words*gramBytes - 1: 2, 64: 4} {
		p := NewPlan(hyps, refs, limit)
		if want := imageBytes + words*int64(keptBytes+countBytes) + min(limit, words*gramBytes); p.Words != words || p.Passes != passes || p.Bytes != want {
			t.Errorf("limit %d: %+v, want %d words, %d passes, %d bytes", limit, p, words, passes, want)
		}
	}
}

func TestBadCorporaAreRefused(t *testing.T) {
	if _, err := NewCorpus(t.Context(), nil, nil, 0, Plan{Words: maxWords + 1, Passes: 1}, 1); err == nil {
		t.Error("a corpus of too many words is taken")
	}
	if _, err := NewCorpus(t.Context(), make([][]uint32, 1), nil, 0, Plan{Passes: 1}, 1); err == nil {
		t.Error("hypotheses without references are taken")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewCorpus(ctx, nil, nil, 0, Plan{Passes: 1}, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func BenchmarkCorpus(b *testing.B) {
	c := captiontest.Shared(b, "fakecap1000")
	var words ngram.Words
	images := number(&words, c.Images)
	var hyps [][]uint32
	var refs [][][]uint32
	for _, im := range images {
		hyps, refs = append(hyps, im.hyp), append(refs, im.refs)
	}
	b.ReportAllocs()
	for b.Loop() {
		all, err := NewCorpus(b.Context(), hyps, refs, words.Len(), NewPlan(hyps, refs, 1<<40), 1)
		if err != nil {
			b.Fatal(err)
		}
		s := all.NewScorer(Options{})
		for i := range hyps {
			s.Score(i)
		}
	}
}

// All that counting allocates is less than the plan says it takes, however many
// passes it makes.
func TestPlanBoundsMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	const images, vocabulary = 30000, 3000
	text := func() []uint32 {
		words := make([]uint32, 8+r.IntN(6))
		for i := range words {
			words[i] = uint32(float64(vocabulary) * r.Float64() * r.Float64() * r.Float64())
		}
		return words
	}
	var hyps [][]uint32
	var refs [][][]uint32
	for range images {
		hyps, refs = append(hyps, text()), append(refs, [][]uint32{text()})
	}
	for _, limit := range []int64{1 << 40, 8 << 20, 2 << 20} {
		for _, workers := range []int{1, 2} {
			p := NewPlan(hyps, refs, limit)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := NewCorpus(t.Context(), hyps, refs, vocabulary, p, workers); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			took := int64(after.TotalAlloc - before.TotalAlloc)
			t.Logf("limit %d, %d workers: %d passes, %d bytes, planned %d", limit, workers, p.Passes, took, p.Bytes)
			if took > p.Bytes+64*vocabulary+1<<19 {
				t.Errorf("limit %d, %d workers: %d bytes in %d passes, the plan says %d", limit, workers, took, p.Passes, p.Bytes)
			}
		}
	}
}
