package grad

import (
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// An Out says what becomes of a matrix product: drop(act(x)) + residual.
type Out struct {
	Act      op.Act
	Drop     op.Dropout
	Residual Var // shape of the result, optional
	// Back is the weight as the gradient of x reads it, where that is not the
	// weight itself: one that is frozen, packed for products that round.
	Back tensor.Tensor
	// To, if not zero, is memory for the result, of as many elements; it stays
	// the caller's. Nothing may be recorded.
	To tensor.Tensor
}

// Linear returns x times the transpose of w [out, in], plus bias b [out] if it
// is not zero. x is [..., in], the result [..., out].
func (t *Tape) Linear(x, w, b Var, o Out) Var {
	xv, wv := t.Value(x), t.Value(w)
	var y tensor.Tensor
	if o.To.IsZero() {
		y = t.alloc(tensor.Float32, xv.Rows(), wv.Shape[0])
	} else {
		if t.Recording() {
			panic("grad: a result in the caller's memory is not recorded")
		}
		y = t.view(o.To, xv.Rows(), wv.Shape[0])
	}
	e := op.Epilogue{Bias: t.Value(b), Act: o.Act, Drop: o.Drop}
	if o.Residual != 0 {
		e.Residual = t.matrix(t.Value(o.Residual))
	}
	if o.Act != op.None && (o.Act != op.ReLU || o.Residual != 0) && t.wanted(x, w, b) {
		e.Pre = t.like(y)
	}
	t.dev.Gemm(y, t.matrix(xv), wv, op.Gemm{TransB: true, Epilogue: e})
	shape := t.shape(xv.Shape...)
	shape[len(shape)-1] = wv.Shape[0]
	y.Shape = shape
	if !o.To.IsZero() {
		return t.Leaf(y, tensor.Tensor{})
	}
	v, n := t.record(y, backLinear, x, w, b, o.Residual)
	n.act, n.drop, n.saved, n.given = o.Act, o.Drop, e.Pre, o.Back
	of := [3]Var{}
	if t.needs(w) {
		of[0] = x
	}
	if t.needs(x) {
		of[1] = w
	}
	if o.Act == op.ReLU && e.Pre.IsZero() && t.wanted(x, w, b) {
		of[2] = v
	}
	t.keep(v, of[:]...)
	return v
}

func backLinear(t *Tape, n *node, dout tensor.Tensor) {
	x, w, b, residual := n.in[0], n.in[1], n.in[2], n.in[3]
	if residual != 0 {
		t.pass(residual, n)
	}
	if !t.needs(x) && !t.needs(w) && !(b != 0 && t.needs(b)) {
		return
	}
	var held int32
	d := dout
	if n.act != op.None || n.drop.P > 0 {
		seen := n.saved // what act saw, or its signs
		if seen.IsZero() && n.act == op.ReLU {
			seen = n.out // positive just where it was neither cut nor dropped
		} else if !seen.IsZero() && seen.DType == tensor.Float32 {
			seen = t.view(seen, n.out.Shape...)
		}
		held, d = t.own(n)
		t.dev.FinishBack(d, dout, seen, n.act, n.drop)
	}
	d = t.matrix(d)
	if dw := t.sum(w); !dw.IsZero() {
		t.dev.Gemm(dw, d, t.matrix(t.Value(x)), op.Gemm{TransA: true, Accumulate: true})
	}
	if db := t.sum(b); !db.IsZero() {
		t.dev.SumRows(db, d)
	}
	if t.needs(x) {
		back := n.given
		if back.IsZero() {
			back = t.Value(w)
		}
		t.addProduct(x, d, back)
	}
	if held != 0 {
		t.release(held)
	}
}

// addProduct adds the product of two matrices to the gradient of x.
func (t *Tape) addProduct(x Var, a, b tensor.Tensor) {
	n := &t.nodes[x]
	if n.grad != 0 && t.bufs[n.grad].holds == 1 {
		t.dev.Gemm(t.matrix(t.gradient(n)), a, b, op.Gemm{Accumulate: true})
		return
	}
	buf, dx := t.fresh(x)
	t.dev.Gemm(t.matrix(dx), a, b, op.Gemm{})
	t.give(x, buf)
}

// Norm returns gain*norm(x) + shift over the last axis; shift may be zero.
func (t *Tape) Norm(x, gain, shift Var, k op.Norm) Var {
	xv := t.Value(x)
	y := t.like(xv)
	var stats tensor.Tensor
	if t.wanted(x, gain, shift) {
		stats = t.alloc(tensor.Float32, xv.Rows(), 2)
	}
	t.dev.Norm(y, stats, xv, t.Value(gain), t.Value(shift), k)
	v, n := t.record(y, backNorm, x, gain, shift)
	n.norm, n.saved, n.redo = k, stats, redoNorm
	t.keep(v, x, gain, shift)
	return v
}

func redoNorm(t *Tape, n *node) {
	t.dev.Norm(n.out, tensor.Tensor{}, t.Value(n.in[0]), t.Value(n.in[1]), t.Value(n.in[2]), n.norm)
}

func backNorm(t *Tape, n *node, dout tensor.Tensor) {
	x, gain, shift := n.in[0], n.in[1], n.in[2]
	if r := &t.nodes[x]; r.needs && r.grad != 0 && t.bufs[r.grad].holds == 1 {
		k := n.norm
		k.Add = true
		t.dev.NormBack(t.gradient(r), t.sum(gain), t.sum(shift), dout, r.out, t.Value(gain), n.saved, k)
		return
	}
	buf, dx := t.fresh(x)
	t.dev.NormBack(dx, t.sum(gain), t.sum(shift), dout, t.Value(x), t.Value(gain), n.saved, n.norm)
	t.give(x, buf)
}

// Attention returns attention as [op.Attend] defines it; bias, if not zero,
// takes the place of a.Bias.
func (t *Tape) Attention(q, k, v, bias Var, a op.Attention) Var {
	qv := t.Value(q)
	out := t.like(qv)
	var lse tensor.Tensor
	if t.wanted(q, k, v, bias) {
		lse = t.alloc(tensor.Float32, qv.Shape[0], a.Heads, qv.Shape[1])
	}
	a.Bias = t.Value(bias)
	t.dev.Attend(out, lse, qv, t.Value(k), t.Value(v), a)
	y, n := t.record(out, backAttention, q, k, v, bias)
	n.att, n.saved, n.redo = a, lse, redoAttention
	t.keep(y, q, k, v, bias, y)
	return y
}

func redoAttention(t *Tape, n *node) {
	n.att.Bias = t.Value(n.in[3])
	t.dev.Attend(n.out, tensor.Tensor{}, t.Value(n.in[0]), t.Value(n.in[1]), t.Value(n.in[2]), n.att)
}

func backAttention(t *Tape, n *node, dout tensor.Tensor) {
	q, k, v, bias := n.in[0], n.in[1], n.in[2], n.in[3]
	bq, dq := t.any(q)
	bk, dk := t.any(k)
	bv, dv := t.any(v)
	n.att.Bias = t.Value(bias)
	t.dev.AttendBack(dq, dk, dv, t.sum(bias), dout, n.out, n.saved, t.Value(q), t.Value(k), t.Value(v), n.att)
	t.give(q, bq)
	t.give(k, bk)
	t.give(v, bv)
}

// Add returns x + y; y has x's shape or a suffix of it.
func (t *Tape) Add(x, y Var) Var {
	out := t.like(t.Value(x))
	t.dev.Add(out, t.Value(x), t.Value(y))
	v, _ := t.record(out, backAdd, x, y)
	return v
}

func backAdd(t *Tape, n *node, dout tensor.Tensor) {
	x, y := n.in[0], n.in[1]
	if size := t.size(y); size == dout.Len() {
		t.pass(y, n)
	} else if dy := t.sum(y); !dy.IsZero() {
		t.dev.SumRows(t.flat(dy), t.view(dout, dout.Len()/size, size))
	}
	t.pass(x, n)
}

// Mul returns the elementwise product; y has x's shape or a suffix of it.
func (t *Tape) Mul(x, y Var) Var {
	out := t.like(t.Value(x))
	t.dev.Mul(out, t.Value(x), t.Value(y))
	v, _ := t.record(out, backMul, x, y)
	of := [2]Var{}
	if t.needs(y) {
		of[0] = x
	}
	if t.needs(x) {
		of[1] = y
	}
	t.keep(v, of[:]...)
	return v
}

func backMul(t *Tape, n *node, dout tensor.Tensor) {
	x, y := n.in[0], n.in[1]
	if t.needs(y) {
		buf := t.buffer(dout.Len())
		prod := t.as(buf, n.out)
		t.dev.Mul(prod, dout, t.Value(x))
		if size := t.size(y); size == dout.Len() {
			t.give(y, buf)
		} else {
			t.dev.SumRows(t.flat(t.sum(y)), t.view(prod, dout.Len()/size, size))
			t.release(buf)
		}
	}
	if t.needs(x) {
		buf, dx := t.own(n)
		t.dev.Mul(dx, dout, t.Value(y))
		t.give(x, buf)
	}
}

// Scale returns alpha*x.
func (t *Tape) Scale(x Var, alpha float64) Var {
	out := t.like(t.Value(x))
	t.dev.Scale(out, t.Value(x), alpha)
	v, n := t.record(out, backScale, x)
	n.alpha = alpha
	return v
}

func backScale(t *Tape, n *node, dout tensor.Tensor) {
	buf, dx := t.own(n)
	t.dev.Scale(dx, dout, n.alpha)
	t.give(n.in[0], buf)
}

// Activate returns act(x).
func (t *Tape) Activate(x Var, a op.Act) Var {
	out := t.like(t.Value(x))
	t.dev.Activate(out, t.Value(x), a)
	v, n := t.record(out, backActivate, x)
	n.act = a
	t.keep(v, x)
	return v
}

func backActivate(t *Tape, n *node, dout tensor.Tensor) {
	buf, dx := t.own(n)
	t.dev.ActivateBack(dx, dout, t.Value(n.in[0]), n.act)
	t.give(n.in[0], buf)
}

// LogFloor returns log(max(x, floor)).
func (t *Tape) LogFloor(x Var, floor float32) Var {
	out := t.like(t.Value(x))
	t.dev.LogFloor(out, t.Value(x), floor)
	v, n := t.record(out, backLogFloor, x)
	n.alpha = float64(floor)
	t.keep(v, x)
	return v
}

func backLogFloor(t *Tape, n *node, dout tensor.Tensor) {
	buf, dx := t.own(n)
	t.dev.LogFloorBack(dx, dout, t.Value(n.in[0]), float32(n.alpha))
	t.give(n.in[0], buf)
}

// Dropout returns x with elements dropped.
func (t *Tape) Dropout(x Var, d op.Dropout) Var {
	if d.P == 0 {
		return x
	}
	out := t.like(t.Value(x))
	t.dev.Drop(out, t.Value(x), d)
	v, n := t.record(out, backDropout, x)
	n.drop = d
	return v
}

func backDropout(t *Tape, n *node, dout tensor.Tensor) {
	buf, dx := t.own(n)
	t.dev.Drop(dx, dout, n.drop)
	t.give(n.in[0], buf)
}

// View returns x under another shape.
func (t *Tape) View(x Var, shape ...int) Var {
	v, n := t.record(t.view(t.Value(x), shape...), backView, x)
	n.alias, t.nodes[x].alias = true, true
	n.arena, n.base = false, t.root(x)
	return v
}

func backView(t *Tape, n *node, dout tensor.Tensor) { t.pass(n.in[0], n) }

// Permute reorders the axes of x, four at most: axis i of the result is axis
// axes[i] of x.
func (t *Tape) Permute(x Var, axes ...int) Var {
	xv := t.Value(x)
	if len(axes) > len(node{}.axes) {
		panic("grad: too many axes")
	}
	dims, order := t.shape(axes...), t.shape(axes...)
	for i, a := range axes {
		dims[i] = xv.Shape[a]
	}
	out := t.dev.Alloc(tensor.Float32, dims...)
	t.dev.Permute(out, xv, order)
	v, n := t.record(out, backPermute, x)
	copy(n.axes[:], axes)
	return v
}

func backPermute(t *Tape, n *node, dout tensor.Tensor) {
	inverse := t.shape(n.axes[:len(dout.Shape)]...)
	for i, a := range n.axes[:len(inverse)] {
		inverse[a] = i
	}
	buf, dx := t.fresh(n.in[0])
	t.dev.Permute(dx, dout, inverse)
	t.give(n.in[0], buf)
}

// Gather returns scale times the rows of x, its last axis, that ids name: ids
// is int32 of any shape, a negative id gives zeros. The result has ids' axes
// and one of the length of a row.
func (t *Tape) Gather(x Var, ids tensor.Tensor, scale float32) Var {
	xv := t.matrix(t.Value(x))
	at := len(t.shapes)
	t.shapes = append(append(t.shapes, ids.Shape...), xv.Shape[1])
	out := t.dev.Alloc(tensor.Float32, t.shapes[at:]...)
	t.dev.Gather(out, xv, ids, scale)
	v, n := t.record(out, backGather, x)
	n.ids, n.alpha = ids, float64(scale)
	return v
}

func backGather(t *Tape, n *node, dout tensor.Tensor) {
	t.dev.ScatterAdd(t.matrix(t.sum(n.in[0])), dout, n.ids, float32(n.alpha))
}

// CrossEntropy returns the sum over rows of weight times loss, as [op.Loss]
// defines it: one element. targets is int32, one for each row of logits;
// weight is float32 of as many elements.
func (t *Tape) CrossEntropy(logits Var, targets, weight tensor.Tensor, c op.CrossEntropy) Var {
	x := t.matrix(t.Value(logits))
	rows := x.Shape[0]
	losses, lse := t.alloc(tensor.Float32, rows), t.alloc(tensor.Float32, rows)
	t.dev.CrossEntropy(losses, lse, x, targets, c)
	t.dev.Mul(losses, losses, t.flat(weight))
	out := t.alloc(tensor.Float32, 1)
	t.dev.Sum(out, losses)
	v, n := t.record(out, backCrossEntropy, logits)
	n.loss, n.ids, n.saved, n.given = c, targets, lse, weight
	t.dev.Release(losses)
	t.keep(v, logits)
	return v
}

func backCrossEntropy(t *Tape, n *node, dout tensor.Tensor) {
	logits := n.in[0]
	x := t.matrix(t.Value(logits))
	rows := x.Shape[0]
	weight := t.buffer(rows)
	w := t.view(t.bufs[weight].mem, rows, 1)
	t.dev.Mul(w, t.view(n.given, rows, 1), dout)
	l := &t.nodes[logits]
	if l.uses == 1 && l.waits == 1 && !l.alias && l.arena && l.back != nil { // nobody needs the logits any more
		l.gone = true
		t.dev.CrossEntropyBack(x, t.flat(w), n.saved, x, n.ids, n.loss)
		t.give(logits, t.hold(t.flat(x)))
	} else {
		buf, dx := t.fresh(logits)
		t.dev.CrossEntropyBack(t.matrix(dx), t.flat(w), n.saved, x, n.ids, n.loss)
		t.give(logits, buf)
	}
	t.release(weight)
}
