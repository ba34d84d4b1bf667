package evaluate

import (
	"context"

	"espalier/evaluate/chrf"
	"espalier/evaluate/pytext"
	"espalier/evaluate/sacrebleu"
	"espalier/evaluate/ter"
)

// references returns the number of references of every example, -1 if it
// varies.
func (c *corpus) references() int {
	n := 0
	for i, r := range c.References {
		if i == 0 {
			n = len(r)
		} else if len(r) != n {
			return -1
		}
	}
	return n
}

// sacreFamily is sacrebleu's BLEU. A row holds both lengths, then matches and
// totals of each order.
type sacreFamily struct {
	opt  sacrebleu.Options
	refs int
}

func newSacreBLEU(s *spec, _ *Request) (family, error) {
	f := &sacreFamily{opt: sacrebleu.Options{
		Tokenize: s.choice("tok", "13a", "zh", "intl", "char", "none"), Lowercase: s.bool("lc", false),
		Smooth: sacrebleu.Smoothing(s.choice("smooth", "exp", "floor", "add-k", "none")), Value: s.number("value", 0, 0, 1e6),
		Effective: s.bool("eff", false), Order: s.integer("order", 4, 1, 16),
	}}
	if len(s.errs) > 0 {
		return f, nil
	}
	return f, f.opt.Check()
}

func (f *sacreFamily) names() []string { return []string{"sacrebleu"} }
func (f *sacreFamily) width() int      { return 2 + 2*f.opt.Order }
func (f *sacreFamily) variant() string { return f.opt.Signature(f.refs) }

func (f *sacreFamily) prepare(_ context.Context, c *corpus) (func() scorer, error) {
	f.refs = c.references()
	return func() scorer {
		counter := sacrebleu.NewCounter(f.opt)
		return func(i int, row []float64) {
			s := counter.Count(c.Predictions[i], c.References[i])
			row[0], row[1] = float64(s.Sys), float64(s.Ref)
			for k := range f.opt.Order {
				row[2+k], row[2+f.opt.Order+k] = float64(s.Correct[k]), float64(s.Total[k])
			}
		}
	}, nil
}

func (f *sacreFamily) total(sum, values []float64) {
	n := f.opt.Order
	values[0] = f.opt.Score(sum[0], sum[1], sum[2:2+n], sum[2+n:]).Value
}

// one scores a segment with effective order, as sacrebleu's sentence function.
func (f *sacreFamily) one(_ int, row, values []float64) {
	o, n := f.opt, f.opt.Order
	o.Effective = true
	values[0] = o.Score(row[0], row[1], row[2:2+n], row[2+n:]).Value
}

func (f *sacreFamily) seen(_ context.Context, c *corpus) (func(int) ([]string, [][]string), error) {
	return seenText(c, func(s string) []string { return pytext.Fields(f.opt.Preprocess(s)) }), nil
}

// chrfFamily is sacrebleu's chrF.
type chrfFamily struct {
	opt  chrf.Options
	refs int
}

func newChrF(s *spec, _ *Request) (family, error) {
	f := &chrfFamily{opt: chrf.Options{
		Char: s.integer("char", 6, 1, 32), Word: s.integer("word", 0, 0, 16), Beta: s.number("beta", 2, 0.001, 1000),
		Lowercase: s.bool("lc", false), Whitespace: s.bool("space", false), Epsilon: s.bool("eps", false),
	}}
	if len(s.errs) > 0 {
		return f, nil
	}
	return f, f.opt.Check()
}

func (f *chrfFamily) names() []string                  { return []string{"chrf"} }
func (f *chrfFamily) width() int                       { return f.opt.Width() }
func (f *chrfFamily) variant() string                  { return f.opt.Name() + "|" + f.opt.Signature(f.refs) }
func (f *chrfFamily) total(sum, values []float64)      { values[0] = f.opt.Score(sum) }
func (f *chrfFamily) one(_ int, row, values []float64) { values[0] = f.opt.Score(row) }

func (f *chrfFamily) prepare(_ context.Context, c *corpus) (func() scorer, error) {
	f.refs = c.references()
	return func() scorer {
		counter := chrf.NewCounter(f.opt)
		return func(i int, row []float64) { counter.Count(c.Predictions[i], c.References[i], row) }
	}, nil
}

// terFamily is the translation edit rate: edits and words of the references.
type terFamily struct {
	opt  ter.Options
	refs int
}

func newTER(s *spec, _ *Request) (family, error) {
	return &terFamily{opt: ter.Options{
		Normalize: s.bool("norm", false), NoPunct: !s.bool("punct", true), Asian: s.bool("asian", false), Case: s.bool("case", false),
	}}, nil
}

func (f *terFamily) names() []string                  { return []string{"ter"} }
func (f *terFamily) width() int                       { return 2 }
func (f *terFamily) variant() string                  { return "TER|" + f.opt.Signature(f.refs) }
func (f *terFamily) total(sum, values []float64)      { values[0] = ter.Score(sum[0], sum[1]) }
func (f *terFamily) one(_ int, row, values []float64) { values[0] = ter.Score(row[0], row[1]) }

func (f *terFamily) prepare(_ context.Context, c *corpus) (func() scorer, error) {
	f.refs = c.references()
	return func() scorer {
		return func(i int, row []float64) {
			edits, length := f.opt.Count(c.Predictions[i], c.References[i])
			row[0], row[1] = float64(edits), length
		}
	}, nil
}

func (f *terFamily) seen(_ context.Context, c *corpus) (func(int) ([]string, [][]string), error) {
	return func(i int) ([]string, [][]string) {
		_, refs := seenText(c, f.opt.TokenizeReference)(i)
		return f.opt.Tokenize(c.Predictions[i]), refs
	}, nil
}

func (f *chrfFamily) seen(_ context.Context, c *corpus) (func(int) ([]string, [][]string), error) {
	return seenText(c, f.opt.Pieces), nil
}

// A splitter makes pieces of a text.
type splitter func(string) []string

// stripped is the text as one piece, without white space at its ends.
func stripped(text string) []string { return []string{pytext.Strip(text)} }

// seenText is seer's method of metrics that cut one text at a time; without a
// splitter the text is one piece.
func seenText(c *corpus, cut splitter) func(int) ([]string, [][]string) {
	if cut == nil {
		cut = func(text string) []string { return []string{text} }
	}
	return func(i int) ([]string, [][]string) {
		refs := make([][]string, len(c.References[i]))
		for j, r := range c.References[i] {
			refs[j] = cut(r)
		}
		return cut(c.Predictions[i]), refs
	}
}
