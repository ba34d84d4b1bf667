package optest

import "espalier/trainer/op"

// dropped is dropout in float64.
func dropped(x []float64, d op.Dropout) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		if d.Kept(uint64(i)) {
			y[i] = v / (1 - float64(d.P))
		}
	}
	return y
}

// testGemmDrop checks dropout between the activation and the residual of a
// product.
func testGemmDrop(h *harness) {
	for _, s := range [][3]int{{5, 33, 9}, {1, 50, 40}, {40, 64, 20}, {150, 530, 7}} {
		m, n, k := s[0], s[1], s[2]
		for _, a := range []op.Act{op.None, op.ReLU, op.GELUErf} {
			for bits := range 8 {
				d := op.Dropout{P: 0.3, Key: uint64(m*n + bits)}
				g := op.Gemm{Epilogue: op.Epilogue{Act: a, Drop: d}}
				x, w, bias, res := h.in(m, k), h.in(k, n), h.in(n), h.in(m, n)
				var bx []float64
				if bits&1 != 0 {
					g.Bias, bx = bias.t, bias.x
				}
				if bits&2 != 0 {
					g.Pre = h.out(m, n)
				}
				pre, y := finish(matmul(x.x, w.x, m, n, k, false, false), bx, nil, n, 1, a, false)
				y = dropped(y, d)
				if bits&4 != 0 {
					g.Residual = res.t
					y = add(y, res.x)
				}
				c := h.out(m, n)
				h.d.Gemm(c, x.t, w.t, g)
				name := named("act=%d bits=%03b %v", a, bits, s)
				h.near(name, c, y, 2e-5)
				if bits&2 != 0 {
					h.near(name+" pre", g.Pre, pre, 2e-5)
				}
				h.done(name)
			}
		}
	}
}

// testFinishBack checks the gradient of activation and dropout together
// against that of one after the other.
func testFinishBack(h *harness) {
	for _, n := range append([]int{4097, 9000}, lengths...) {
		for _, a := range acts {
			for _, p := range []float32{0, 0.3, 1} {
				d := op.Dropout{P: p, Key: uint64(n)}
				x, dy, mid, want, dx := h.in(n), h.in(n), h.out(n), h.out(n), h.out(n)
				name := named("act=%d n=%d p=%g", a, n, p)
				h.d.Drop(mid, dy.t, d)
				h.d.ActivateBack(want, mid, x.t, a)
				h.d.FinishBack(dx, dy.t, x.t, a, d)
				h.near(name, dx, widen(h.read(want)), 1e-6)
				if a == op.None {
					bare := h.out(n)
					h.d.FinishBack(bare, dy.t, none, a, d)
					h.same(name+" without x", h.read(bare), h.read(dx))
				}
				if a == op.ReLU { // the result in place of what it was made of
					y, again := h.out(n), h.out(n)
					h.d.Activate(y, x.t, a)
					h.d.Drop(y, y, d)
					h.d.FinishBack(again, dy.t, y, a, d)
					h.near(name+" of the result", again, widen(h.read(want)), 1e-6)
					bits := h.ids(make([]int32, (n+31)/32), (n+31)/32)
					h.d.Signs(bits, y)
					h.d.FinishBack(again, dy.t, bits, a, d)
					h.near(name+" of its signs", again, widen(h.read(want)), 1e-6)
				}
				h.done(name)
			}
		}
		x, dy, dx := h.in(n), h.in(n), h.out(n)
		h.placed[len(h.placed)-2].input = nil // dy is changed in place
		d := op.Dropout{P: 0.2, Key: 1}
		h.d.FinishBack(dx, dy.t, x.t, op.SiLU, d)
		h.d.FinishBack(dy.t, dy.t, x.t, op.SiLU, d)
		h.same("in place", h.read(dy.t), h.read(dx))
		h.done("in place")
	}
}

// testNormAdd checks that a gradient is added where a residual joins.
func testNormAdd(h *harness) {
	for _, kind := range []op.NormKind{op.LayerNorm, op.StdNorm, op.RMSNorm} {
		for _, c := range []int{2, 7, 16, 33, 128, 257} {
			const rows = 21
			n := op.Norm{Kind: kind, Eps: 1e-2}
			x, gain, dy, y, stats, dx := h.in(rows, c), h.in(c), h.in(rows, c), h.out(rows, c), h.out(rows, 2), h.out(rows, c)
			h.d.Norm(y, stats, x.t, gain.t, none, n)
			h.d.NormBack(dx, none, none, dy.t, x.t, gain.t, stats, n)
			sum, first := h.sum(rows, c)
			n.Add = true
			h.d.NormBack(sum, none, none, dy.t, x.t, gain.t, stats, n)
			h.near(named("kind=%d n=%d", kind, c), sum, add(first, widen(h.read(dx))), 1e-6)
			h.done("norm")
		}
	}
}
