package evaluate

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"espalier/evaluate/meteor"
	"espalier/pipeline"
)

// meteorFamily is METEOR of the caption tools. An image's statistics are those
// of the reference with the best score.
type meteorFamily struct {
	tok   string
	data  *meteor.Data
	once  sync.Once
	table *meteor.Paraphrases
	err   error
}

func newMETEOR(s *spec, r *Request) (family, error) {
	d, err := meteor.Load(r.MeteorData)
	if err != nil {
		return nil, err
	}
	return &meteorFamily{tok: s.choice("tok", "ptb", "none"), data: d}, nil
}

func (f *meteorFamily) names() []string                  { return []string{"meteor"} }
func (f *meteorFamily) width() int                       { return meteor.Width }
func (f *meteorFamily) total(sum, values []float64)      { values[0] = meteor.Score(sum) }
func (f *meteorFamily) one(_ int, row, values []float64) { values[0] = meteor.Score(row) }

func (f *meteorFamily) variant() string {
	return "meteor[" + strings.Join(f.data.Modules(), ",") + "]|1.5|tok:" + f.tok
}

// texts returns the words of an image as METEOR splits them.
func (f *meteorFamily) texts(t *cutTexts, i int) (hyp []string, refs [][]string) {
	join := func(ids []uint32) string { return strings.Join(t.text(ids), " ") }
	// The caption tools' wrapper takes out its separator and double blanks.
	h := strings.ReplaceAll(strings.ReplaceAll(join(t.pieces.hyps[i]), "|||", ""), "  ", " ")
	for _, r := range t.pieces.refs[i] {
		refs = append(refs, f.data.Words(join(r)))
	}
	return f.data.Words(h), refs
}

func (f *meteorFamily) seen(ctx context.Context, c *corpus) (func(int) ([]string, [][]string), error) {
	t, err := c.captions(ctx, f.tok)
	if err != nil {
		return nil, err
	}
	return func(i int) ([]string, [][]string) { return f.texts(t, i) }, nil
}

// open reads the table of paraphrases, once.
func (f *meteorFamily) open(ctx context.Context) (*meteor.Paraphrases, error) {
	f.once.Do(func() { f.table, f.err = f.data.Paraphrases(ctx) })
	return f.table, f.err
}

// readAhead has METEOR's table read while the texts are. The function that it
// returns ends that.
func readAhead(ctx context.Context, fams []family) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for _, f := range fams {
		if f, ok := f.(*meteorFamily); ok {
			wg.Go(func() { _, _ = f.open(ctx) }) // prepare tells of errors
		}
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

func (f *meteorFamily) prepare(ctx context.Context, c *corpus) (func() scorer, error) {
	t, err := c.captions(ctx, f.tok)
	if err != nil {
		return nil, err
	}
	table, err := f.open(ctx)
	if err != nil {
		return nil, err
	}
	lex := meteor.NewLexicon(f.data, table)
	hyps, refs := f.numbers(ctx, c, t, lex)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	lex.Close(c.workers)
	return func() scorer {
		s := meteor.NewScorer(lex)
		one := make([]float64, meteor.Width)
		return func(i int, row []float64) {
			best := -1.0
			s.Hypothesis(hyps[i])
			for _, r := range refs[i] {
				st := s.Count(r)
				if st.Perfect() {
					st.Chunks = 0 // adds none to a sum
				}
				st.Row(one)
				if v := s.Score(one); v > best {
					best = v
					copy(row, one)
				}
			}
		}
	}, nil
}

// numbers numbers METEOR's words of the texts. Most texts hold only pieces that
// METEOR leaves as they are.
func (f *meteorFamily) numbers(ctx context.Context, c *corpus, t *cutTexts, lex *meteor.Lexicon) (hyps [][]int32, refs [][][]int32) {
	plain, known := make([]bool, t.words.Len()), make([]int32, t.words.Len())
	for i := range plain {
		plain[i], known[i] = meteor.Plain(t.words.Word(uint32(i))), -1
	}
	left := func(pieces []uint32) bool {
		return !slices.ContainsFunc(pieces, func(id uint32) bool { return !plain[id] })
	}
	number := func(pieces []uint32, other []string) []int32 {
		if !left(pieces) {
			return lex.Numbers(other)
		}
		out := make([]int32, len(pieces))
		for i, id := range pieces {
			if known[id] < 0 {
				known[id] = lex.Number(t.words.Word(id))
			}
			out[i] = known[id]
		}
		return out
	}
	otherHyps, otherRefs := make([][]string, c.n()), make([][][]string, c.n())
	var wg sync.WaitGroup
	for w := range c.workers {
		wg.Go(func() {
			for i := w; i < c.n() && ctx.Err() == nil; i += c.workers {
				if slices.ContainsFunc(t.pieces.refs[i], func(r []uint32) bool { return !left(r) }) || !left(t.pieces.hyps[i]) {
					otherHyps[i], otherRefs[i] = f.texts(t, i)
				}
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, nil
	}
	hyps, refs = make([][]int32, c.n()), make([][][]int32, c.n())
	for i := range hyps {
		hyps[i] = number(t.pieces.hyps[i], otherHyps[i])
		refs[i] = make([][]int32, len(t.pieces.refs[i]))
		for k, r := range t.pieces.refs[i] {
			var other []string
			if otherRefs[i] != nil {
				other = otherRefs[i][k]
			}
			refs[i][k] = number(r, other)
		}
	}
	return hyps, refs
}

// tables sets the files that a stage's inputs name: METEOR's folder, document
// frequencies.
func (r *Request) tables(t *pipeline.Task) error {
	for name, to := range map[string]*string{"meteor": &r.MeteorData, "df": &r.DF} {
		in := t.In[name]
		if in == nil {
			continue
		}
		if len(in.Manifest.Files) == 0 {
			return fmt.Errorf("evaluate/measure: input %s: no files", name)
		}
		first := in.Manifest.Files[0].Name
		f, err := in.Open(first)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
		if *to = f.Path; name == "meteor" {
			*to = strings.TrimSuffix(filepath.ToSlash(f.Path), first)
		}
	}
	return nil
}
