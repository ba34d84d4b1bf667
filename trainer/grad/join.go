package grad

import (
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// Join returns the parts side by side along an axis, four at most; their other
// axes agree.
func (t *Tape) Join(axis int, parts ...Var) Var {
	if len(parts) == 0 || len(parts) > len(node{}.in) {
		panic("grad: one to four parts are joined")
	}
	if len(parts) == 1 {
		return parts[0]
	}
	dims := t.shape(t.Value(parts[0]).Shape...)
	dims[axis] = 0
	for _, p := range parts {
		dims[axis] += t.Value(p).Shape[axis]
	}
	out := t.dev.Alloc(tensor.Float32, dims...)
	at := 0
	for _, p := range parts {
		x := t.Value(p)
		t.dev.Paste(out, x, axis, at)
		at += x.Shape[axis]
	}
	v, n := t.record(out, backJoin, parts...)
	n.axes[0] = axis
	return v
}

func backJoin(t *Tape, n *node, dout tensor.Tensor) {
	at := 0
	for _, p := range n.in {
		if p == 0 {
			break
		}
		if t.needs(p) {
			buf, dx := t.fresh(p)
			t.dev.Cut(dx, dout, n.axes[0], at)
			t.give(p, buf)
		}
		at += t.Dim(p, n.axes[0])
	}
}

// Cut returns entries lo to hi of an axis of x.
func (t *Tape) Cut(x Var, axis, lo, hi int) Var {
	dims := t.shape(t.Value(x).Shape...)
	if lo < 0 || hi < lo || hi > dims[axis] {
		panic("grad: cut lies outside")
	}
	dims[axis] = hi - lo
	out := t.dev.Alloc(tensor.Float32, dims...)
	t.dev.Cut(out, t.Value(x), axis, lo)
	v, n := t.record(out, backCut, x)
	n.axes[0], n.axes[1] = axis, lo
	return v
}

// backCut adds to its part of the whole gradient, which all cuts of x share.
func backCut(t *Tape, n *node, dout tensor.Tensor) {
	t.dev.PasteAdd(t.sum(n.in[0]), dout, n.axes[0], n.axes[1])
}

// MatMul returns the product of each matrix of a with that of b at the same
// place, transposed if transB: [..., m, k] times [..., k, n] or, transposed,
// [..., n, k].
func (t *Tape) MatMul(a, b Var, transB bool) Var {
	av, bv := t.Value(a), t.Value(b)
	if len(av.Shape) != len(bv.Shape) {
		panic("grad: factors have different axes")
	}
	dims := t.shape(av.Shape...)
	dims[len(dims)-1] = bv.Dim(-1)
	if transB {
		dims[len(dims)-1] = bv.Dim(-2)
	}
	out := t.dev.Alloc(tensor.Float32, dims...)
	t.dev.Gemm(out, av, bv, op.Gemm{TransB: transB})
	v, n := t.record(out, backMatMul, a, b)
	if transB {
		n.axes[0] = 1
	}
	of := [2]Var{}
	if t.needs(b) {
		of[0] = a
	}
	if t.needs(a) {
		of[1] = b
	}
	t.keep(v, of[:]...)
	return v
}

func backMatMul(t *Tape, n *node, dout tensor.Tensor) {
	a, b, transB := n.in[0], n.in[1], n.axes[0] == 1
	if buf, da := t.fresh(a); buf != 0 {
		t.dev.Gemm(da, dout, t.Value(b), op.Gemm{TransB: !transB})
		t.give(a, buf)
	}
	if buf, db := t.fresh(b); buf != 0 {
		if transB {
			t.dev.Gemm(db, dout, t.Value(a), op.Gemm{TransA: true})
		} else {
			t.dev.Gemm(db, t.Value(a), dout, op.Gemm{TransA: true})
		}
		t.give(b, buf)
	}
}

// Repeat returns n copies of x along a new first axis.
func (t *Tape) Repeat(x Var, n int) Var {
	xv := t.Value(x)
	at := len(t.shapes)
	t.shapes = append(append(t.shapes, n), xv.Shape...)
	dims := t.shapes[at:]
	return t.View(t.Gather(t.View(x, 1, xv.Len()), t.Ints(make([]int32, n), n), 1), dims...)
}
