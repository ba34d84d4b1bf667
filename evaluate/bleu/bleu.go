// Package bleu is BLEU-1 to BLEU-4 as the COCO caption tools compute it
// (pycocoevalcap 1.2; Papineni et al. 2002).
//
// A [Counter] turns a hypothesis and its references, given as numbers of
// words, into integer [Stats]. Scores come from the Stats of one image or from
// the sums of many ([Corpus]), so that parts scored apart merge to the bits of
// one pass. A Counter may not be used by two goroutines at once; all else are
// values.
//
// The formula, for order n: with c_k the clipped matches, g_k the n-grams of
// the hypothesis, h its length and r the reference length,
//
//	p_n = product over k <= n of (c_k + 1e-15) / (g_k + 1e-9)
//	BLEU_n = p_n^(1/n) * min(1, exp(1 - 1/q)),  q = (h + 1e-15) / (r + 1e-9)
//
// There is no other smoothing.
package bleu

import (
	"slices"

	"espalier/evaluate/ngram"
	"espalier/evaluate/numeric"
)

// Order is the longest n-gram counted.
const Order = 4

const (
	small = 1e-9
	tiny  = 1e-15
)

// A RefLength says which length stands for several references.
type RefLength uint8

// Reference lengths. Closest is the default of the caption tools: the length
// nearest to the hypothesis, the shorter one on a tie.
const (
	Closest RefLength = iota
	Shortest
	Average
)

// Stats are the counts of one hypothesis against its references.
type Stats struct {
	Hyp      int64 // words of the hypothesis
	Closest  int64 // reference lengths
	Shortest int64
	RefSum   int64 // words of all references
	Refs     int64 // number of references
	Guess    [Order]int64
	Correct  [Order]int64
}

// Score returns BLEU-1 to BLEU-4 of one image, in [0, 1].
func (s Stats) Score(l RefLength) [Order]float64 {
	return Score(float64(s.Hyp), s.RefLen(l), floats(s.Guess), floats(s.Correct))
}

// RefLen returns the length that stands for the references.
func (s Stats) RefLen(l RefLength) float64 {
	switch l {
	case Shortest:
		return float64(s.Shortest)
	case Average:
		if s.Refs == 0 {
			return 0
		}
		return float64(s.RefSum) / float64(s.Refs)
	}
	return float64(s.Closest)
}

func floats(x [Order]int64) (f [Order]float64) {
	for k, v := range x {
		f[k] = float64(v)
	}
	return f
}

// Score returns BLEU-1 to BLEU-4 of summed counts, in [0, 1].
func Score(hyp, ref float64, guess, correct [Order]float64) [Order]float64 {
	var out [Order]float64
	p := 1.0
	for k := range Order {
		p *= (correct[k] + tiny) / (guess[k] + small)
		out[k] = numeric.Pow(p, 1/float64(k+1))
	}
	if q := (hyp + tiny) / (ref + small); q < 1 {
		b := numeric.Exp(1 - 1/q)
		for k := range out {
			out[k] *= b
		}
	}
	return out
}

// A Corpus sums the Stats of many images. The zero Corpus is empty.
type Corpus struct {
	Images            int64
	Hyp               int64
	Closest, Shortest int64
	Guess, Correct    [Order]int64

	sums map[int64]int64 // words of all references, by number of references
}

// Add adds one image.
func (c *Corpus) Add(s Stats) {
	c.Images++
	c.Hyp += s.Hyp
	c.Closest += s.Closest
	c.Shortest += s.Shortest
	if c.sums == nil {
		c.sums = make(map[int64]int64)
	}
	c.sums[s.Refs] += s.RefSum
	for k := range Order {
		c.Guess[k] += s.Guess[k]
		c.Correct[k] += s.Correct[k]
	}
}

// Merge adds all images of o.
func (c *Corpus) Merge(o *Corpus) {
	c.Images += o.Images
	c.Hyp += o.Hyp
	c.Closest += o.Closest
	c.Shortest += o.Shortest
	if c.sums == nil {
		c.sums = make(map[int64]int64)
	}
	for n, s := range o.sums {
		c.sums[n] += s
	}
	for k := range Order {
		c.Guess[k] += o.Guess[k]
		c.Correct[k] += o.Correct[k]
	}
}

// RefLen returns the summed reference length.
func (c *Corpus) RefLen(l RefLength) float64 {
	switch l {
	case Shortest:
		return float64(c.Shortest)
	case Average:
		counts := make([]int64, 0, len(c.sums))
		for n := range c.sums {
			counts = append(counts, n)
		}
		slices.Sort(counts)
		total := 0.0
		for _, n := range counts {
			if n > 0 {
				total += float64(c.sums[n]) / float64(n)
			}
		}
		return total
	}
	return float64(c.Closest)
}

// Score returns BLEU-1 to BLEU-4 of the corpus, in [0, 1]. It is not the mean
// of the images' scores.
func (c *Corpus) Score(l RefLength) [Order]float64 {
	return Score(float64(c.Hyp), c.RefLen(l), floats(c.Guess), floats(c.Correct))
}

// A Counter counts matches. The zero Counter is ready.
type Counter struct{ m ngram.Matcher }

// Count returns the counts of hyp against refs; both are numbers of words that
// one [ngram.Words] gave.
func (c *Counter) Count(hyp []uint32, refs [][]uint32) Stats {
	s := Stats{Hyp: int64(len(hyp)), Refs: int64(len(refs))}
	c.m.Hypothesis(hyp, Order)
	for i, r := range refs {
		n := int64(len(r))
		s.RefSum += n
		if i == 0 || n < s.Shortest {
			s.Shortest = n
		}
		if d, best := abs(n-s.Hyp), abs(s.Closest-s.Hyp); i == 0 || d < best || d == best && n < s.Closest {
			s.Closest = n
		}
		c.m.Reference(r)
	}
	for k := range Order {
		s.Guess[k], s.Correct[k] = c.m.Total(k), c.m.Correct(k)
	}
	return s
}

func abs(x int64) int64 { return max(x, -x) }
