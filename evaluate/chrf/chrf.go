// Package chrf is chrF and chrF++ as sacrebleu 2.6.0 computes them (Popović
// 2015, 2017): F scores of character n-grams, and of words where wanted.
//
// A segment is scored against each reference; the counts of the best one are
// its [Stats], which add up to those of a corpus. Scores are on the scale 0 to
// 100. A [Counter] may not be used by two goroutines at once.
package chrf

import (
	"fmt"
	"unicode/utf8"

	"espalier/evaluate/ngram"
	"espalier/evaluate/pytext"
)

// Options are the variants.
type Options struct {
	Char       int     // longest character n-gram; 0 means 6
	Word       int     // longest word n-gram: 0 for chrF, 2 for chrF++
	Beta       float64 // weight of recall; 0 means 2
	Lowercase  bool
	Whitespace bool // count blanks as characters
	Epsilon    bool // mean of the orders' F scores, empty ones 1e-16
}

// Check fills in defaults and reports what is out of range.
func (o *Options) Check() error {
	if o.Char == 0 {
		o.Char = 6
	}
	if o.Beta == 0 {
		o.Beta = 2
	}
	if o.Char < 1 || o.Word < 0 || o.Beta < 0 {
		return fmt.Errorf("character order %d, word order %d, beta %g: want at least 1, 0 and 0", o.Char, o.Word, o.Beta)
	}
	return nil
}

// Name returns sacrebleu's name of the variant, such as "chrF2++".
func (o *Options) Name() string {
	n := fmt.Sprintf("chrF%g", o.Beta)
	for range o.Word {
		n += "+"
	}
	return n
}

// Signature says which variant was computed, in sacrebleu's words. Refs is the
// number of references of each segment, -1 if it varies.
func (o *Options) Signature(refs int) string {
	yes := func(b bool) string {
		if b {
			return "yes"
		}
		return "no"
	}
	n, c := fmt.Sprint(refs), "mixed"
	if refs < 0 {
		n = "var"
	}
	if o.Lowercase {
		c = "lc"
	}
	return fmt.Sprintf("nrefs:%s|case:%s|eff:%s|nc:%d|nw:%d|space:%s|version:2.6.0", n, c, yes(!o.Epsilon), o.Char, o.Word, yes(o.Whitespace))
}

// Width is the number of statistics of a segment: three an order.
func (o *Options) Width() int { return 3 * (o.Char + o.Word) }

// A Counter counts segments.
type Counter struct {
	opt        Options
	words      ngram.Words
	chars, wds ngram.Matcher
	hyp, ref   text
	best, cur  []float64
}

// text is a segment as numbers of characters and of words.
type text struct{ chars, words []uint32 }

// NewCounter returns a counter for options that Check has seen.
func NewCounter(o Options) *Counter {
	return &Counter{opt: o, best: make([]float64, o.Width()), cur: make([]float64, o.Width())}
}

// Count sets stats, of length Width, to the counts of a segment against the
// reference that gives it the best score: of each order the n-grams of the
// hypothesis, of the reference, and those they share. Of equal references the
// first counts; refs must not be empty.
func (c *Counter) Count(hyp string, refs []string, stats []float64) {
	if c.words.Len() > 1<<20 {
		c.words = ngram.Words{}
	}
	c.cut(&c.hyp, hyp)
	c.chars.Hypothesis(c.hyp.chars, c.opt.Char)
	c.wds.Hypothesis(c.hyp.words, c.opt.Word)
	best := -1.0
	for _, r := range refs {
		c.cut(&c.ref, r)
		c.chars.Forget()
		c.chars.Reference(c.ref.chars)
		c.wds.Forget()
		c.wds.Reference(c.ref.words)
		count(c.cur[:3*c.opt.Char], &c.chars, len(c.ref.chars))
		count(c.cur[3*c.opt.Char:], &c.wds, len(c.ref.words))
		if s := c.opt.Score(c.cur); s > best {
			best = s
			copy(stats, c.cur)
		}
	}
}

// count sets the statistics of some orders.
func count(stats []float64, m *ngram.Matcher, ref int) {
	for k := range len(stats) / 3 {
		h, r := float64(m.Total(k)), float64(max(0, ref-k))
		if r == 0 {
			h = 0 // an order that the reference lacks says nothing
		}
		stats[3*k], stats[3*k+1], stats[3*k+2] = h, r, float64(m.Correct(k))
	}
}

// Pieces are the characters that are counted, and behind them the words if
// these are counted too.
func (o *Options) Pieces(s string) []string {
	c := NewCounter(*o)
	c.cut(&c.hyp, s)
	var out []string
	for _, r := range c.hyp.chars {
		out = append(out, string(rune(r)))
	}
	for _, w := range c.hyp.words {
		out = append(out, c.words.Word(w))
	}
	return out
}

// cut sets t to the characters and words of a segment.
func (c *Counter) cut(t *text, s string) {
	if c.opt.Lowercase {
		s = pytext.Lower(s)
	}
	t.chars, t.words = t.chars[:0], t.words[:0]
	for _, r := range s {
		if c.opt.Whitespace || !pytext.IsSpace(r) {
			t.chars = append(t.chars, uint32(r))
		}
	}
	if c.opt.Word == 0 {
		return
	}
	for _, w := range pytext.Fields(s) {
		n := len(w)
		switch {
		case utf8.RuneCountInString(w) == 1:
			t.words = append(t.words, c.words.Number(w))
		case punctuation(w[n-1]):
			t.words = append(t.words, c.words.Number(w[:n-1]), c.words.Number(w[n-1:]))
		case punctuation(w[0]):
			t.words = append(t.words, c.words.Number(w[:1]), c.words.Number(w[1:]))
		default:
			t.words = append(t.words, c.words.Number(w))
		}
	}
}

// punctuation reports ASCII punctuation.
func punctuation(c byte) bool {
	return c >= '!' && c <= '/' || c >= ':' && c <= '@' || c >= '[' && c <= '`' || c >= '{' && c <= '~'
}

// Score computes the score of summed statistics.
func (o *Options) Score(stats []float64) float64 {
	const eps = 1e-16
	factor := float64(o.Beta * o.Beta)
	orders, reached := o.Char+o.Word, 0
	var precision, recall, sum float64
	for k := range orders {
		h, r, m := stats[3*k], stats[3*k+1], stats[3*k+2]
		if o.Epsilon {
			p, q := eps, eps
			if h > 0 {
				p = m / h
			}
			if r > 0 {
				q = m / r
			}
			if d := float64(factor*p) + q; d > 0 {
				sum += float64(float64((1+factor)*p)*q) / d
			} else {
				sum += eps
			}
		}
		if h > 0 && r > 0 {
			precision += m / h
			recall += m / r
			reached++
		}
	}
	switch {
	case o.Epsilon:
		return 100 * sum / float64(orders)
	case reached == 0:
		return 0
	}
	precision /= float64(reached)
	recall /= float64(reached)
	if precision+recall == 0 {
		return 0
	}
	return 100 * (float64(float64((1+factor)*precision)*recall) / (float64(factor*precision) + recall))
}
