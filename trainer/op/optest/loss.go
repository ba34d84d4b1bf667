package optest

import (
	"math"

	"espalier/trainer/op"
)

// crossEntropy is the reference: the loss of each row.
func crossEntropy(x []float64, targets []int32, v int, smooth float64) (loss, lse []float64) {
	loss, lse = make([]float64, len(targets)), make([]float64, len(targets))
	for r, t := range targets {
		row := x[r*v:][:v]
		top, sum := math.Inf(-1), 0.0
		for _, y := range row {
			top = math.Max(top, y)
		}
		for _, y := range row {
			sum += math.Exp(y - top)
		}
		lse[r] = top + math.Log(sum)
		if t < 0 {
			continue
		}
		for j, y := range row {
			share := smooth / float64(v-1)
			if int32(j) == t {
				share = 1 - smooth
			}
			if share > 0 {
				loss[r] += share * (math.Log(share) - (y - lse[r]))
			}
		}
	}
	return loss, lse
}

func testCrossEntropy(h *harness) {
	for _, v := range append([]int{1000}, lengths[2:]...) {
		for _, smooth := range []float32{0, 0.1} {
			targets := []int32{int32(v - 1), -1, 0, int32(v / 2), int32(v / 3)}
			rows := len(targets)
			x, w, ids := h.in(rows, v), h.in(rows), h.ids(targets, rows)
			loss, lse, dx := h.out(rows), h.out(rows), h.out(rows, v)
			c := op.CrossEntropy{Smoothing: smooth}
			name := named("classes=%d smoothing=%g", v, smooth)
			want, wantLSE := crossEntropy(x.x, targets, v, float64(smooth))
			h.d.CrossEntropy(loss, lse, x.t, ids, c)
			h.near(name, loss, want, 2e-6)
			h.near(name+" lse", lse, wantLSE, 1e-6)
			h.d.CrossEntropyBack(dx, w.t, lse, x.t, ids, c)
			if v <= 130 {
				h.near(name+" back", dx, slope(func() []float64 {
					loss, _ := crossEntropy(x.x, targets, v, float64(smooth))
					return loss
				}, x.x, w.x), 1e-6)
			}
			h.done(name)
			x = h.in(rows, v)
			h.mutable()
			w = h.in(rows)
			ids = h.ids(targets, rows)
			loss, lse, dx = h.out(rows), h.out(rows), h.out(rows, v)
			h.d.CrossEntropy(loss, lse, x.t, ids, c)
			h.d.CrossEntropyBack(dx, w.t, lse, x.t, ids, c)
			h.d.CrossEntropyBack(x.t, w.t, lse, x.t, ids, c)
			h.same(name+" in place", h.read(x.t), h.read(dx))
			h.done(name)
		}
	}
}

func testCrossEntropySpecials(h *harness) {
	inf := float32(math.Inf(1))
	x := h.given([]float32{1000, 0, -1000, -inf, 2, 2, 2, 2, -1e4, -1e4, -inf, -inf}, 3, 4)
	ids := h.ids([]int32{0, 3, 1}, 3)
	loss, lse, dx, w := h.out(3), h.out(3), h.out(3, 4), h.given([]float32{1, 1, 0}, 3)
	h.d.CrossEntropy(loss, lse, x.t, ids, op.CrossEntropy{})
	h.near("loss", loss, []float64{0, math.Log(4), math.Log(2)}, 1e-4)
	h.d.CrossEntropyBack(dx, w.t, lse, x.t, ids, op.CrossEntropy{})
	h.near("dlogits", dx, []float64{0, 0, 0, 0, .25, .25, .25, -.75, 0, 0, 0, 0}, 1e-6)
	h.done("specials")
	empty, one := h.out(0, 4), h.out(0)
	h.d.CrossEntropy(one, one, empty, h.ids(nil, 0), op.CrossEntropy{})
	h.done("empty")
}

// testProjectLoss holds the fused projection to the product and loss apart.
func testProjectLoss(h *harness) {
	for _, s := range [][3]int{{5, 7, 11}, {33, 40, 100}, {3, 16, 5000}, {600, 9, 70}, {0, 3, 4}, {4, 0, 5}} {
		rows, n, v := s[0], s[1], s[2]
		for bits := range 8 {
			c := op.CrossEntropy{Smoothing: float32(bits&1) * 0.1}
			p := op.Projection{Trans: bits&2 != 0}
			targets := make([]int32, rows)
			for i := range targets {
				targets[i] = int32(h.r.IntN(v+1)) - 1
			}
			x, w, bias, weight, ids := h.in(rows, n), h.in(dims(n, v, p.Trans)...), h.in(v), h.in(rows), h.ids(targets, rows)
			p.W = w.t
			product := op.Gemm{TransB: p.Trans}
			if bits&4 != 0 {
				p.Bias, product.Bias = bias.t, bias.t
			}
			name := named("rows=%d n=%d classes=%d bits=%03b", rows, n, v, bits)
			logits := h.out(rows, v)
			h.d.Gemm(logits, x.t, w.t, product)
			want, wantLSE, loss, lse := h.out(rows), h.out(rows), h.out(rows), h.out(rows)
			h.d.CrossEntropy(want, wantLSE, logits, ids, c)
			h.d.ProjectLoss(loss, lse, x.t, p, ids, c)
			h.near(name, loss, widen(h.read(want)), 1e-5)
			h.near(name+" lse", lse, widen(h.read(wantLSE)), 1e-6)

			h.d.CrossEntropyBack(logits, weight.t, wantLSE, logits, ids, c)
			dx, wantDX := h.out(rows, n), h.out(rows, n)
			dw, dw0 := h.sum(w.shape...)
			dbias, dbias0 := h.sum(v)
			h.d.ProjectLossBack(dx, dw, dbias, weight.t, lse, x.t, p, ids, c)
			h.d.Gemm(wantDX, logits, w.t, op.Gemm{TransB: !p.Trans})
			h.near(name+" dx", dx, widen(h.read(wantDX)), 2e-5)
			wantDW, wantDB := h.given(narrow(dw0), w.shape...), h.given(narrow(dbias0), v)
			h.mutable()
			h.placed[len(h.placed)-2].input = nil
			if p.Trans {
				h.d.Gemm(wantDW.t, logits, x.t, op.Gemm{TransA: true, Accumulate: true})
			} else {
				h.d.Gemm(wantDW.t, x.t, logits, op.Gemm{TransA: true, Accumulate: true})
			}
			h.d.SumRows(wantDB.t, logits)
			h.near(name+" dw", dw, widen(h.read(wantDW.t)), 2e-5)
			h.near(name+" dbias", dbias, widen(h.read(wantDB.t)), 2e-5)
			h.d.ProjectLossBack(none, none, none, weight.t, lse, x.t, p, ids, c)
			h.done(name)
		}
	}
}

func narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}
