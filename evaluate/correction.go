package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"espalier/evaluate/cherrant"
	"espalier/evaluate/errant"
	"espalier/evaluate/maxmatch"
	"espalier/evaluate/pytext"
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
	faults := make([]func() error, c.workers) // of each worker's first example that has one
	at := make([]int, c.workers)
	var wg sync.WaitGroup
	for w := range c.workers {
		wg.Go(func() {
			var compare maxmatch.Comparer
			for i := w; i < c.n() && ctx.Err() == nil; i += c.workers {
				if f.recall(i, known.row(i, "", c)) {
					continue
				}
				if faults[w] = f.compare(&compare, c, i); faults[w] != nil {
					at[w] = i
					return
				}
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	first := -1
	for w, fault := range faults {
		if fault != nil && (first < 0 || at[w] < at[first]) {
			first = w
		}
	}
	if first >= 0 {
		return nil, faults[first]()
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

// compare counts an example, or returns what gives its fault.
func (f *maxmatchFamily) compare(by *maxmatch.Comparer, c *corpus, i int) func() error {
	s, err := m2Sentence(c, i)
	if err != nil {
		return func() error { return err }
	}
	found, _, err := by.Compare(s, pytext.Fields(c.Predictions[i]), f.opt)
	if err != nil {
		return func() error {
			return c.refusePrediction(i, "%d words for a source of %d, with too little in common for their length: the phrases that could be meant are more than %d", len(pytext.Fields(c.Predictions[i])), len(s.Source), maxmatch.MaxEdges)
		}
	}
	f.counts[i] = make([]maxmatch.Totals, len(found))
	for k := range found {
		f.counts[i][k] = found[k].Totals
	}
	return nil
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
		return nil, c.refuseReference(i, "%d references, want one block of an M2 file", len(c.References[i]))
	}
	s, err := maxmatch.Block(c.References[i][0])
	var line *maxmatch.LineError
	if errors.As(err, &line) {
		return nil, c.refuseReferenceAt(i, line.Line, line.Reason)
	} else if err != nil {
		return nil, err
	}
	if len(s) != 1 {
		return nil, c.refuseReference(i, "a block with %d lines S, want one", len(s))
	}
	return &s[0], nil
}

func (f *maxmatchFamily) total(sum, values []float64) {
	t := maxmatch.Totals{Correct: int(sum[0]), Proposed: int(sum[1]), Gold: int(sum[2])}
	values[0], values[1], values[2] = t.F(f.opt.Beta)
}

func (f *maxmatchFamily) one(_ int, row, values []float64) { f.total(row, values) }

func (f *maxmatchFamily) seen(_ context.Context, c *corpus) (func(int) ([]string, [][]string), error) {
	return func(i int) ([]string, [][]string) {
		return pytext.Fields(c.Predictions[i]), [][]string{editLines(c.References[i][0])}
	}, nil
}

// editLines are the lines of edits of an M2 block, less their letter A.
func editLines(block string) []string {
	out := []string{}
	for line := range strings.Lines(block) {
		if rest, ok := strings.CutPrefix(line, "A "); ok {
			out = append(out, strings.TrimSpace(rest))
		}
	}
	return out
}

// errantModes are the ways to compare edits, by their names.
var errantModes = []string{"correction", "detection", "tokens", "typed"}

// errantFamily is errant_compare, and ChERRANT's. Predictions and references are
// blocks of M2 files, or, for ChERRANT, texts whose edits it finds; a row holds
// the counts of the pair of annotators that was chosen, then those of each
// category.
type errantFamily struct {
	name       string
	tool       string
	mode       string
	cat        int
	categories []string
	opt        errant.Options
	finder     *cherrant.Finder // nil for ERRANT
	found      bool             // edits were found in texts
	cut        int              // sentences whose alignments were not all looked at
}

func newErrant(s *spec, _ *Request) (family, error) {
	return errantOf(s, "errant", "errant-3.0.2"), nil
}

func errantOf(s *spec, name, tool string) *errantFamily {
	f := &errantFamily{name: name, tool: tool, mode: s.choice("mode", errantModes...), cat: s.integer("cat", 0, 0, 3)}
	f.opt = errant.Options{
		Mode: errant.Mode(max(0, slices.Index(errantModes, f.mode))), Beta: s.number("beta", 0.5, 0.001, 1000),
		Single: s.bool("single", false), Multi: s.bool("multi", false),
	}
	s.used["skip"] = true
	if skip := s.options["skip"]; skip != "" {
		f.opt.Skip = strings.Split(skip, "/")
	}
	return f
}

func newCherrant(s *spec, r *Request) (family, error) {
	f := errantOf(s, "cherrant", "cherrant-3922193")
	f.opt.Chinese = true
	tables, err := cherrant.Load(r.Cherrant)
	if err != nil {
		return nil, err
	}
	f.finder = &cherrant.Finder{Tables: tables, Options: cherrant.Options{
		First: s.choice("strategy", "all", "first") == "first", Traditional: !s.bool("simplified", true), Words: s.bool("bpe", false),
	}}
	return f, f.finder.Check()
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

func (f *errantFamily) attributes() []string {
	if f.finder == nil {
		return nil
	}
	return []string{sourceField}
}

func (f *errantFamily) variant() string {
	more := ""
	if f.cat > 0 {
		more = fmt.Sprintf("|cat:%d", f.cat)
	}
	if f.found {
		more += "|" + f.finder.String()
	}
	return fmt.Sprintf("%s|mode:%s|single:%t|multi:%t|skip:%s|beta:%g%s", f.tool, f.mode, f.opt.Single, f.opt.Multi, strings.Join(f.opt.Skip, "/"), f.opt.Beta, more)
}

// edits returns the edits of an example's prediction and of its references.
func (f *errantFamily) edits(c *corpus, i int) (hyp, ref []errant.Edit, cut bool, err error) {
	blocks, cut, err := f.sides(c, i)
	if err != nil {
		return nil, nil, false, err
	}
	var line *errant.LineError
	if hyp, err = errant.ParseBlock(blocks[0]); errors.As(err, &line) {
		return nil, nil, false, c.refusePredictionAt(i, line.Line, line.Reason)
	}
	if ref, err = errant.ParseBlock(blocks[1]); errors.As(err, &line) {
		return nil, nil, false, c.refuseReferenceAt(i, line.Line, line.Reason)
	}
	return hyp, ref, cut, nil
}

// sides returns the blocks of an example's prediction and references.
func (f *errantFamily) sides(c *corpus, i int) (blocks [2]string, cut bool, err error) {
	if f.found {
		return f.blocks(c, i)
	}
	if len(c.References[i]) != 1 {
		return blocks, false, c.refuseReference(i, "%d references, want one block of an M2 file", len(c.References[i]))
	}
	blocks = [2]string{c.Predictions[i], c.References[i][0]}
	for k, b := range blocks {
		if !isBlock(b) {
			refuse := []func(int, string, ...any) error{c.refusePrediction, c.refuseReference}[k]
			return blocks, false, refuse(i, "%.40q is no block of an M2 file (S SENTENCE, A EDIT ...)%s", b, f.advice())
		}
	}
	return blocks, false, nil
}

// isBlock reports a text that begins with a line S.
func isBlock(text string) bool {
	return strings.HasPrefix(text, "S") && (len(text) == 1 || text[1] == ' ' || text[1] == '\n')
}

// seen shows the edits of either side, as M2 files have them.
func (f *errantFamily) seen(_ context.Context, c *corpus) (func(int) ([]string, [][]string), error) {
	f.look(c)
	shown := make([][2]string, c.n())
	for i := range shown {
		var err error
		if shown[i], _, err = f.sides(c, i); err != nil {
			return nil, err
		}
	}
	return func(i int) ([]string, [][]string) { return editLines(shown[i][0]), [][]string{editLines(shown[i][1])} }, nil
}

// look finds out whether edits have to be found in texts.
func (f *errantFamily) look(c *corpus) {
	f.found, f.cut = false, 0
	for i := 0; i < c.n() && f.finder != nil && !f.found; i++ {
		f.found = c.attribute(i, sourceField) != "" || c.note(i, sourceField) != ""
	}
}

func (f *errantFamily) notes() []string {
	if f.cut == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s: %d texts have so many cheapest alignments that not all were looked at", f.name, f.cut)}
}

// advice says where edits come from.
func (f *errantFamily) advice() string {
	if f.finder == nil {
		return "; edits of English texts are found by errant_parallel, which needs spaCy's model: score what it writes"
	}
	return "; for edits of texts give the sentences that were corrected: --source FILE, a field source of the references, or files NUMBER, SENTENCE, CORRECTION between tabs that end in .para"
}

// blocks finds the edits of an example's texts.
func (f *errantFamily) blocks(c *corpus, i int) (blocks [2]string, cut bool, err error) {
	source, own := c.attribute(i, sourceField), c.note(i, sourceField)
	switch {
	case source == "" && own == "":
		return blocks, false, c.refuseReference(i, "no source: it has to be there for all texts or for none")
	case source == "":
		source = own
	case own != "" && !slices.Equal(f.finder.Source(source), f.finder.Source(own)):
		return blocks, false, c.refusePrediction(i, "its source is %.40q, and that of the reference %.40q", own, source)
	}
	for k, targets := range [][]string{{c.Predictions[i]}, c.References[i]} {
		b, more, err := f.finder.AppendBlock(nil, source, targets)
		if err != nil {
			return blocks, false, c.refuseReference(i, "%v", err)
		}
		blocks[k], cut = string(b), cut || more
	}
	return blocks, cut, nil
}

// prepare finds the edits of some examples at a time and then chooses among
// annotators, which looks at all sentences before.
func (f *errantFamily) prepare(ctx context.Context, c *corpus) (func() scorer, error) {
	const some = 1024
	f.look(c)
	chooser := errant.Chooser{Options: f.opt}
	counts := make([]errant.Count, c.n())
	type sides struct{ hyp, ref []errant.Edit }
	found := make([]sides, min(some, c.n()))
	for from := 0; from < c.n(); from += some {
		to := min(from+some, c.n())
		var cuts atomic.Int64
		errs := make([]error, to-from)
		var wg sync.WaitGroup
		for w := range c.workers {
			wg.Go(func() {
				for i := from + w; i < to && ctx.Err() == nil; i += c.workers {
					var cut bool
					s := &found[i-from]
					if s.hyp, s.ref, cut, errs[i-from] = f.edits(c, i); cut {
						cuts.Add(1)
					}
				}
			})
		}
		wg.Wait()
		f.cut += int(cuts.Load())
		for i := from; i < to; i++ {
			if err := cmp.Or(ctx.Err(), errs[i-from]); err != nil {
				return nil, err
			}
			if counts[i] = chooser.Add(found[i-from].hyp, found[i-from].ref); f.cat == 0 {
				counts[i].Types = nil
			}
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
