package cider

import (
	"math"
	"math/bits"

	"espalier/evaluate/ngram"
)

// A CorpusScorer scores images of a Corpus. It may not be used by two
// goroutines at once.
//
// An n-gram of a text is known by the place of its last word where it first
// stands; sums go by these places. [ngram.Places] gives all places of all
// n-grams of a text of up to 64 words at once; images with longer texts are
// scored as a [Scorer] does it.
type CorpusScorer struct {
	c     *Corpus
	opt   Options
	gauss gauss

	self  ngram.Places // of the text that is weighed
	hyp   ngram.Places
	first [Order]uint64 // places that name the hypothesis' n-grams
	count [Order][ngram.MaxPlaces]uint8
	idf   [Order][ngram.MaxPlaces]float64
	times [Order][ngram.MaxPlaces]uint8 // in the present reference
	long  *Scorer
}

// NewScorer returns a scorer of the corpus' images.
func (c *Corpus) NewScorer(opt Options) *CorpusScorer {
	opt = opt.filled()
	return &CorpusScorer{c: c, opt: opt, gauss: gauss{sigma: opt.Sigma}}
}

// Score returns CIDEr of image i in [0, 10].
func (s *CorpusScorer) Score(i int) float64 {
	hyp, refs := s.c.hyps[i], s.c.refs[i]
	at, from := s.c.refGrams[s.c.refFirst[i]:], s.c.hypGrams[s.c.hypFirst[i]:]
	if anyLong(hyp, refs) {
		return s.longer(hyp, from, refs, at)
	}
	s.hyp.Set(hyp)
	norm := s.weighHyp(hyp, from)
	var sum [Order]float64
	for _, r := range refs {
		factor := 1.0
		if !s.opt.Plain {
			factor = s.gauss.penalty(max(0, len(hyp)-1) - max(0, len(r)-1))
		}
		norms, dots := s.norms(r, at), s.dots(r)
		at = at[len(r)+1:]
		for k := range Order {
			v := dots[k]
			if norm[k] != 0 && norms[k] != 0 {
				v /= float64(norm[k] * norms[k])
			}
			sum[k] += float64(v * factor)
		}
	}
	return mean(&sum, len(refs))
}

func anyLong(hyp []uint32, refs [][]uint32) bool {
	n := len(hyp)
	for _, r := range refs {
		n = max(n, len(r))
	}
	return n > ngram.MaxPlaces
}

// ends returns the places of the n-grams of all orders that end in a word, from
// its own and those of the n-grams before it.
func ends(before *[Order]uint64, word uint64) [Order]uint64 {
	return [Order]uint64{word, before[0] << 1 & word, before[1] << 1 & word, before[2] << 1 & word}
}

// weighHyp keeps the weights of the hypothesis' n-grams, and returns its norms.
func (s *CorpusScorer) weighHyp(words []uint32, at []grams) (norm [Order]float64) {
	s.first = [Order]uint64{}
	var before [Order]uint64
	for j, w := range words {
		before = ends(&before, s.hyp.Of(w))
		for k, places := range before {
			if bits.TrailingZeros64(places) != j {
				continue // no n-gram, or one that stands further left
			}
			idf := s.c.words[w]
			if k > 0 {
				idf = s.c.idf[at[j-k][k-1]]
			}
			n := bits.OnesCount64(places)
			s.first[k] |= 1 << j
			s.count[k][j], s.idf[k][j] = uint8(n), idf
			x := float64(float64(n) * idf)
			norm[k] += float64(x * x)
		}
	}
	return roots(norm)
}

// norms returns the norms of a reference.
func (s *CorpusScorer) norms(words []uint32, at []grams) (norm [Order]float64) {
	s.self.Set(words)
	var before [Order]uint64
	for j, w := range words {
		before = ends(&before, s.self.Of(w))
		for k, places := range before {
			if bits.TrailingZeros64(places) != j {
				continue
			}
			idf := s.c.words[w]
			if k > 0 {
				idf = s.c.idf[at[j-k][k-1]]
			}
			x := float64(float64(bits.OnesCount64(places)) * idf)
			norm[k] += float64(x * x)
		}
	}
	return roots(norm)
}

func roots(x [Order]float64) [Order]float64 {
	for k := range x {
		x[k] = math.Sqrt(x[k])
	}
	return x
}

// dots multiplies the weights of the hypothesis and of a reference.
func (s *CorpusScorer) dots(ref []uint32) (dot [Order]float64) {
	var met, before [Order]uint64
	for _, w := range ref {
		before = ends(&before, s.hyp.Of(w))
		for k, places := range before {
			if places == 0 {
				break // and no longer ones
			}
			j := bits.TrailingZeros64(places)
			if met[k]>>j&1 == 0 {
				met[k] |= 1 << j
				s.times[k][j] = 0
			}
			s.times[k][j]++
		}
	}
	for k := range Order {
		for left := met[k]; left != 0; left &= left - 1 {
			j := bits.TrailingZeros64(left)
			idf := s.idf[k][j]
			h, g := float64(float64(s.count[k][j])*idf), float64(float64(s.times[k][j])*idf)
			if !s.opt.Plain && g < h {
				h = g
			}
			dot[k] += float64(h * g)
		}
	}
	return dot
}

// longer scores an image with texts of any length.
func (s *CorpusScorer) longer(hyp []uint32, from []grams, refs [][]uint32, at []grams) float64 {
	if s.long == nil {
		s.long = &Scorer{opt: s.opt, gauss: s.gauss}
	}
	l := s.long
	l.begin(len(refs))
	for i, r := range refs {
		here := at
		l.weigh(&l.refs[i], r, func(k, place int, word uint32) float64 { return s.c.weight(k, here[place], word) })
		at = at[len(r)+1:]
	}
	l.weigh(&l.hyp, hyp, func(k, place int, word uint32) float64 { return s.c.weight(k, from[place], word) })
	return l.score()
}

// weight returns the idf of the n-gram of k+1 words that begins at a place.
func (c *Corpus) weight(k int, at grams, word uint32) float64 {
	if k == 0 {
		return c.words[word]
	}
	return c.idf[at[k-1]]
}
