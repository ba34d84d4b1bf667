package clip

import (
	"fmt"

	"espalier/trainer/ckpt"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// Text is CLIP's text tower.
type Text struct {
	dev           *workspace
	load          *loader
	table, pos    tensor.Tensor
	blocks        []block
	final         norm
	proj          tensor.Tensor
	width, out    int
	context, size int
	heads         int

	trace func(name string, x tensor.Tensor) // for tests
}

// OpenText makes the text tower of w on dev.
func OpenText(dev op.Device, w ckpt.Weights, o Options) (*Text, error) {
	l := newLoader(dev, w)
	te, ps, pr := l.shape("token_embedding.weight"), l.shape("positional_embedding"), l.shape("text_projection")
	if len(te) != 2 || len(ps) != 2 || len(pr) != 2 {
		return nil, fmt.Errorf("%w: no text tower (token_embedding.weight %v, positional_embedding %v, text_projection %v)", ErrWeights, te, ps, pr)
	}
	t := &Text{dev: l.work, load: l, width: te[1], size: te[0], context: ps[0], out: pr[1], trace: func(string, tensor.Tensor) {}}
	var err error
	if t.heads, err = headsOf(t.width, o.TextHeads); err != nil {
		return nil, err
	}
	t.table = l.vector("token_embedding.weight", t.size, t.width)
	t.pos = l.vector("positional_embedding", t.context, t.width)
	t.blocks = l.blocks("transformer", t.width)
	t.final = l.norm("ln_final", t.width)
	t.proj = l.matrix(l.floats("text_projection", t.width, t.out), t.width, t.out)
	if len(t.blocks) == 0 {
		l.err = cmpErr(l.err, fmt.Errorf("%w: no transformer blocks", ErrWeights))
	}
	return t, l.finish()
}

// Context is the number of tokens of a text.
func (t *Text) Context() int { return t.context }

// Forward returns the features [n, out] of n texts of Context ids each. The
// features are those of the first largest id of a text, which is the end of
// text; ids behind it do not matter.
func (t *Text) Forward(ids [][]int32) (tensor.Tensor, error) {
	n := len(ids)
	flat := make([]int32, 0, n*t.context)
	ends := make([]int, n)
	for i, row := range ids {
		if len(row) != t.context {
			return tensor.Tensor{}, fmt.Errorf("clip: text %d has %d ids, want %d", i, len(row), t.context)
		}
		for j, id := range row {
			if id < 0 || int(id) >= t.size {
				return tensor.Tensor{}, fmt.Errorf("clip: text %d: id %d, want below %d", i, id, t.size)
			}
			if id > row[ends[i]] {
				ends[i] = j
			}
		}
		flat = append(flat, row...)
	}
	dev := t.dev
	dev.reclaim()
	idt := dev.Alloc(tensor.Int32, n, t.context)
	dev.WriteInts(idt, flat)
	x := dev.Alloc(tensor.Float32, n, t.context, t.width)
	dev.Gather(x, t.table, idt, 1)
	dev.Add(x, x, t.pos)
	t.trace("embedded", x)
	for i := range t.blocks {
		x = t.blocks[i].apply(dev, x, t.heads, true)
		t.trace(fmt.Sprintf("block%d", i), x)
	}
	x = t.final.apply(dev, x)
	t.trace("ln_final", x)
	last := dev.Alloc(tensor.Float32, n, t.width)
	for i, e := range ends {
		dev.Copy(last.Slice(i, i+1), x.Slice(i, i+1).View(t.context, t.width).Slice(e, e+1))
	}
	t.trace("pooled", last)
	y := dev.Alloc(tensor.Float32, n, t.out)
	dev.Gemm(y, last, t.proj, op.Gemm{})
	return y, nil
}

// Close frees the weights.
func (t *Text) Close() { t.load.free() }
