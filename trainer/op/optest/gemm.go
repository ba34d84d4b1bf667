package optest

import (
	"math"

	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// matmul is op(a)*op(b) of one matrix.
func matmul(a, b []float64, m, n, k int, ta, tb bool) []float64 {
	c := make([]float64, m*n)
	for i := range m {
		for j := range n {
			var s float64
			for l := range k {
				x, y := i*k+l, l*n+j
				if ta {
					x = l*m + i
				}
				if tb {
					y = j*k + l
				}
				s += a[x] * b[y]
			}
			c[i*n+j] = s
		}
	}
	return c
}

func dims(m, k int, trans bool) []int {
	if trans {
		return []int{k, m}
	}
	return []int{m, k}
}

func testGemm(h *harness) {
	type size struct{ m, n, k int }
	sizes := []size{{0, 3, 4}, {3, 0, 4}, {3, 4, 0}, {1, 1, 1}, {70, 33, 300}, {131, 97, 40}, {9, 200, 513}, {261, 49, 17}, {203, 40, 1100}, {1, 300, 700}, {4, 130, 257}, {8, 64, 64}}
	for _, m := range []int{1, 2, 3, 5, 6, 7, 8, 12, 13, 14, 15, 29} {
		sizes = append(sizes, size{m, lengths[1+h.r.IntN(16)], lengths[1+h.r.IntN(16)]})
	}
	for _, n := range []int{1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65} {
		sizes = append(sizes, size{1 + h.r.IntN(15), n, 1 + h.r.IntN(40)})
	}
	for _, s := range sizes {
		for tr := range 4 {
			ta, tb := tr&1 != 0, tr&2 != 0
			a, b := h.in(dims(s.m, s.k, ta)...), h.in(dims(s.k, s.n, tb)...)
			name := named("m=%d n=%d k=%d transA=%v transB=%v", s.m, s.n, s.k, ta, tb)
			tol := 3e-6 * math.Sqrt(float64(s.k+1))
			want := matmul(a.x, b.x, s.m, s.n, s.k, ta, tb)
			c := h.out(s.m, s.n)
			h.d.Gemm(c, a.t, b.t, op.Gemm{TransA: ta, TransB: tb})
			h.near(name, c, want, tol)

			c, first := h.sum(s.m, s.n)
			h.d.Gemm(c, a.t, b.t, op.Gemm{TransA: ta, TransB: tb, Accumulate: true, Alpha: -0.5})
			for i, w := range want {
				first[i] -= w / 2
			}
			h.near(name+" accumulate", c, first, tol)
			h.done(name)
		}
	}
}

func testGemmBatch(h *harness) {
	for _, batch := range [][]int{{1}, {3}, {2, 3}, {0}} {
		for tr := range 4 {
			ta, tb := tr&1 != 0, tr&2 != 0
			n3 := tensor.Size(batch)
			m, n, k := 1+h.r.IntN(20), 1+h.r.IntN(40), 1+h.r.IntN(30)
			shape := func(d []int) []int { return append(append([]int(nil), batch...), d...) }
			a, b, shared := h.in(shape(dims(m, k, ta))...), h.in(shape(dims(k, n, tb))...), h.in(dims(k, n, tb)...)
			name := named("batch=%v m=%d n=%d k=%d transA=%v transB=%v", batch, m, n, k, ta, tb)
			var want, wantShared []float64
			for i := range n3 {
				want = append(want, matmul(a.x[i*m*k:], b.x[i*k*n:], m, n, k, ta, tb)...)
				wantShared = append(wantShared, matmul(a.x[i*m*k:], shared.x, m, n, k, ta, tb)...)
			}
			c := h.out(shape([]int{m, n})...)
			h.d.Gemm(c, a.t, b.t, op.Gemm{TransA: ta, TransB: tb})
			h.near(name, c, want, 3e-5)
			c = h.out(shape([]int{m, n})...)
			h.d.Gemm(c, a.t, shared.t, op.Gemm{TransA: ta, TransB: tb})
			h.near(name+" shared", c, wantShared, 3e-5)
			if ta && !tb {
				c, sum := h.sum(m, n)
				h.d.Gemm(c, a.t, b.t, op.Gemm{TransA: true, Accumulate: true})
				for i, w := range want {
					sum[i%(m*n)] += w
				}
				h.near(name+" summed", c, sum, 3e-5)
			}
			h.done(name)
		}
	}
}

// finish is the epilogue in float64.
func finish(x, bias, res []float64, n int, alpha float64, a op.Act, actLast bool) (pre, y []float64) {
	pre, y = make([]float64, len(x)), make([]float64, len(x))
	for i, v := range x {
		v *= alpha
		if bias != nil {
			v += bias[i%n]
		}
		if actLast && res != nil {
			v += res[i]
		}
		pre[i] = v
		y[i] = act(a, v)
		if !actLast && res != nil {
			y[i] += res[i]
		}
	}
	return pre, y
}

var acts = []op.Act{op.None, op.ReLU, op.GELUTanh, op.GELUErf, op.QuickGELU, op.SiLU, op.Tanh, op.Sigmoid}

func testGemmEpilogue(h *harness) {
	for _, s := range [][3]int{{5, 33, 9}, {1, 50, 40}, {40, 64, 20}, {14, 31, 300}} {
		m, n, k := s[0], s[1], s[2]
		for _, a := range acts {
			for bits := range 16 {
				g := op.Gemm{Alpha: 0.25}
				x, w, bias, res := h.in(m, k), h.in(k, n), h.in(n), h.in(m, n)
				var bx, rx []float64
				if bits&1 != 0 {
					g.Bias, bx = bias.t, bias.x
				}
				if bits&2 != 0 {
					g.Residual, rx = res.t, res.x
				}
				if bits&4 != 0 {
					g.Pre = h.out(m, n)
				}
				g.ActLast, g.Act = bits&8 != 0, a
				pre, y := finish(matmul(x.x, w.x, m, n, k, false, false), bx, rx, n, 0.25, a, g.ActLast)
				c := h.out(m, n)
				h.d.Gemm(c, x.t, w.t, g)
				name := named("act=%d bits=%04b %v", a, bits, s)
				h.near(name, c, y, 2e-5)
				if bits&4 != 0 {
					h.near(name+" pre", g.Pre, pre, 2e-5)
				}
				h.done(name)
			}
		}
		x, w, res := h.in(m, k), h.in(k, n), h.in(m, n)
		h.mutable()
		_, y := finish(matmul(x.x, w.x, m, n, k, false, false), nil, res.x, n, 1, op.None, false)
		h.d.Gemm(res.t, x.t, w.t, op.Gemm{Epilogue: op.Epilogue{Residual: res.t}})
		h.near("residual in place", res.t, y, 2e-5)
		h.done("residual in place")
	}
}

// testGemmSpecials checks that nothing is skipped: 0 times Inf is NaN, and
// denormals count.
func testGemmSpecials(h *harness) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	const m, n, k = 7, 37, 19
	for _, special := range []float32{inf, -inf, nan, 1e-39, 1e-30} {
		for at := range m * k {
			if at%5 != 0 {
				continue
			}
			x, y := make([]float32, m*k), make([]float32, k*n)
			for i := range y {
				y[i] = []float32{0, 1, -1, 1e-10}[i%4]
			}
			x[at] = special
			a, b, c := h.given(x, m, k), h.given(y, k, n), h.out(m, n)
			h.d.Gemm(c, a.t, b.t, op.Gemm{})
			got := h.read(c)
			for i, w := range matmul(a.x, b.x, m, n, k, false, false) {
				if !within(float64(got[i])*1e30, float64(float32(w))*1e30, 1e-6) {
					h.Fatalf("%g at %d: element %d is %g, want %g", special, at, i, got[i], w)
				}
			}
			h.done("specials")
		}
	}
}

func testGemmPack(h *harness) {
	for _, s := range [][3]int{{1, 1, 1}, {1, 70, 300}, {5, 33, 17}, {40, 200, 130}, {130, 64, 520}, {3, 0, 4}, {0, 4, 4}, {3, 4, 0}} {
		m, n, k := s[0], s[1], s[2]
		for _, tb := range []bool{false, true} {
			a, b := h.in(2, m, k), h.in(dims(k, n, tb)...)
			plain, packed := h.out(2, m, n), h.out(2, m, n)
			g := op.Gemm{TransB: tb, Alpha: 0.5, Epilogue: op.Epilogue{Act: op.ReLU}}
			h.d.Gemm(plain, a.t, b.t, g)
			p := h.d.Pack(b.t, tb)
			for i, want := range b.t.Shape {
				if p.Shape[i] != want {
					h.Fatalf("packed shape %v, want %v", p.Shape, b.t.Shape)
				}
			}
			h.d.Gemm(packed, a.t, p, g)
			h.same(named("packed %v transB=%v", s, tb), h.read(packed), h.read(plain))
			_, want := finish(matmul(a.x, b.x, 2*m, n, k, false, tb), nil, nil, n, 0.5, op.ReLU, false)
			h.near(named("packed %v transB=%v", s, tb), packed, want, 1e-4)
			h.d.Free(p)
			h.done("pack")
		}
	}
}

// testGemmHalf checks that a bfloat16 matrix gives the bits of the same numbers
// in float32.
// testGemmRounding holds products that round to the sum in float64 of rounded
// numbers; their bits are a matter of the digests.
func testGemmRounding(h *harness) {
	for _, s := range [][3]int{{1, 70, 300}, {5, 33, 17}, {40, 200, 131}, {3, 4, 0}, {0, 3, 2}, {75, 300, 64}} {
		m, n, k := s[0], s[1], s[2]
		for _, tb := range []bool{false, true} {
			a, b := h.in(m, k), h.in(dims(k, n, tb)...)
			half, full := h.d.Keep(tensor.BFloat16, b.shape...), h.d.Keep(tensor.Float32, b.shape...)
			h.d.Copy(half, b.t)
			h.d.Copy(full, half)
			rounded, wide := h.d.Keep(tensor.BFloat16, m, k), h.d.Keep(tensor.Float32, m, k)
			h.d.Copy(rounded, a.t)
			h.d.Copy(wide, rounded)
			bias, rest, sum := h.in(n), h.in(m, n), h.in(m, n)
			h.mutable()
			want, got := h.out(m, n), h.out(m, n)
			e := op.Epilogue{Bias: bias.t, Act: op.ReLU, Residual: rest.t}
			h.d.Gemm(want, wide, full, op.Gemm{TransB: tb, Epilogue: e})
			p := h.d.PackRounding(half, tb)
			h.d.Gemm(got, a.t, p, op.Gemm{TransB: tb, Epilogue: e})
			name := named("rounding %v transB=%v", s, tb)
			h.near(name, got, widen(h.read(want)), 2e-5)
			h.d.Gemm(sum.t, a.t, p, op.Gemm{TransB: tb, Alpha: 1, Accumulate: true})
			h.d.Gemm(want, wide, full, op.Gemm{TransB: tb})
			h.near(name+" added", sum.t, add(sum.x, widen(h.read(want))), 2e-5)
			h.d.Gemm(rest.t, a.t, p, op.Gemm{TransB: tb, Epilogue: op.Epilogue{Bias: bias.t, Act: op.ReLU, Residual: rest.t}})
			h.same(name+" in place", h.read(rest.t), h.read(got))
			h.placed[3].input = nil
			for _, t := range []tensor.Tensor{half, full, rounded, wide, p} {
				h.d.Free(t)
			}
			h.done(name)
		}
	}
}

func testGemmHalf(h *harness) {
	for _, s := range [][3]int{{1, 70, 300}, {5, 33, 17}, {40, 200, 130}, {3, 4, 0}} {
		m, n, k := s[0], s[1], s[2]
		for _, tb := range []bool{false, true} {
			a, b := h.in(m, k), h.in(dims(k, n, tb)...)
			half, full := h.d.Keep(tensor.BFloat16, b.shape...), h.d.Keep(tensor.Float32, b.shape...)
			h.d.Copy(half, b.t)
			h.d.Copy(full, half)
			want, plain, packed := h.out(m, n), h.out(m, n), h.out(m, n)
			h.d.Gemm(want, a.t, full, op.Gemm{TransB: tb})
			h.d.Gemm(plain, a.t, half, op.Gemm{TransB: tb})
			p := h.d.Pack(half, tb)
			h.d.Gemm(packed, a.t, p, op.Gemm{TransB: tb})
			h.same(named("bfloat16 %v transB=%v", s, tb), h.read(plain), h.read(want))
			h.same(named("packed bfloat16 %v transB=%v", s, tb), h.read(packed), h.read(want))
			for _, t := range []tensor.Tensor{half, full, p} {
				h.d.Free(t)
			}
			h.done("bfloat16")
		}
	}
}
