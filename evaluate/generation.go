package evaluate

import (
	"context"
	"fmt"
	"math"
	"strings"

	"espalier/evaluate/distinct"
	"espalier/evaluate/ngram"
	"espalier/evaluate/nltkbleu"
	"espalier/evaluate/pltrdy"
	"espalier/evaluate/pytext"
	"espalier/evaluate/stats"
)

// newPltrdy is the package rouge 1.0.1; zh is the same on text whose characters
// are separated.
func newPltrdy(zh bool) func(*spec, *Request) (family, error) {
	return func(s *spec, _ *Request) (family, error) {
		prefix, seg := "rouge-", s.choice("seg", "blank", "char")
		if zh {
			prefix, seg = "rouge-zh-", s.choice("seg", "char", "blank")
		}
		lists := s.choice("excl", "yes", "no") == "no"
		empty := s.choice("empty", "refuse", "zero", "stop")
		cut := func(text string) string {
			if empty == "stop" && strings.Trim(text, ". \t\n") == "" {
				text = "。" // what CPT's scripts put in its place
			}
			if seg == "char" {
				return pltrdy.Characters(text)
			}
			return text
		}
		values := []string{prefix + "1", prefix + "2", prefix + "l"}
		excl := map[bool]string{false: "yes", true: "no"}[lists]
		return &meanFamily{
			values: values, what: fmt.Sprintf("rouge-1.0.1|seg:%s|excl:%s|empty:%s|f", seg, excl, empty),
			see: func(_ context.Context, c *corpus) (func(int) ([]string, [][]string), error) {
				return seenText(c, func(s string) []string { return pytext.Fields(cut(s)) }), nil
			},
			prep: func(_ context.Context, c *corpus) (func() scorer, error) {
				if empty == "refuse" {
					if err := refuseEmpty(c, cut); err != nil {
						return nil, err
					}
				}
				return func() scorer {
					s := pltrdy.Scorer{Lists: lists}
					return func(i int, row []float64) {
						clear(row)
						hyp, err := s.Cut(cut(c.Predictions[i]))
						if err != nil {
							return
						}
						for _, r := range c.References[i] {
							ref, err := s.Cut(cut(r))
							if err != nil {
								continue
							}
							for k, x := range [3]pltrdy.Score{s.N(hyp, ref, 1), s.N(hyp, ref, 2), s.L(hyp, ref)} {
								row[k] = max(row[k], x.F)
							}
						}
					}
				}, nil
			},
		}, nil
	}
}

// refuseEmpty names texts for which the package rouge raises.
func refuseEmpty(c *corpus, cut func(string) string) error {
	var s pltrdy.Scorer
	for i, p := range c.Predictions {
		if _, err := s.Cut(cut(p)); err != nil {
			return c.refusePrediction(i, "the prediction is empty or has only periods, which rouge 1.0.1 refuses (empty=zero scores it 0)")
		}
		for _, r := range c.References[i] {
			if _, err := s.Cut(cut(r)); err != nil {
				return c.refuseReference(i, "a reference is empty or has only periods, which rouge 1.0.1 refuses (empty=zero passes it over)")
			}
		}
	}
	return nil
}

// blankOr cuts at white space, or into characters.
func blankOr(seg string) splitter {
	return func(text string) []string {
		if seg == "char" {
			text = pltrdy.Characters(text)
		}
		return pytext.Fields(text)
	}
}

// numbered are the texts of a corpus as numbers of words.
func numbered(c *corpus, seg string) (hyps [][]uint32, refs [][][]uint32) {
	var words ngram.Words
	cut := func(s string) []uint32 {
		if seg == "char" {
			s = pltrdy.Characters(s)
		}
		return words.Fields(nil, s)
	}
	for i, p := range c.Predictions {
		hyps = append(hyps, cut(p))
		rs := make([][]uint32, len(c.References[i]))
		for j, r := range c.References[i] {
			rs[j] = cut(r)
		}
		refs = append(refs, rs)
	}
	return hyps, refs
}

// nltkFamily is NLTK's BLEU. A row holds both lengths, then numerators and
// denominators of each order.
type nltkFamily struct {
	opt   nltkbleu.Options
	order int
	seg   string
}

func newNLTK(s *spec, _ *Request) (family, error) {
	n := s.integer("order", 4, 1, 16)
	f := &nltkFamily{order: n, seg: s.choice("seg", "blank", "char")}
	f.opt = nltkbleu.Options{Weights: nltkbleu.Uniform(n), Method: s.integer("method", 0, 0, 7), Reweigh: s.bool("reweigh", false)}
	if s.bool("only", false) { // the highest order alone
		for i := range f.opt.Weights {
			f.opt.Weights[i] = 0
		}
		f.opt.Weights[n-1] = 1
	}
	if f.opt.Method >= 5 {
		set := &setFamily{values: f.names(), what: f.variant(), single: true, cut: blankOr(f.seg), open: f.open}
		if f.opt.Method == 6 && n < 3 {
			set.told = []string{nltkbleu.ErrMethod6.Error() + ": no number, save 0 where no word matches"}
		}
		return set, nil
	}
	return f, nil
}

func (f *nltkFamily) seen(_ context.Context, c *corpus) (func(int) ([]string, [][]string), error) {
	return seenText(c, blankOr(f.seg)), nil
}

func (f *nltkFamily) names() []string { return []string{"nltk-bleu"} }
func (f *nltkFamily) width() int      { return 2 + 2*f.order }

func (f *nltkFamily) variant() string {
	only := ""
	if f.opt.Weights[0] == 0 {
		only = "|only"
	}
	return fmt.Sprintf("nltk-3.10.4|n:%d|method:%d|seg:%s|reweigh:%t%s", f.order, f.opt.Method, f.seg, f.opt.Reweigh, only)
}

func (f *nltkFamily) set(s nltkbleu.Stats, row []float64) {
	row[0], row[1] = float64(s.Hyp), float64(s.Ref)
	for k := range f.order {
		row[2+k], row[2+f.order+k] = float64(s.Num[k]), float64(s.Den[k])
	}
}

func (f *nltkFamily) prepare(_ context.Context, c *corpus) (func() scorer, error) {
	hyps, refs := numbered(c, f.seg)
	return func() scorer {
		counter := nltkbleu.NewCounter(f.order)
		return func(i int, row []float64) { f.set(counter.Count(hyps[i], refs[i]), row) }
	}, nil
}

// open is for the methods that look at the last segment: of a set that is the
// last of its places.
func (f *nltkFamily) open(_ context.Context, c *corpus) (func() stats.Places, error) {
	hyps, refs := numbered(c, f.seg)
	rows := stats.Matrix{Width: f.width(), Data: make([]float64, f.width()*len(hyps))}
	lasts := make([]nltkbleu.Last, len(hyps))
	counter := nltkbleu.NewCounter(f.order)
	for i := range hyps {
		s := counter.Count(hyps[i], refs[i])
		lasts[i] = s.Last
		f.set(s, rows.Row(i))
	}
	return func() stats.Places {
		sum := make([]float64, f.width())
		return func(places []int, values []float64) {
			clear(sum)
			for _, i := range places {
				for k, v := range rows.Row(i) {
					sum[k] += v
				}
			}
			values[0] = f.score(sum, lasts[places[len(places)-1]])
		}
	}, nil
}

func (f *nltkFamily) total(sum, values []float64) { values[0] = f.score(sum, nltkbleu.Last{}) }

func (f *nltkFamily) one(_ int, row, values []float64) { f.total(row, values) }

func (f *nltkFamily) score(sum []float64, last nltkbleu.Last) float64 {
	v, err := f.opt.Score(sum[0], sum[1], sum[2:2+f.order], sum[2+f.order:], last)
	if err != nil {
		return math.NaN()
	}
	return v
}

// newGLEU is NLTK's GLEU.
func newGLEU(s *spec, _ *Request) (family, error) {
	seg := s.choice("seg", "blank", "char")
	return &ratioFamily{
		name: "nltk-gleu", what: "nltk-3.10.4|n:1-4|seg:" + seg, cut: blankOr(seg),
		prep: func(_ context.Context, c *corpus) (func() scorer, error) {
			hyps, refs := numbered(c, seg)
			return func() scorer {
				counter := nltkbleu.NewCounter(4)
				return func(i int, row []float64) {
					m, n := counter.GLEU(hyps[i], refs[i])
					row[0], row[1] = float64(m), float64(n)
				}
			}, nil
		},
	}, nil
}

// newDistinct is Distinct-1 to Distinct-4 of the predictions.
func newDistinct(s *spec, _ *Request) (family, error) {
	seg := s.choice("seg", "blank", "char")
	return &setFamily{
		values: []string{"distinct-1", "distinct-2", "distinct-3", "distinct-4"}, what: "distinct|seg:" + seg, free: true, cut: blankOr(seg),
		open: func(_ context.Context, c *corpus) (func() stats.Places, error) {
			return func() stats.Places {
				return func(places []int, values []float64) {
					var counter distinct.Counter
					for _, i := range places {
						text := c.Predictions[i]
						if seg == "char" {
							text = pltrdy.Characters(text)
						}
						counter.Add(text)
					}
					for k := range values {
						values[k] = counter.Score(k + 1)
					}
				}
			}, nil
		},
	}, nil
}
