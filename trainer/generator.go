package trainer

import (
	"context"
	"fmt"

	"espalier/features/vectors"
	"espalier/trainer/decode"
	"espalier/trainer/feed"
	"espalier/trainer/model/t5"
)

// A Generator writes texts with an edited model.
type Generator struct {
	Model  *t5.Model
	Search decode.Generation // checked; what the model decides is the model's
	Text   Detokenizer       // may be nil
	Index  *vectors.Index    // nil without images
	Pool   int               // side of grids after pooling; 0 as they are
	Cells  int               // vectors of an image that the model sees

	// Batch is how many texts are written side by side.
	Batch int
}

// A Generated is one written text.
type Generated struct {
	Text    string
	Tokens  []int32 // the EOS, if it was reached, included
	LogProb float64 // sum over the tokens
}

// A source is a text to be answered.
type source struct {
	id, image string
	input     []int32
	key       uint64 // of draws
}

// Run writes the answers of a task's sources and calls each with those of
// source i, best first.
func (g *Generator) Run(ctx context.Context, task int, sources []source, each func(i int, texts []Generated) error) error {
	if g.Search.Rows() > 1 { // of one row for each source it would not pay
		g.Model.Pack()
		defer g.Model.Unpack()
	}
	for at := 0; at < len(sources); at += g.Batch {
		some := sources[at:min(at+g.Batch, len(sources))]
		all, err := g.some(ctx, task, some)
		if err != nil {
			return fmt.Errorf("%s: %w", some[0].id, err)
		}
		for i, texts := range all {
			if err := each(at+i, texts); err != nil {
				return err
			}
		}
	}
	return nil
}

// Answer writes the answers to one text of a task, best first.
func (g *Generator) Answer(ctx context.Context, task int, input []int32, key uint64) (texts []Generated, err error) {
	err = g.Run(ctx, task, []source{{id: "text", input: input, key: key}}, func(_ int, x []Generated) error {
		texts = x
		return nil
	})
	return texts, err
}

func (g *Generator) some(ctx context.Context, task int, sources []source) ([][]Generated, error) {
	inputs, keys := make([][]int32, len(sources)), make([]uint64, len(sources))
	for i := range sources {
		inputs[i], keys[i] = sources[i].input, sources[i].key
	}
	im, err := g.images(sources)
	if err != nil {
		return nil, err
	}
	st, err := g.Model.Stepper(inputs, task, im, g.Search.Rows(), g.Search.MaxNew)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	all, err := g.Search.Run(ctx, st, keys)
	if err != nil {
		return nil, err
	}
	out := make([][]Generated, len(all))
	for i, hs := range all {
		for _, h := range hs {
			x := Generated{Tokens: h.Tokens}
			for _, p := range h.LogProbs {
				x.LogProb += float64(p)
			}
			if g.Text != nil {
				x.Text = g.Text(h.Tokens)
			}
			out[i] = append(out[i], x)
		}
	}
	return out, nil
}

// images reads the features of sources, if there are any.
func (g *Generator) images(sources []source) (t5.Images, error) {
	if g.Index == nil {
		return t5.Images{}, nil
	}
	names := make([]string, len(sources))
	for i := range sources {
		names[i] = sources[i].image
	}
	var f feed.Features
	if err := f.Load(g.Index, names); err != nil {
		return t5.Images{}, err
	}
	return textImages(&f, g.Pool, g.Cells), nil
}

// NewGenerator returns a Generator with what the model decides filled in.
func NewGenerator(m *t5.Model, g decode.Generation, text Detokenizer, x *vectors.Index) (*Generator, error) {
	c := m.Config()
	g.Start, g.EOS = c.Start, *c.EOS
	if err := g.Check(); err != nil {
		return nil, err
	}
	return &Generator{Model: m, Search: g, Text: text, Index: x, Batch: generatorBatch}, nil
}

// generatorBatch is how many texts are written side by side.
const generatorBatch = 32
