package evaluate

import (
	"context"
	"fmt"
	"math"

	"espalier/evaluate/rougescore"
	"espalier/evaluate/stats"
)

var rougeTypes = []string{"rouge1", "rouge2", "rougeL", "rougeLsum"}

// newRougeScore is google's rouge_score: of several references each type takes
// the one with the best F. The aggregate is the mean, or what the package's
// bootstrap says, whose middle Hugging Face reports.
func newRougeScore(s *spec, _ *Request) (family, error) {
	stem, parts := s.bool("stem", false), s.bool("parts", false)
	if s.choice("aggregate", "mean", "bootstrap") == "bootstrap" {
		return rougeBootstrap(stem, uint32(s.integer("seed", 0, 0, math.MaxUint32))), nil
	}
	var values []string
	for _, t := range rougeTypes {
		values = append(values, t)
		if parts {
			values = append(values, t+"-p", t+"-r")
		}
	}
	return &meanFamily{
		values: values, what: fmt.Sprintf("rouge_score-0.1.2|stem:%t|mean", stem),
		see: func(_ context.Context, c *corpus) (func(int) ([]string, [][]string), error) {
			return seenText(c, func(s string) []string { return rougescore.Tokens(s, stem) }), nil
		},
		prep: func(_ context.Context, c *corpus) (func() scorer, error) {
			return func() scorer {
				s := rougescore.New(stem)
				return func(i int, row []float64) {
					row = row[:0]
					for _, x := range bestRouge(s, c, i) {
						if row = append(row, x.F); parts {
							row = append(row, x.P, x.R)
						}
					}
				}
			}, nil
		},
	}, nil
}

// bestRouge scores an example by all types.
func bestRouge(s *rougescore.Scorer, c *corpus, i int) [4]rougescore.Score {
	hyp := s.Cut(c.Predictions[i])
	var best [4]rougescore.Score
	for j, r := range c.References[i] {
		ref := s.Cut(r)
		for k, x := range [4]rougescore.Score{s.N(hyp, ref, 1), s.N(hyp, ref, 2), s.L(hyp, ref), s.Lsum(hyp, ref)} {
			if j == 0 || x.F > best[k].F {
				best[k] = x
			}
		}
	}
	return best
}

// rougeBootstrap gives low, middle and high F of rouge_score's
// BootstrapAggregator with 1,000 resamples after numpy.random.seed.
func rougeBootstrap(stem bool, seed uint32) family {
	f := &setFamily{cut: func(text string) []string { return rougescore.Tokens(text, stem) }, what: fmt.Sprintf("rouge_score-0.1.2|stem:%t|bootstrap:1000|seed:%d", stem, seed)}
	for _, t := range rougeTypes {
		f.values = append(f.values, t, t+"-low", t+"-high")
	}
	f.open = func(ctx context.Context, c *corpus) (func() stats.Places, error) {
		all := make([][4]rougescore.Score, c.n())
		s := rougescore.New(stem)
		for i := range all {
			if i%1024 == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			all[i] = bestRouge(s, c, i)
		}
		return func() stats.Places {
			return func(places []int, values []float64) {
				types := make([][]rougescore.Score, len(rougeTypes))
				for _, i := range places {
					for k := range types {
						types[k] = append(types[k], all[i][k])
					}
				}
				for k, a := range rougescore.Bootstrap(types, 1000, seed) {
					values[3*k], values[3*k+1], values[3*k+2] = a.Mid.F, a.Low.F, a.High.F
				}
			}
		}, nil
	}
	return f
}
