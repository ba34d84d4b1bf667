// Package nltkbleu is BLEU as NLTK 3.8 to 3.10 computes it, with its smoothing
// methods 0 to 7, and GLEU.
//
// Counts of segments add up. Unlike other BLEUs, a hypothesis that is too short
// for an order adds 1 to that order's denominator. Methods 5, 6 and 7 look at
// the last segment of a corpus, as NLTK does.
package nltkbleu

import (
	"errors"
	"math"

	"espalier/evaluate/ngram"
	"espalier/evaluate/numeric"
)

// smallest is what method 0 puts in place of 0: the smallest normal float64.
const smallest = 2.2250738585072014e-308

// Extra is the order beyond the weights that method 5 looks at.
const extra = 5

// ErrMethod6 says that smoothing method 6 cannot be used: there is no trigram,
// or no match of one.
var ErrMethod6 = errors.New("nltk-bleu: smoothing method 6 needs matching trigrams")

// Options are the variants.
type Options struct {
	Weights []float64 // of the orders' logarithms
	Method  int       // of smoothing, 0 to 7
	Reweigh bool      // equal weights over the orders that a corpus of fewer than 4 words has
}

// Uniform returns equal weights over n orders.
func Uniform(n int) []float64 {
	w := make([]float64, n)
	for i := range w {
		w[i] = 1 / float64(n)
	}
	return w
}

// Last is what the smoothing methods use of the last segment.
type Last struct {
	Hyp  int64 // words
	Num5 int64 // matches and n-grams of length 5
	Den5 int64
}

// Stats are the counts of segments.
type Stats struct {
	Hyp, Ref int64
	Num, Den []int64
	Last     Last
}

// A Counter counts segments. It may not be used by two goroutines at once.
type Counter struct {
	m     ngram.Matcher
	order int
}

// NewCounter returns a counter for n-grams up to order.
func NewCounter(order int) *Counter { return &Counter{order: order} }

// Count returns the counts of one segment, whose words are numbers.
func (c *Counter) Count(hyp []uint32, refs [][]uint32) Stats {
	n := c.order
	s := Stats{Hyp: int64(len(hyp)), Num: make([]int64, n), Den: make([]int64, n)}
	c.m.Hypothesis(hyp, max(n, extra))
	for i, r := range refs {
		l := int64(len(r))
		if d, best := abs(l-s.Hyp), abs(s.Ref-s.Hyp); i == 0 || d < best || d == best && l < s.Ref {
			s.Ref = l
		}
		c.m.Reference(r)
	}
	for k := range n {
		s.Num[k], s.Den[k] = c.m.Correct(k), max(1, c.m.Total(k))
	}
	s.Last = Last{Hyp: s.Hyp, Num5: c.m.Correct(extra - 1), Den5: max(1, c.m.Total(extra-1))}
	return s
}

func abs(x int64) int64 { return max(x, -x) }

// Score computes BLEU of summed counts, in [0, 1] (method 5 and 6 may exceed 1).
func (o *Options) Score(hyp, ref float64, num, den []float64, last Last) (float64, error) {
	if num[0] == 0 {
		return 0, nil
	}
	bp := 1.0
	switch {
	case hyp > ref:
	case hyp == 0:
		bp = 0
	default:
		bp = numeric.Exp(1 - ref/hyp)
	}
	p, err := o.smooth(num, den, hyp, last)
	if err != nil {
		return 0, err
	}
	weights := o.Weights
	if o.Reweigh && hyp < 4 && uniform4(weights) {
		weights = Uniform(int(hyp))
	}
	var sum numeric.Sum
	for i, w := range weights {
		if i < len(p) && p[i] > 0 {
			sum.Add(float64(w * numeric.Log(p[i])))
		}
	}
	return bp * numeric.Exp(sum.Value()), nil
}

func uniform4(w []float64) bool {
	return len(w) == 4 && w[0] == 0.25 && w[1] == 0.25 && w[2] == 0.25 && w[3] == 0.25
}

// smooth returns the precisions of all orders.
func (o *Options) smooth(num, den []float64, hyp float64, last Last) ([]float64, error) {
	n := len(o.Weights)
	p := make([]float64, n)
	for i := range p {
		p[i] = num[i] / den[i]
	}
	switch o.Method {
	case 0:
		for i := range p {
			if num[i] == 0 {
				p[i] = smallest
			}
		}
	case 1:
		for i := range p {
			if num[i] == 0 {
				p[i] = 0.1 / den[i]
			}
		}
	case 2:
		for i := 1; i < n; i++ {
			p[i] = (num[i] + 1) / (den[i] + 1)
		}
	case 3:
		zeros := 1
		for i := range p {
			if num[i] == 0 {
				p[i] = 1 / float64(math.Ldexp(1, zeros)*den[i])
				zeros++
			}
		}
	case 4:
		shrink(p, num, den, hyp)
	case 5:
		neighbours(p, last)
	case 6:
		return backwards(p, num, last)
	case 7:
		shrink(p, num, den, hyp)
		neighbours(p, last)
	}
	return p, nil
}

// shrink is method 4: zeros become ever smaller, the more so in short texts.
func shrink(p, num, den []float64, hyp float64) {
	zeros := 1
	for i := range p {
		if num[i] == 0 && hyp > 1 {
			p[i] = 1 / (float64(math.Ldexp(1, zeros)*5) / numeric.Log(hyp)) / den[i]
			zeros++
		}
	}
}

// neighbours is method 5: the mean of an order's precision with the one before,
// smoothed already, and the one behind.
func neighbours(p []float64, last Last) {
	next := append(append([]float64{}, p...), float64(last.Num5)/float64(last.Den5))
	before := p[0] + 1
	for i := range p {
		p[i] = (before + p[i] + next[i+1]) / 3
		before = p[i]
	}
}

// backwards is method 6: precisions are drawn to what the two lower orders let
// expect.
func backwards(p, num []float64, last Last) ([]float64, error) {
	if len(p) < 3 || p[2] == 0 {
		return nil, ErrMethod6
	}
	const alpha = 5
	for i := 2; i < len(p); i++ {
		expected := 0.0
		if p[i-2] != 0 {
			expected = float64(p[i-1]*p[i-1]) / p[i-2]
		}
		l := float64(max(0, last.Hyp-int64(i)))
		p[i] = (num[i] + float64(alpha*expected)) / (l + alpha)
	}
	return p, nil
}

// GLEU counts the 1- to 4-grams that a segment shares with its best reference:
// matches and the larger of both numbers of n-grams. The score of a corpus is
// the quotient of the sums, 0 if the second is 0.
func (c *Counter) GLEU(hyp []uint32, refs [][]uint32) (match, all int64) {
	c.m.Hypothesis(hyp, 4)
	h := int64(0)
	for k := range 4 {
		h += c.m.Total(k)
	}
	found := false
	for _, r := range refs {
		c.m.Forget()
		c.m.Reference(r)
		var m, n int64
		for k := range 4 {
			m += c.m.Correct(k)
			n += int64(max(0, len(r)-k))
		}
		n = max(n, h)
		if n == 0 {
			continue
		}
		if !found || float64(m)/float64(n) > float64(match)/float64(all) {
			match, all, found = m, n, true
		}
	}
	return match, all
}
