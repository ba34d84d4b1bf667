// Package sacrebleu is BLEU as sacrebleu 2.6.0 computes it: tokenizers 13a, zh,
// intl, char and none, four ways to smooth, effective order, and the signature
// that says which of them was used.
//
// Segments give integer [Stats] that add up; [Options.Score] computes BLEU
// from their sum, on the scale 0 to 100. A perfect corpus is
// 100.00000000000004. A [Counter] may not be used by two goroutines at once.
package sacrebleu

import (
	"fmt"
	"strings"

	"espalier/evaluate/ngram"
	"espalier/evaluate/numeric"
	"espalier/evaluate/pytext"
)

// Version is the version of sacrebleu that is equalled.
const Version = "2.6.0"

// Smoothing is a way to treat orders without a match.
type Smoothing string

// Ways to smooth. Exp is the default: the k-th order without a match counts
// as half of the one before.
const (
	Exp   Smoothing = "exp"
	Floor Smoothing = "floor"
	AddK  Smoothing = "add-k"
	None  Smoothing = "none"
)

// Options are the variants.
type Options struct {
	Tokenize  string // "13a" if empty
	Lowercase bool
	Smooth    Smoothing // Exp if empty
	Value     float64   // of Floor and AddK; 0 means 0.1 and 1
	Effective bool      // average over the orders that the hypothesis reaches
	Order     int       // longest n-gram; 0 means 4
}

// Check fills in defaults and reports what is out of range.
func (o *Options) Check() error {
	if o.Tokenize == "" {
		o.Tokenize = "13a"
	}
	if Tokenizers[o.Tokenize] == nil {
		return fmt.Errorf("tokenizer %q: want 13a, zh, intl, char or none", o.Tokenize)
	}
	if o.Order == 0 {
		o.Order = 4
	}
	switch o.Smooth {
	case "":
		o.Smooth = Exp
	case Exp, None:
	case Floor:
		if o.Value == 0 {
			o.Value = 0.1
		}
	case AddK:
		if o.Value == 0 {
			o.Value = 1
		}
	default:
		return fmt.Errorf("smoothing %q: want exp, floor, add-k or none", o.Smooth)
	}
	return nil
}

// Signature says which variant was computed, in sacrebleu's words. Refs is the
// number of references of each segment, -1 if it varies.
func (o *Options) Signature(refs int) string {
	n := fmt.Sprint(refs)
	if refs < 0 {
		n = "var"
	}
	c, e, s := "mixed", "no", string(o.Smooth)
	if o.Lowercase {
		c = "lc"
	}
	if o.Effective {
		e = "yes"
	}
	if o.Smooth == Floor || o.Smooth == AddK {
		s += fmt.Sprintf("[%.2f]", o.Value)
	}
	return fmt.Sprintf("nrefs:%s|case:%s|eff:%s|tok:%s|smooth:%s|version:%s", n, c, e, o.Tokenize, s, Version)
}

// Preprocess returns what is scored of a segment: its tokens between blanks.
func (o *Options) Preprocess(segment string) string {
	return Tokenizers[o.Tokenize](o.trimmed(segment))
}

// trimmed is what a tokenizer gets of a segment.
func (o *Options) trimmed(segment string) string {
	segment = valid(segment)
	if o.Lowercase {
		segment = pytext.Lower(segment)
	}
	return pytext.StripRight(segment)
}

// Stats are the counts of segments.
type Stats struct {
	Sys, Ref       int64   // lengths
	Correct, Total []int64 // by order
}

// A Counter counts segments.
type Counter struct {
	opt   Options
	words ngram.Words
	m     ngram.Matcher
	cut   passes
	hyp   []uint32
	ref   []uint32
}

// fields numbers the words of a segment.
func (c *Counter) fields(dst []uint32, segment string) []uint32 {
	if c.opt.Tokenize != "13a" {
		return c.words.Fields(dst, c.opt.Preprocess(segment))
	}
	return c.words.Fields(dst, string(c.cut.mteval(c.opt.trimmed(segment))))
}

// NewCounter returns a counter for options that Check has seen.
func NewCounter(o Options) *Counter { return &Counter{opt: o} }

// Count returns the counts of one segment; refs must not be empty.
func (c *Counter) Count(hyp string, refs []string) Stats {
	if c.words.Len() > 1<<20 {
		c.words = ngram.Words{}
	}
	n := c.opt.Order
	s := Stats{Correct: make([]int64, n), Total: make([]int64, n)}
	c.hyp = c.fields(c.hyp[:0], hyp)
	s.Sys = int64(len(c.hyp))
	c.m.Hypothesis(c.hyp, n)
	for i, r := range refs {
		c.ref = c.fields(c.ref[:0], r)
		l := int64(len(c.ref))
		if d, best := abs(l-s.Sys), abs(s.Ref-s.Sys); i == 0 || d < best || d == best && l < s.Ref {
			s.Ref = l
		}
		c.m.Reference(c.ref)
	}
	for k := range n {
		s.Correct[k], s.Total[k] = c.m.Correct(k), c.m.Total(k)
	}
	return s
}

func abs(x int64) int64 { return max(x, -x) }

// A Score is BLEU with its parts, all in percent save the penalty.
type Score struct {
	Value      float64
	Precisions []float64
	Penalty    float64 // for brevity
}

// Score computes BLEU from summed counts.
func (o *Options) Score(sys, ref float64, correct, total []float64) Score {
	out := Score{Precisions: make([]float64, o.Order), Penalty: 1}
	if sys < ref {
		out.Penalty = 0
		if sys > 0 {
			out.Penalty = numeric.Exp(1 - ref/sys)
		}
	}
	any := false
	for _, c := range correct {
		any = any || c > 0
	}
	if !any {
		return out
	}
	half, reached := 1.0, o.Order
	for k := range o.Order {
		c, t := correct[k], total[k]
		if o.Smooth == AddK && k > 0 {
			c, t = c+o.Value, t+o.Value
		}
		if t == 0 {
			break
		}
		if o.Effective {
			reached = k + 1
		}
		switch {
		case c != 0:
			out.Precisions[k] = float64(100*c) / t
		case o.Smooth == Exp:
			half *= 2
			out.Precisions[k] = 100 / float64(half*t)
		case o.Smooth == Floor:
			out.Precisions[k] = float64(100*o.Value) / t
		}
	}
	sum := 0.0
	for _, p := range out.Precisions[:reached] {
		if p == 0 {
			sum += -9999999999
			continue
		}
		sum += numeric.Log(p)
	}
	out.Value = out.Penalty * numeric.Exp(sum/float64(reached))
	return out
}

// Short writes a signature in its short form.
func Short(signature string) string {
	var parts []string
	for _, p := range strings.Split(signature, "|") {
		k, v, _ := strings.Cut(p, ":")
		switch k {
		case "nrefs":
			k = "#"
		case "case", "eff", "smooth", "version":
			k = k[:1]
		}
		parts = append(parts, k+":"+v)
	}
	return strings.Join(parts, "|")
}
