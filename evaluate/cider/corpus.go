package cider

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"espalier/evaluate/numeric"
)

// A Corpus is a set of images whose references give the document frequencies,
// as the caption tools have it: what a [DF] holds, but spread over the places of
// the texts, where scoring needs it. A [CorpusScorer] gives the bits that a
// [Scorer] gives over such a DF. A Corpus may be read by many goroutines.
type Corpus struct {
	hyps     [][]uint32
	refs     [][][]uint32
	hypFirst []uint32 // place of the first word of each image's hypothesis
	refFirst []uint32 // and of its first reference
	hypGrams []grams  // by place; one place lies between two texts
	refGrams []grams
	words    []float64 // idf by word
	idf      []float64 // by class of longer n-grams
}

// grams are the classes of the n-grams of two words and more that begin at a
// place: their count, or beyond that the place in a list of large counts. Those
// that one image has weigh as much as those that none has: both are class 0.
type grams [Order - 1]uint16

// firstLarge is the first class that is no count. A corpus of maxWords has too
// few n-grams for more large counts than there are classes left.
const (
	firstLarge = 1 << 15
	maxWords   = 1 << 28
)

// What a corpus takes for each image, for each word, for good and while it
// counts, and for each n-gram of a table, in bytes.
const (
	imageBytes = 8
	keptBytes  = 6
	countBytes = 4 + 12
	gramBytes  = 32
)

// A Plan says how a corpus is counted and what that takes.
type Plan struct {
	Words  int64 // of hypotheses and references, and one for each text
	Bytes  int64 // of memory, beside the texts
	Passes int   // over the texts
}

// NewPlan plans the counting so that the tables of n-grams stay near a limit of
// bytes: in several passes, each over the n-grams that begin with some of the
// words.
func NewPlan(hyps [][]uint32, refs [][][]uint32, limit int64) Plan {
	var p Plan
	for _, h := range hyps {
		p.Words += int64(len(h)) + 1
	}
	for _, image := range refs {
		for _, r := range image {
			p.Words += int64(len(r)) + 1
		}
	}
	tables := p.Words * gramBytes
	p.Passes = int(max(1, (tables+limit-1)/limit))
	p.Bytes = int64(len(hyps))*imageBytes + p.Words*(keptBytes+countBytes) + min(tables, limit)
	return p
}

// NewCorpus counts the document frequencies of the references. Words are
// numbered below vocabulary. Hypotheses and references of an image have the
// same place in the two lists, which the Corpus keeps; their texts it copies to
// memory of its own, so that the old one may go.
func NewCorpus(ctx context.Context, hyps [][]uint32, refs [][][]uint32, vocabulary int, p Plan, workers int) (*Corpus, error) {
	if p.Words > maxWords {
		return nil, fmt.Errorf("cider: %d words, want at most %d: score the set in parts", p.Words, maxWords)
	}
	if len(hyps) != len(refs) {
		return nil, errors.New("cider: hypotheses and references are not of as many images")
	}
	c := &Corpus{hyps: hyps, refs: refs}
	n := newCensus(c, vocabulary)
	parts := n.divide(p.Passes * workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			v := visit{census: n, backwards: w%2 == 1, words: make([]known, vocabulary)}
			for part := w; part < parts && ctx.Err() == nil; part += workers {
				v.count(uint16(part))
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n.weigh()
	return c, nil
}

// weigh turns counts into weights.
func (n *census) weigh() {
	logN := numeric.Log(float64(len(n.refs)))
	n.idf = make([]float64, firstLarge+len(n.large))
	top := uint16(0)
	for _, list := range [][]grams{n.hypGrams, n.refGrams} {
		for _, g := range list {
			for _, class := range g {
				if class < firstLarge {
					top = max(top, class)
				}
			}
		}
	}
	for count := range int(top) + 1 {
		n.idf[count] = idf(logN, uint32(count))
	}
	for count, class := range n.large {
		n.idf[class] = idf(logN, count)
	}
	n.words = make([]float64, len(n.images))
	for w, count := range n.images {
		if count <= uint32(top) {
			n.words[w] = n.idf[count]
		} else {
			n.words[w] = idf(logN, count)
		}
	}
}

// idf returns ln N - ln max(1, df).
func idf(logN float64, df uint32) float64 {
	if df < 2 {
		return logN
	}
	return logN - numeric.Log(float64(df))
}
