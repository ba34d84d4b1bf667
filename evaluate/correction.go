package evaluate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"espalier/evaluate/errant"
	"espalier/evaluate/maxmatch"
	"espalier/evaluate/pytext"
	"espalier/pipeline"
)

// maxmatchFamily is the M2 scorer. References are blocks of an M2 file; a row
// holds the counts of the annotator that was chosen.
type maxmatchFamily struct {
	opt    maxmatch.Options
	counts [][]maxmatch.Totals // of every example and annotator
}

func newMaxMatch(s *spec, _ *Request) (family, error) {
	return &maxmatchFamily{opt: maxmatch.Options{
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
	f.counts = make([][]maxmatch.Totals, c.n())
	known := c.kept[f]
	errs := make([]error, c.workers)
	var wg sync.WaitGroup
	for w := range c.workers {
		wg.Go(func() {
			for i := w; i < c.n() && ctx.Err() == nil && errs[w] == nil; i += c.workers {
				if f.recall(i, known.row(i, "", c)) {
					continue
				}
				s, err := m2Sentence(c, i)
				if err != nil {
					errs[w] = err
					return
				}
				found, _ := maxmatch.Compare(s, pytext.Fields(c.Predictions[i]), f.opt)
				f.counts[i] = make([]maxmatch.Totals, len(found))
				for k := range found {
					f.counts[i][k] = found[k].Totals
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return nil, err
	}
	chooser := maxmatch.Chooser{Beta: f.opt.Beta}
	chosen := make([]int, c.n())
	for i, n := range f.counts {
		chosen[i] = chooser.Choose(n)
	}
	return func() scorer {
		return func(i int, row []float64) {
			n := f.counts[i][chosen[i]]
			row[0], row[1], row[2] = float64(n.Correct), float64(n.Proposed), float64(n.Gold)
		}
	}, nil
}

// keep returns the counts of an example's annotators.
func (f *maxmatchFamily) keep(i int) []float64 {
	var out []float64
	for _, n := range f.counts[i] {
		out = append(out, float64(n.Correct), float64(n.Proposed), float64(n.Gold))
	}
	return out
}

// recall takes over what keep returned.
func (f *maxmatchFamily) recall(i int, kept []float64) bool {
	for k := 0; k+2 < len(kept); k += 3 {
		f.counts[i] = append(f.counts[i], maxmatch.Totals{Correct: int(kept[k]), Proposed: int(kept[k+1]), Gold: int(kept[k+2])})
	}
	return len(kept) > 0
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

// errantModes are the ways to compare edits, by their names.
var errantModes = []string{"correction", "detection", "tokens", "typed"}

// errantFamily is errant_compare, and ChERRANT's, which has the same rules for
// edits of characters. Predictions and references are blocks of M2 files; a row
// holds the counts of the pair of annotators that was chosen, then those of
// each category.
type errantFamily struct {
	name       string
	tool       string
	mode       string
	cat        int
	categories []string
	opt        errant.Options
}

func newErrant(name, tool string) func(*spec, *Request) (family, error) {
	return func(s *spec, _ *Request) (family, error) {
		f := &errantFamily{name: name, tool: tool, mode: s.choice("mode", errantModes...), cat: s.integer("cat", 0, 0, 3)}
		f.opt = errant.Options{
			Mode: errant.Mode(max(0, slices.Index(errantModes, f.mode))), Beta: s.number("beta", 0.5, 0.001, 1000),
			Single: s.bool("single", false), Multi: s.bool("multi", false),
		}
		s.used["skip"] = true
		if skip := s.options["skip"]; skip != "" {
			f.opt.Skip = strings.Split(skip, "/")
		}
		return f, nil
	}
}

func (f *errantFamily) names() []string {
	var out []string
	for k := range 1 + len(f.categories) {
		name := f.name
		if k > 0 {
			name += "[" + f.categories[k-1] + "]"
		}
		out = append(out, name+"-p", name+"-r", fmt.Sprintf("%s-f%g", name, f.opt.Beta))
	}
	return out
}

func (f *errantFamily) width() int { return 3 * (1 + len(f.categories)) }

func (f *errantFamily) variant() string {
	cat := ""
	if f.cat > 0 {
		cat = fmt.Sprintf("|cat:%d", f.cat)
	}
	return fmt.Sprintf("%s|mode:%s|single:%t|multi:%t|skip:%s|beta:%g%s", f.tool, f.mode, f.opt.Single, f.opt.Multi, strings.Join(f.opt.Skip, "/"), f.opt.Beta, cat)
}

func (f *errantFamily) prepare(ctx context.Context, c *corpus) (func() scorer, error) {
	chooser := errant.Chooser{Options: f.opt}
	counts := make([]errant.Count, c.n())
	for i, p := range c.Predictions {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(c.References[i]) != 1 {
			return nil, fmt.Errorf("example %s: %d references, want one block of an M2 file", c.IDs[i], len(c.References[i]))
		}
		hyp, err := errant.ParseBlock(p)
		if err != nil {
			return nil, &pipeline.RefusedError{File: c.predFile, Offset: -1, Reason: fmt.Sprintf("block %s: %v", c.IDs[i], err)}
		}
		ref, err := errant.ParseBlock(c.References[i][0])
		if err != nil {
			return nil, &pipeline.RefusedError{File: c.Places[i].File, Line: c.Places[i].Line, Offset: -1, Reason: fmt.Sprintf("block %s: %v", c.IDs[i], err)}
		}
		if counts[i] = chooser.Add(hyp, ref); f.cat == 0 {
			counts[i].Types = nil
		}
	}
	place := make(map[string]int)
	if f.cat > 0 {
		f.categories = f.categories[:0]
		for typ := range chooser.Total.Types {
			if name := errant.Category(typ, f.cat); !slices.Contains(f.categories, name) {
				f.categories = append(f.categories, name)
			}
		}
		slices.Sort(f.categories)
		for typ := range chooser.Total.Types {
			place[typ] = 3 * (1 + slices.Index(f.categories, errant.Category(typ, f.cat)))
		}
	}
	return func() scorer {
		return func(i int, row []float64) {
			n := counts[i]
			row[0], row[1], row[2] = float64(n.TP), float64(n.FP), float64(n.FN)
			if f.cat == 0 {
				return
			}
			for typ, parts := range n.Types {
				for k, v := range parts {
					row[place[typ]+k] += float64(v)
				}
			}
		}
	}, nil
}

func (f *errantFamily) total(sum, values []float64) {
	for k := 0; k < len(values); k += 3 {
		values[k], values[k+1], values[k+2] = errant.F(int(sum[k]), int(sum[k+1]), int(sum[k+2]), f.opt.Beta)
	}
}

func (f *errantFamily) one(_ int, row, values []float64) { f.total(row, values) }
