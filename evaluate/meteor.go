package evaluate

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"espalier/evaluate/meteor"
	"espalier/pipeline"
)

// meteorFamily is METEOR of the caption tools. An image's statistics are those
// of the reference with the best score.
type meteorFamily struct {
	tok  string
	data *meteor.Data
}

func newMETEOR(s *spec, r *Request) (family, error) {
	d, err := meteor.Load(r.MeteorData)
	if err != nil {
		return nil, err
	}
	return &meteorFamily{s.choice("tok", "ptb", "none"), d}, nil
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

func (f *meteorFamily) prepare(ctx context.Context, c *corpus) (func() scorer, error) {
	t, err := c.captions(ctx, f.tok)
	if err != nil {
		return nil, err
	}
	hyps, refs := make([][]string, c.n()), make([][][]string, c.n())
	var wg sync.WaitGroup
	for w := range c.workers {
		wg.Go(func() {
			for i := w; i < c.n() && ctx.Err() == nil; i += c.workers {
				hyps[i], refs[i] = f.texts(t, i)
			}
		})
	}
	wg.Wait()
	known := make(map[string]bool)
	for i := range hyps {
		for _, text := range append(refs[i], hyps[i]) {
			for _, w := range text {
				known[w] = true
			}
		}
	}
	table, err := f.data.Paraphrases(ctx, func(word []byte) bool { return known[string(word)] })
	if err != nil {
		return nil, err
	}
	return func() scorer {
		s := meteor.NewScorer(f.data, table)
		one := make([]float64, meteor.Width)
		return func(i int, row []float64) {
			best := -1.0
			for _, r := range refs[i] {
				st := s.Count(hyps[i], r)
				if st.Perfect() {
					st.Chunks = 0 // adds none to a sum
				}
				st.Row(one)
				if v := meteor.Score(one); v > best {
					best = v
					copy(row, one)
				}
			}
		}
	}, nil
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
