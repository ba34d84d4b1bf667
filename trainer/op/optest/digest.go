package optest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"testing"

	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// A Digest names an operation and the bits that it gave.
type Digest struct {
	Name, Sum string
}

// Digests runs every floating-point operation at sizes that cross all tiles,
// and digests the bits of what comes out. The inputs are the same at every
// call, so two devices of one numerics class give equal digests. It resets the
// device's arena.
func Digests(d op.Device) []Digest {
	w := &digester{d: d, r: rand.New(rand.NewPCG(3, 4))}
	w.products()
	w.attention()
	w.norms()
	w.maps()
	w.losses()
	w.projection()
	w.images()
	w.sums()
	w.updates()
	return w.all
}

// Same reports every operation whose digests differ.
func Same(t *testing.T, got, want []Digest) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d digests, want %d", len(got), len(want))
	}
	for i, w := range want {
		if got[i] != w {
			t.Errorf("%s: bits %s, want %s", got[i].Name, got[i].Sum, w.Sum)
		}
	}
}

type digester struct {
	d   op.Device
	r   *rand.Rand
	all []Digest
}

func (w *digester) in(shape ...int) tensor.Tensor {
	x := make([]float32, tensor.Size(shape))
	for i := range x {
		x[i] = float32(w.r.NormFloat64())
	}
	// An odd offset, so that rows are not aligned.
	t := w.d.Alloc(tensor.Float32, len(x)+5).Slice(5, len(x)+5).View(shape...)
	w.d.Write(t, x)
	return t
}

func (w *digester) out(shape ...int) tensor.Tensor {
	t := w.d.Alloc(tensor.Float32, tensor.Size(shape)+3).Slice(3, tensor.Size(shape)+3).View(shape...)
	w.d.Zero(t)
	return t
}

// done digests tensors and ends the step.
func (w *digester) done(name string, ts ...tensor.Tensor) {
	s := sha256.New()
	for _, t := range ts {
		x := make([]float32, t.Len())
		w.d.Read(x, t)
		for _, v := range x {
			s.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
		}
	}
	w.all = append(w.all, Digest{name, hex.EncodeToString(s.Sum(nil)[:8])})
	w.d.Reset()
}

func (w *digester) products() {
	for _, s := range [][3]int{{1, 700, 520}, {3, 65, 33}, {7, 333, 1000}, {8, 40, 16}, {75, 512, 128}, {200, 257, 1100}, {130, 1000, 77}} {
		m, n, k := s[0], s[1], s[2]
		for tr := range 4 {
			ta, tb := tr&1 != 0, tr&2 != 0
			a, b, c, e := w.in(dims(m, k, ta)...), w.in(dims(k, n, tb)...), w.out(m, n), w.in(m, n)
			w.d.Gemm(c, a, b, op.Gemm{TransA: ta, TransB: tb})
			w.d.Gemm(e, a, b, op.Gemm{TransA: ta, TransB: tb, Accumulate: true, Alpha: 0.3})
			p, z := w.d.Pack(b, tb), w.out(m, n)
			w.d.Gemm(z, a, p, op.Gemm{TransA: ta, TransB: tb})
			w.done(named("gemm %v %v %v", s, ta, tb), c, e, z)
			w.d.Free(p)
		}
	}
	for _, s := range [][3]int{{1, 700, 521}, {8, 65, 33}, {75, 512, 1100}, {700, 300, 77}} {
		m, n, k := s[0], s[1], s[2]
		a, b, c, half := w.in(m, k), w.in(k, n), w.out(m, n), w.d.Keep(tensor.BFloat16, k, n)
		w.d.Copy(half, b)
		p := w.d.PackRounding(half, false)
		w.d.Gemm(c, a, p, op.Gemm{Alpha: 0.4, Epilogue: op.Epilogue{Act: op.GELUTanh, Residual: w.in(m, n)}})
		w.done(named("rounding %v", s), c)
		w.d.Free(p)
		w.d.Free(half)
	}
	for _, a := range acts {
		x, y, c, bias, pre := w.in(37, 45), w.in(45, 203), w.out(37, 203), w.in(203), w.out(37, 203)
		w.d.Gemm(c, x, y, op.Gemm{Alpha: 0.4, Epilogue: op.Epilogue{Bias: bias, Act: a, Pre: pre, Residual: w.in(37, 203)}})
		w.done(named("epilogue %d", a), c, pre)
	}
	x, y, c := w.in(6, 50, 64), w.in(6, 64, 70), w.out(6, 50, 70)
	w.d.Gemm(c, x, y, op.Gemm{})
	w.done("gemm batch", c)
}

func (w *digester) attention() {
	for _, s := range [][5]int{{2, 2, 75, 75, 64}, {4, 3, 1, 130, 32}, {2, 1, 40, 49, 40}, {1, 2, 129, 257, 16}, {2, 2, 9, 300, 13}} {
		b, h, tq, tk, dh := s[0], s[1], s[2], s[3], s[4]
		m := make([]float32, b*tk)
		for i := range m {
			m[i] = float32((i + 1) % 5 & 3)
		}
		mask := w.d.Alloc(tensor.Float32, b, tk)
		w.d.Write(mask, m)
		q, k, v, dy := w.in(b, tq, h*dh), w.in(b, tk, h*dh), w.in(b, tk, h*dh), w.in(b, tq, h*dh)
		a := op.Attention{Heads: h, Scale: 0.2, Causal: tq == tk, Mask: mask, Bias: w.in(1, h, tq, tk), Dropout: op.Dropout{P: 0.1, Key: 3}}
		out, lse := w.out(b, tq, h*dh), w.out(b, h, tq)
		w.d.Attend(out, lse, q, k, v, a)
		dq, dk, dv, db := w.out(b, tq, h*dh), w.out(b, tk, h*dh), w.out(b, tk, h*dh), w.out(1, h, tq, tk)
		w.d.AttendBack(dq, dk, dv, db, dy, out, lse, q, k, v, a)
		w.done(named("attend %v", s), out, lse, dq, dk, dv, db)
	}
	for _, s := range [][4]int{{75, 8, 26, 32}, {1, 12, 300, 64}, {3, 2, 9, 40}} {
		b, h, tk, dh := s[0], s[1], s[2], s[3]
		q, k, v, out, again := w.in(b, 1, h*dh), w.in(1, b*tk, h*dh), w.in(1, b*tk, h*dh), w.out(b, 1, h*dh), w.out(b, 1, h*dh)
		ids := make([]int32, b*tk)
		for i := range ids {
			ids[i] = int32(i * 7 % len(ids))
		}
		slots := w.d.Alloc(tensor.Int32, b, tk)
		w.d.WriteInts(slots, ids)
		w.d.Attend(out, none, q, k, v, op.Attention{Heads: h, Scale: 0.2, Slots: slots})
		w.d.Attend(again, none, q, k.View(b, tk, h*dh), v.View(b, tk, h*dh), op.Attention{Heads: h, Scale: 0.2})
		w.done(named("attend slots %v", s), out, again)
	}
}

func (w *digester) norms() {
	for _, kind := range []op.NormKind{op.LayerNorm, op.StdNorm, op.RMSNorm} {
		for _, c := range []int{7, 64, 513, 768} {
			n := op.Norm{Kind: kind, Eps: 1e-6}
			x, gain, shift, dy := w.in(70, c), w.in(c), w.in(c), w.in(70, c)
			y, stats, dx, dg, ds := w.out(70, c), w.out(70, 2), w.out(70, c), w.in(c), w.in(c)
			w.d.Norm(y, stats, x, gain, shift, n)
			w.d.NormBack(dx, dg, ds, dy, x, gain, stats, n)
			w.done(named("norm %d of %d", kind, c), y, stats, dx, dg, ds)
		}
	}
	for _, c := range []int{5, 33, 1000} {
		x, y, z := w.in(21, c), w.out(21, c), w.out(21, c)
		w.d.Softmax(y, x)
		w.d.LogSoftmax(z, x)
		w.done(named("softmax of %d", c), y, z)
	}
}

func (w *digester) maps() {
	const n = 9001
	for _, a := range acts {
		x, y, dy, dx := w.in(n), w.out(n), w.in(n), w.out(n)
		w.d.Scale(x, x, 3)
		w.d.Activate(y, x, a)
		w.d.ActivateBack(dx, dy, x, a)
		w.done(named("activate %d", a), y, dx)
	}
	x, y, z := w.in(3, n), w.in(n), w.out(3, n)
	w.d.Add(z, x, y)
	w.d.Mul(z, z, y)
	w.d.Axpy(z, x, 0.3)
	w.d.Scale(z, z, 1.7)
	w.done("elementwise", z)
	x, z, dx := w.in(n), w.out(n), w.out(n)
	w.d.LogFloor(z, x, 1e-6)
	w.d.LogFloorBack(dx, y, x, 1e-6)
	w.done("log floor", z, dx)
	x, z = w.in(n), w.out(n)
	w.d.Drop(z, x, op.Dropout{P: 0.4, Key: 9})
	w.done("drop", z)
	ids := w.d.Alloc(tensor.Int32, 6)
	w.d.WriteInts(ids, []int32{3, 1, 1, -1, 0, 3})
	t, e, dt := w.in(4, 333), w.out(6, 333), w.in(4, 333)
	w.d.Gather(e, t, ids, 1.3)
	w.d.ScatterAdd(dt, e, ids, 0.7)
	w.done("embed", e, dt)
}

func (w *digester) losses() {
	for _, v := range []int{2, 65, 1003, 9000} {
		for _, s := range []float32{0, 0.1} {
			x, loss, lse, dx, weight, ids := w.in(9, v), w.out(9), w.out(9), w.out(9, v), w.in(9), w.d.Alloc(tensor.Int32, 9)
			w.d.WriteInts(ids, []int32{0, 1, -1, int32(v - 1), int32(v / 2), 0, 1, 1, 0})
			w.d.CrossEntropy(loss, lse, x, ids, op.CrossEntropy{Smoothing: s})
			w.d.CrossEntropyBack(dx, weight, lse, x, ids, op.CrossEntropy{Smoothing: s})
			w.done(named("cross-entropy of %d, smoothing %g", v, s), loss, lse, dx)
		}
	}
}

func (w *digester) projection() {
	const rows, n, v = 530, 33, 2500
	x, f, bias, loss, lse, ids := w.in(rows, n), w.in(n, v), w.in(v), w.out(rows), w.out(rows), w.d.Alloc(tensor.Int32, rows)
	targets := make([]int32, rows)
	for i := range targets {
		targets[i] = int32(i*37%(v+1)) - 1
	}
	w.d.WriteInts(ids, targets)
	p, c := op.Projection{W: f, Bias: bias}, op.CrossEntropy{Smoothing: 0.1}
	dx, dw, dbias := w.out(rows, n), w.out(n, v), w.out(v)
	w.d.ProjectLoss(loss, lse, x, p, ids, c)
	w.d.ProjectLossBack(dx, dw, dbias, loss, lse, x, p, ids, c)
	w.done("projected loss", loss, lse, dx, dw, dbias)
}

func (w *digester) images() {
	for _, s := range [][5]int{{14, 64, 1, 1, 0}, {14, 33, 3, 1, 1}, {15, 16, 3, 2, 1}, {17, 3, 3, 2, 1}} {
		o := (s[0]+2*s[4]-s[2])/s[3] + 1
		x, f, bias, y, pool := w.in(3, s[0], s[0], s[1]), w.in(s[2], s[2], s[1], 70), w.in(70), w.out(3, o, o, 70), w.out(3, o/2, o/2, 70)
		w.d.Conv(y, x, f, op.Conv{Stride: s[3], Pad: s[4], Epilogue: op.Epilogue{Bias: bias, Act: op.ReLU}})
		w.d.AvgPool(pool, y, 2)
		w.done(named("conv %v", s), y, pool)
	}
}

func (w *digester) sums() {
	for _, n := range []int{5, 77, 4097, 100003} {
		x, a, b := w.in(n), w.out(1), w.out(1)
		w.d.Sum(a, x)
		w.d.SumSquares(b, x)
		w.done(named("sums of %d", n), a, b)
	}
	x, s := w.in(301, 137), w.in(137)
	w.d.SumRows(s, x)
	w.done("sum of rows", s)
}
