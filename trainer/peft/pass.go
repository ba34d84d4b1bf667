package peft

import (
	"espalier/trainer/grad"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// A Pass is one run of an edited model over a batch.
type Pass struct {
	Tape   *grad.Tape
	Task   int      // of the batch
	Inputs int      // examples of the batch, or those that are still generated
	Visual grad.Var // features of the examples' images, [Inputs, Cells, Visual]; zero without
	// Counts are the real features of each example's image, the first ones; nil:
	// all are real.
	Counts []int
	// Boxes of the features, x1 x2 y1 y2 relative to the image, and their area:
	// [Inputs, Cells, 5]; zero without.
	Boxes grad.Var

	made  [][]grad.Var
	cache *Cache
	live  tensor.Tensor // int32 [Inputs], places of the examples in the whole batch; zero: all
}

// A Cache keeps what Pass.Once made from one step of generation to the next.
type Cache struct {
	dev  op.Device
	kept [][]tensor.Tensor
}

// NewCache returns an empty cache.
func NewCache(dev op.Device) *Cache { return &Cache{dev: dev} }

// Free gives the cache's memory back.
func (c *Cache) Free() {
	for _, list := range c.kept {
		for _, x := range list {
			c.dev.Free(x)
		}
	}
	c.kept = nil
}

// Begin starts a pass on a tape that has begun a step. The fields of p are set
// before; cache is nil unless sequences are generated; live says which examples
// of the whole batch are left, nil for all.
func (e *Edits) Begin(p *Pass, cache *Cache, live []int32) {
	p.cache, p.live = cache, tensor.Tensor{}
	if live != nil {
		p.live = p.Tape.Ints(live, len(live))
	}
	if e == nil {
		return
	}
	if len(p.made) != e.memos {
		p.made = make([][]grad.Var, e.memos)
	}
	for i := range p.made {
		p.made[i] = p.made[i][:0]
	}
	if cache != nil && cache.kept == nil {
		cache.kept = make([][]tensor.Tensor, e.memos)
	}
	for _, f := range e.begin {
		f(p)
	}
}

// Once returns what f makes, and calls f at most once a pass. While sequences
// are generated it is called once a batch, before the first token: what f makes
// may depend on the task, the images and parameters only, and what differs by
// example covers all examples of the batch; see Each.
func (p *Pass) Once(m Memo, f func() []grad.Var) []grad.Var {
	if len(p.made[m]) > 0 {
		return p.made[m]
	}
	if p.cache != nil && p.cache.kept[m] != nil {
		for _, x := range p.cache.kept[m] {
			p.made[m] = append(p.made[m], p.Tape.Leaf(x, tensor.Tensor{}))
		}
		return p.made[m]
	}
	p.made[m] = append(p.made[m], f()...)
	p.Tape.Pin(p.made[m]...)
	if p.cache != nil {
		for _, v := range p.made[m] {
			x := p.Tape.Value(v)
			kept := p.cache.dev.Keep(x.DType, x.Shape...)
			p.cache.dev.Copy(kept, x)
			p.cache.kept[m] = append(p.cache.kept[m], kept)
		}
	}
	return p.made[m]
}

// Each returns the parts of x, [examples of the batch, ...], that belong to
// the examples that are left.
func (p *Pass) Each(x grad.Var) grad.Var {
	if p.live.IsZero() {
		return x
	}
	t := p.Tape
	shape := append([]int{p.Inputs}, t.Value(x).Shape[1:]...)
	rows := t.View(x, t.Dim(x, 0), t.Value(x).Len()/t.Dim(x, 0))
	return t.View(t.Gather(rows, p.live, 1), shape...)
}

// Linear returns x W' + b with what o says applied, as [grad.Tape.Linear] does.
// w is [out, in] or differs by example, [examples, out, in]; b is zero, [out]
// or [examples, out]. x is [rows, ..., in], where the rows of an example lie
// side by side.
func (p *Pass) Linear(x, w, b grad.Var, o grad.Out) grad.Var {
	t := p.Tape
	each := b != 0 && len(t.Value(b).Shape) == 2
	if len(t.Value(w).Shape) == 2 && !each {
		return t.Linear(x, w, b, o)
	}
	shape := append([]int(nil), t.Value(x).Shape...)
	n := t.Value(x).Rows()
	var y grad.Var
	if len(t.Value(w).Shape) == 2 {
		y = t.Linear(x, w, 0, grad.Out{})
	} else {
		y = t.MatMul(t.View(x, p.Inputs, n/p.Inputs, shape[len(shape)-1]), p.Each(w), true)
	}
	out := t.Dim(y, -1)
	shape[len(shape)-1] = out
	y = t.View(y, shape...)
	switch {
	case each:
		ids := make([]int32, n)
		for i := range ids {
			ids[i] = int32(i / (n / p.Inputs))
		}
		y = t.Add(y, t.View(t.Gather(p.Each(b), t.Ints(ids, n), 1), shape...))
	case b != 0:
		y = t.Add(y, b)
	}
	if o.Act != op.None {
		y = t.Activate(y, o.Act)
	}
	y = t.Dropout(y, o.Drop)
	if o.Residual != 0 {
		y = t.Add(y, o.Residual)
	}
	return y
}

// Mean returns the mean over the rows of each matrix of x: [..., n, d] becomes
// [..., d].
func (p *Pass) Mean(x grad.Var) grad.Var {
	t := p.Tape
	shape := t.Value(x).Shape
	n, d := shape[len(shape)-2], shape[len(shape)-1]
	batch := t.Value(x).Len() / max(n*d, 1)
	y := t.MatMul(t.Fill(1/float64(n), batch, 1, n), t.View(x, batch, n, d), false)
	return t.View(y, append(append([]int(nil), shape[:len(shape)-2]...), d)...)
}

// Row returns row i of a table [rows, ...], such as that of a task.
func (p *Pass) Row(table grad.Var, i int) grad.Var {
	t := p.Tape
	shape := append([]int(nil), t.Value(table).Shape[1:]...)
	flat := t.View(table, t.Dim(table, 0), tensor.Size(shape))
	return t.View(t.Gather(flat, t.Ints([]int32{int32(i)}, 1), 1), shape...)
}

// Scale returns x times a trained number, [1]. It is meant for weights: a factor
// of what a linear map gives is cheaper as one of its weight and bias.
func (p *Pass) Scale(x, factor grad.Var) grad.Var {
	t := p.Tape
	shape := append([]int(nil), t.Value(x).Shape...)
	return t.View(t.Mul(t.View(x, t.Value(x).Len(), 1), factor), shape...)
}
