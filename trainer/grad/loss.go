package grad

import (
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// lossWords is about how many logits ProjectLoss makes at once, and lossRows the
// fewest rows: each time the whole weight is read.
const (
	lossWords = 1 << 22
	lossRows  = 64
)

// ProjectLoss is CrossEntropy of the logits x W', for a weight [V, n] that is
// frozen. The logits of some rows are made at a time, and their gradient with
// them, so that they are never stored whole; the bits are those of Linear and
// CrossEntropy where the result is a root.
func (t *Tape) ProjectLoss(x, w Var, targets, weight tensor.Tensor, c op.CrossEntropy) Var {
	if t.needs(w) {
		panic("grad: the weight of a projected loss is trained")
	}
	xv, wv := t.matrix(t.Value(x)), t.Value(w)
	rows, n := xv.Shape[0], xv.Shape[1]
	targets, weight = t.flat(targets), t.flat(weight)
	losses, lse := t.alloc(tensor.Float32, rows), t.alloc(tensor.Float32, rows)
	var dx tensor.Tensor
	if t.needs(x) {
		dx = t.alloc(tensor.Float32, rows, n)
	}
	most := max(lossRows, lossWords/max(1, wv.Shape[0]))
	parts := (rows + most - 1) / most
	for i := range parts {
		lo, hi := i*rows/parts, (i+1)*rows/parts
		logits := t.alloc(tensor.Float32, hi-lo, wv.Shape[0])
		t.dev.Gemm(logits, t.rows(xv, lo, hi), wv, op.Gemm{TransB: true})
		t.dev.CrossEntropy(t.rows(losses, lo, hi), t.rows(lse, lo, hi), logits, t.rows(targets, lo, hi), c)
		if !dx.IsZero() {
			t.dev.CrossEntropyBack(logits, t.rows(weight, lo, hi), t.rows(lse, lo, hi), logits, t.rows(targets, lo, hi), c)
			t.dev.Gemm(t.rows(dx, lo, hi), logits, wv, op.Gemm{})
		}
		t.dev.Release(logits)
	}
	t.dev.Mul(losses, losses, weight)
	out := t.alloc(tensor.Float32, 1)
	t.dev.Sum(out, losses)
	t.dev.Release(losses)
	t.dev.Release(lse)
	v, node := t.record(out, backProjectLoss, x)
	node.saved = dx
	return v
}

func backProjectLoss(t *Tape, n *node, dout tensor.Tensor) {
	buf, dx := t.fresh(n.in[0])
	size := dx.Len()
	t.dev.Mul(t.view(dx, size, 1), t.view(n.saved, size, 1), dout)
	t.give(n.in[0], buf)
}

// rows views rows lo to hi of a matrix, or elements of a vector.
func (t *Tape) rows(x tensor.Tensor, lo, hi int) tensor.Tensor {
	if len(x.Shape) == 1 {
		x.Off += lo
		x.Shape = t.shape(hi - lo)
		return x
	}
	x.Off += lo * x.Shape[1]
	x.Shape = t.shape(hi-lo, x.Shape[1])
	return x
}
