package t5

import (
	"errors"
	"fmt"

	"espalier/trainer/grad"
	"espalier/trainer/op"
	"espalier/trainer/peft"
)

// A Batch is source and target texts of one task.
type Batch struct {
	Source [][]int32 // with EOS
	Target [][]int32 // with EOS, without a start token
	Task   int
	Images Images
}

// Images are the visual features of a batch, as many vectors for each example;
// the zero Images are none.
type Images struct {
	Cells, Dim int
	Counts     []int     // real vectors of each example, the first ones; nil: all are real
	Features   []float32 // [examples, Cells, Dim]
	Boxes      []float32 // [examples, Cells, 5], see peft.Pass.Boxes; nil without
}

// begin starts a pass over a batch of so many examples.
func (m *Model) begin(t *grad.Tape, task, examples int, im *Images, cache *peft.Cache, live []int32) (*peft.Pass, error) {
	p := &m.pass
	p.Tape, p.Task, p.Inputs, p.Visual, p.Boxes = t, task, examples, 0, 0
	if g := &m.given; g.Visual > 0 && (im.Dim != g.Visual || im.Cells != g.Cells && g.Cells > 0) {
		return nil, fmt.Errorf("t5: images of %d vectors of %d numbers, the model was made for %d of %d", im.Cells, im.Dim, g.Cells, g.Visual)
	}
	if task < 0 || task >= max(1, len(m.given.Tasks)) {
		return nil, fmt.Errorf("t5: task %d of %d", task, len(m.given.Tasks))
	}
	if n := examples * im.Cells * im.Dim; len(im.Features) != n {
		return nil, fmt.Errorf("t5: %d feature values for %d images of %d vectors of %d, want %d", len(im.Features), examples, im.Cells, im.Dim, n)
	}
	if err := m.counted(p, examples, im); err != nil {
		return nil, err
	}
	if im.Cells > 0 {
		p.Visual = t.Floats(im.Features, examples, im.Cells, im.Dim)
	}
	if im.Boxes != nil {
		if n := examples * im.Cells * 5; len(im.Boxes) != n {
			return nil, fmt.Errorf("t5: %d numbers of boxes, want %d", len(im.Boxes), n)
		}
		p.Boxes = t.Floats(im.Boxes, examples, im.Cells, 5)
	}
	m.edits.Begin(p, cache, live)
	return p, nil
}

// counted says in the pass how many vectors of each example are real, unless all
// are.
func (m *Model) counted(p *peft.Pass, examples int, im *Images) error {
	p.Counts = nil
	if im.Counts == nil {
		return nil
	}
	if len(im.Counts) != examples {
		return fmt.Errorf("t5: counts of %d images for %d examples", len(im.Counts), examples)
	}
	for i, n := range im.Counts {
		switch {
		case n < 1 || n > im.Cells:
			return fmt.Errorf("t5: image %d has %d vectors, want 1 to %d", i, n, im.Cells)
		case n < im.Cells && !m.edits.MasksImages():
			return fmt.Errorf("t5: image %d has %d vectors, others %d: the method needs as many of every image", i, n, im.Cells)
		case n < im.Cells:
			p.Counts = im.Counts
		}
	}
	return nil
}

// source lays source texts out as rows, padded behind.
func (m *Model) source(texts [][]int32) (*Source, error) {
	if len(texts) == 0 {
		return nil, errors.New("t5: no source texts")
	}
	s := &Source{Rows: len(texts)}
	padded := false
	for _, x := range texts {
		s.Len = max(s.Len, len(x))
	}
	for i, x := range texts {
		if len(x) == 0 {
			return nil, fmt.Errorf("t5: source text %d is empty", i)
		}
		if err := m.checkIDs("source text", i, x); err != nil {
			return nil, err
		}
		padded = padded || len(x) < s.Len
	}
	m.scratch.source = m.scratch.source[:0]
	for _, x := range texts {
		m.scratch.source = append(m.scratch.source, x...)
		for range s.Len - len(x) {
			m.scratch.source = append(m.scratch.source, m.config.Pad)
		}
		if padded {
			for i := range s.Len {
				if i < len(x) {
					s.Mask = append(s.Mask, 1)
				} else {
					s.Mask = append(s.Mask, 0)
				}
			}
		}
	}
	s.IDs = m.scratch.source
	return s, nil
}

func (m *Model) checkIDs(what string, i int, ids []int32) error {
	for j, id := range ids {
		if id < 0 || int(id) >= m.config.Vocab {
			return fmt.Errorf("t5: %s %d: token %d is %d, want 0 to %d", what, i, j, id, m.config.Vocab-1)
		}
	}
	return nil
}

// LossOptions say how a loss is summed.
type LossOptions struct {
	Smoothing float32 // 1-s on the target and s/(V-1) elsewhere, as KL divergence
	Tokens    int     // what the sum over tokens is divided by; 0: by their number in the batch
}

// Loss returns the cross-entropy of the targets, the mean over their tokens (EOS
// counts), and their number. The decoder reads the start token and the target
// without its last token.
func (m *Model) Loss(t *grad.Tape, b *Batch, o LossOptions) (loss grad.Var, tokens int, err error) {
	if len(b.Target) != len(b.Source) {
		return 0, 0, fmt.Errorf("t5: %d targets for %d source texts", len(b.Target), len(b.Source))
	}
	src, err := m.source(b.Source)
	if err != nil {
		return 0, 0, err
	}
	width := 0
	for i, x := range b.Target {
		if len(x) == 0 {
			return 0, 0, fmt.Errorf("t5: target %d is empty", i)
		}
		if err := m.checkIDs("target", i, x); err != nil {
			return 0, 0, err
		}
		width = max(width, len(x))
		tokens += len(x)
	}
	p, err := m.begin(t, b.Task, len(b.Source), &b.Images, nil, nil)
	if err != nil {
		return 0, 0, err
	}
	s := &m.scratch
	s.ids, s.targets = s.ids[:0], s.targets[:0]
	var at []int32
	for r, x := range b.Target {
		s.ids = append(append(s.ids, m.config.Start), x[:len(x)-1]...)
		for range width - len(x) {
			s.ids = append(s.ids, m.config.Pad)
		}
		for i, id := range x {
			s.targets = append(s.targets, id)
			at = append(at, int32(r*width+i))
		}
	}
	if o.Tokens == 0 {
		o.Tokens = tokens
	}
	return m.loss(p, m.encode(p, src), at, len(b.Target), width, o), tokens, nil
}

// loss runs the decoder over scratch.ids and returns the sum of the losses of
// scratch.targets at the places at, over o.Tokens.
func (m *Model) loss(p *peft.Pass, mem Memory, at []int32, rows, width int, o LossOptions) grad.Var {
	t, s := p.Tape, &m.scratch
	x := m.decode(p, mem, s.ids, nil, rows, width)
	if all := t.Dim(x, 1); len(at) < rows*all {
		for i, v := range at { // vectors before the tokens have no targets
			at[i] = v/int32(width)*int32(all) + int32(all-width) + v%int32(width)
		}
		x = t.Gather(x, t.Ints(at, len(at)), 1)
	}
	n := len(s.targets)
	weights, targets, c := t.Value(t.Fill(1/float64(o.Tokens), n)), t.Ints(s.targets, n), op.CrossEntropy{Smoothing: o.Smoothing}
	if m.head.weight.Frozen && !m.edits.HasOutput(m.head.at) {
		return t.ProjectLoss(m.edits.Input(p, m.head.at, m.scaled(t, x)), m.head.weight.Var(t), targets, weights, c)
	}
	return t.CrossEntropy(m.logits(p, x), targets, weights, c)
}

// Logits returns the scores of the next token at each place of the decoder's
// inputs, [rows, tokens, V] and nothing for vectors beside them, for sources and
// inputs that are padded in any way.
func (m *Model) Logits(t *grad.Tape, src, inputs *Source, task int, im Images) (grad.Var, error) {
	if src.Rows != inputs.Rows || src.Rows < 1 {
		return 0, fmt.Errorf("t5: %d source texts for %d inputs of the decoder", src.Rows, inputs.Rows)
	}
	for _, s := range []*Source{src, inputs} {
		if len(s.IDs) != s.Rows*s.Len || s.Mask != nil && len(s.Mask) != len(s.IDs) {
			return 0, fmt.Errorf("t5: %d ids and %d numbers of a mask for %d rows of %d", len(s.IDs), len(s.Mask), s.Rows, s.Len)
		}
		if err := m.checkIDs("ids", 0, s.IDs); err != nil {
			return 0, err
		}
	}
	p, err := m.begin(t, task, src.Rows, &im, nil, nil)
	if err != nil {
		return 0, err
	}
	x := m.decode(p, m.encode(p, src), inputs.IDs, inputs.Mask, inputs.Rows, inputs.Len)
	if all := t.Dim(x, 1); all > inputs.Len {
		x = t.Cut(x, 1, all-inputs.Len, all)
	}
	return m.logits(p, x), nil
}
