package optest

import (
	"math"

	"espalier/trainer/op"
)

// normalise is the reference.
func normalise(x, gain, shift []float64, c int, n op.Norm) []float64 {
	y := make([]float64, len(x))
	for r := 0; r < len(x); r += c {
		var mean, sum float64
		for _, v := range x[r : r+c] {
			mean += v / float64(c)
		}
		if n.Kind == op.RMSNorm {
			mean = 0
		}
		for _, v := range x[r : r+c] {
			sum += (v - mean) * (v - mean)
		}
		div := math.Sqrt(sum/float64(c) + float64(n.Eps))
		if n.Kind == op.StdNorm {
			div = math.Sqrt(sum/float64(c-1)) + float64(n.Eps)
		}
		for i, v := range x[r : r+c] {
			y[r+i] = gain[i] * (v - mean) / div
			if shift != nil {
				y[r+i] += shift[i]
			}
		}
	}
	return y
}

func testNorm(h *harness) {
	for _, kind := range []op.NormKind{op.LayerNorm, op.StdNorm, op.RMSNorm} {
		for _, c := range lengths {
			if c == 0 || (c == 1 && kind == op.StdNorm) {
				continue
			}
			for _, rows := range []int{0, 1, 3} {
				n := op.Norm{Kind: kind, Eps: 1e-2}
				x, gain, shift, dy := h.in(rows, c), h.in(c), h.in(c), h.in(rows, c)
				name := named("kind=%d rows=%d n=%d", kind, rows, c)
				y, stats := h.out(rows, c), h.out(rows, 2)
				h.d.Norm(y, stats, x.t, gain.t, shift.t, n)
				h.near(name, y, normalise(x.x, gain.x, shift.x, c, n), 1e-5)
				bare := h.out(rows, c)
				h.d.Norm(bare, none, x.t, gain.t, none, n)
				h.near(name+" bare", bare, normalise(x.x, gain.x, nil, c, n), 1e-5)

				f := func() []float64 { return normalise(x.x, gain.x, shift.x, c, n) }
				dx := h.out(rows, c)
				dgain, gain0 := h.sum(c)
				dshift, shift0 := h.sum(c)
				h.d.NormBack(dx, dgain, dshift, dy.t, x.t, gain.t, stats, n)
				h.near(name+" dgain", dgain, add(gain0, slope(f, gain.x, dy.x)), 3e-5)
				h.near(name+" dshift", dshift, add(shift0, slope(f, shift.x, dy.x)), 3e-5)
				h.d.NormBack(none, none, none, dy.t, x.t, gain.t, stats, n)
				if c <= 65 {
					h.near(name+" dx", dx, slope(f, x.x, dy.x), 1e-4)
				}
				h.done(name)
			}
		}
		// Many rows, a large mean, and the gradient in place of dy.
		const rows, c = 70, 512
		n := op.Norm{Kind: kind, Eps: 1e-6}
		x, gain, shift, dy := h.in(rows, c), h.in(c), h.in(c), h.in(rows, c)
		h.mutable()
		y, stats := h.out(rows, c), h.out(rows, 2)
		h.d.Norm(y, stats, x.t, gain.t, shift.t, n)
		h.near("large", y, normalise(x.x, gain.x, shift.x, c, n), 1e-5)
		dx := h.out(rows, c)
		h.d.NormBack(dx, none, none, dy.t, x.t, gain.t, stats, n)
		h.d.NormBack(dy.t, none, none, dy.t, x.t, gain.t, stats, n)
		h.same("dx in place", h.read(dy.t), h.read(dx))
		h.done("large")
	}
}

// testNormORT checks the layer norm of ORT on numbers from its reference code,
// and a constant row.
func testNormORT(h *harness) {
	ones := h.given([]float32{1, 1, 1, 1}, 4)
	x := h.given([]float32{1, 2, 3, 4, 5, 5, 5, 5}, 2, 4)
	n := op.Norm{Kind: op.StdNorm, Eps: 1e-6}
	y, stats, dx := h.out(2, 4), h.out(2, 2), h.out(2, 4)
	h.d.Norm(y, stats, x.t, ones.t, none, n)
	h.near("StdNorm", y, []float64{-1.161894, -0.387298, 0.387298, 1.161894, 0, 0, 0, 0}, 1e-6)
	dy := h.given([]float32{1, 0, 0, 0, 1, 0, 0, -1}, 2, 4)
	h.d.NormBack(dx, none, none, dy.t, x.t, ones.t, stats, n)
	got := h.read(dx)
	if !within(float64(got[4]), 1e6, 1e-5) || !within(float64(got[7]), -1e6, 1e-5) || got[5] != 0 {
		h.Errorf("gradient of a constant row: %v", got[4:])
	}
	h.done("ORT")
}

func testSoftmax(h *harness) {
	for _, c := range append([]int{1000, 5001}, lengths[1:]...) {
		x, y, z := h.in(3, c), h.out(3, c), h.out(3, c)
		want, wantLog := make([]float64, 3*c), make([]float64, 3*c)
		for r := 0; r < 3*c; r += c {
			var sum float64
			for _, v := range x.x[r : r+c] {
				sum += math.Exp(v)
			}
			for i, v := range x.x[r : r+c] {
				want[r+i], wantLog[r+i] = math.Exp(v)/sum, v-math.Log(sum)
			}
		}
		h.d.Softmax(y, x.t)
		h.d.LogSoftmax(z, x.t)
		h.near(named("softmax n=%d", c), y, want, 1e-6)
		h.near(named("log softmax n=%d", c), z, wantLog, 1e-6)
		h.done("softmax")
	}
	inf := float32(math.Inf(1))
	x := h.given([]float32{500, 499, -inf, -1e9, 0, 0, 0, 0, -300, -300, -300, -inf}, 3, 4)
	h.mutable()
	e := 1 / (1 + math.Exp(-1))
	h.d.Softmax(x.t, x.t)
	h.near("extreme rows, in place", x.t, []float64{e, 1 - e, 0, 0, .25, .25, .25, .25, 1. / 3, 1. / 3, 1. / 3, 0}, 1e-6)
	h.done("extreme")
	empty := h.out(0, 5)
	h.d.Softmax(empty, empty)
	h.done("empty")
}
