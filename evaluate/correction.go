package evaluate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"espalier/evaluate/maxmatch"
	"espalier/evaluate/pytext"
	"espalier/pipeline"
)

// maxmatchFamily is the M2 scorer. References are blocks of an M2 file; a row
// holds the counts of the annotator that was chosen.
type maxmatchFamily struct {
	opt maxmatch.Options
}

func newMaxMatch(s *spec, _ *Request) (family, error) {
	return &maxmatchFamily{maxmatch.Options{
		MaxUnchanged: s.integer("unchanged", 2, 0, 1000), IgnoreCase: s.bool("ignorecase", false), Beta: s.number("beta", 0.5, 0.001, 1000),
	}}, nil
}

func (f *maxmatchFamily) names() []string {
	return []string{"maxmatch-p", "maxmatch-r", fmt.Sprintf("maxmatch-f%g", f.opt.Beta)}
}

func (f *maxmatchFamily) width() int { return 3 }

func (f *maxmatchFamily) variant() string {
	return fmt.Sprintf("m2scorer-cb874a7|unchanged:%d|ignorecase:%t|beta:%g", f.opt.MaxUnchanged, f.opt.IgnoreCase, f.opt.Beta)
}

func (f *maxmatchFamily) prepare(ctx context.Context, c *corpus) (func() scorer, error) {
	counts := make([][]maxmatch.Count, c.n())
	errs := make([]error, c.workers)
	var wg sync.WaitGroup
	for w := range c.workers {
		wg.Go(func() {
			for i := w; i < c.n() && ctx.Err() == nil && errs[w] == nil; i += c.workers {
				s, err := m2Sentence(c, i)
				if err != nil {
					errs[w] = err
					return
				}
				counts[i], _ = maxmatch.Compare(s, pytext.Fields(c.Predictions[i]), f.opt)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return nil, err
	}
	chooser := maxmatch.Chooser{Beta: f.opt.Beta}
	for i, n := range counts {
		counts[i] = n[chooser.Choose(n):][:1]
	}
	return func() scorer {
		return func(i int, row []float64) {
			n := counts[i][0]
			row[0], row[1], row[2] = float64(n.Correct), float64(n.Proposed), float64(n.Gold)
		}
	}, nil
}

// m2Sentence parses the one block that is an example's reference.
func m2Sentence(c *corpus, i int) (*maxmatch.Sentence, error) {
	if len(c.References[i]) != 1 {
		return nil, fmt.Errorf("example %s: %d references, want one block of an M2 file", c.IDs[i], len(c.References[i]))
	}
	s, err := maxmatch.Read(strings.NewReader(c.References[i][0]))
	p := c.Places[i]
	var line *maxmatch.LineError
	if errors.As(err, &line) {
		return nil, &pipeline.RefusedError{File: p.File, Line: p.Line + int64(line.Line) - 1, Offset: -1, Reason: line.Reason}
	} else if err != nil {
		return nil, err
	}
	if len(s) != 1 {
		return nil, &pipeline.RefusedError{File: p.File, Line: p.Line, Offset: -1, Reason: fmt.Sprintf("a block with %d lines S, want one", len(s))}
	}
	return &s[0], nil
}

func (f *maxmatchFamily) total(sum, values []float64) {
	t := maxmatch.Totals{Correct: int(sum[0]), Proposed: int(sum[1]), Gold: int(sum[2])}
	values[0], values[1], values[2] = t.F(f.opt.Beta)
}

func (f *maxmatchFamily) one(_ int, row, values []float64) { f.total(row, values) }
