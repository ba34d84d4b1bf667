package optest

import (
	"math"
	"sort"

	"espalier/trainer/tensor"
)

func testSums(h *harness) {
	for _, n := range append([]int{4095, 4096, 4097, 70001}, lengths...) {
		x, s, q := h.in(n), h.out(1), h.out(1)
		var sum, squares float64
		for _, v := range x.x {
			sum += v
			squares += v * v
		}
		h.d.Sum(s, x.t)
		h.d.SumSquares(q, x.t)
		h.near(named("sum n=%d", n), s, []float64{sum}, 2e-6*math.Sqrt(float64(n+1)))
		h.near(named("squares n=%d", n), q, []float64{squares}, 2e-6)
		h.done("sum")
	}
	for _, n := range lengths {
		for _, rows := range []int{0, 1, 5, 300} {
			x := h.in(rows, n)
			s, want := h.sum(n)
			for i, v := range x.x {
				want[i%n] += v
			}
			h.d.SumRows(s, x.t)
			h.near(named("rows=%d n=%d", rows, n), s, want, 5e-5)
			h.done("sum of rows")
		}
	}
}

func testArgMax(h *harness) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	x := h.given([]float32{
		1, 3, 3, 2,
		-inf, -inf, -inf, -inf,
		nan, 1, 2, nan,
		nan, -inf, nan, nan,
		0, inf, nan, inf,
		nan, nan, nan, nan,
	}, 6, 4)
	t := h.d.Alloc(tensor.Int32, 6)
	h.d.ArgMax(t, x.t)
	got := make([]int32, 6)
	h.d.ReadInts(got, t)
	for i, w := range []int32{1, 0, 2, 1, 1, 0} {
		if got[i] != w {
			h.Errorf("row %d: %d, want %d", i, got[i], w)
		}
	}
	for _, n := range lengths[1:] {
		x, t := h.in(20, n), h.d.Alloc(tensor.Int32, 20)
		h.d.ArgMax(t, x.t)
		got := make([]int32, 20)
		h.d.ReadInts(got, t)
		for r, id := range got {
			for j, v := range x.x[r*n:][:n] {
				if v > x.x[r*n+int(id)] {
					h.Fatalf("n=%d: %d, but %d is larger", n, id, j)
				}
			}
		}
		h.done("argmax")
	}
}

func testTopK(h *harness) {
	for _, n := range lengths[1:] {
		for _, k := range []int{0, 1, 2, 5, 12} {
			if k > n {
				continue
			}
			const rows = 3
			x := make([]float32, rows*n)
			for i := range x {
				x[i] = float32(h.r.IntN(20)) // ties
			}
			a, values, ids := h.given(x, rows, n), h.out(rows, k), h.d.Alloc(tensor.Int32, rows, k)
			h.d.TopK(values, ids, a.t)
			gotV, gotI := h.read(values), make([]int32, rows*k)
			h.d.ReadInts(gotI, ids)
			for r := range rows {
				order := make([]int, n)
				for i := range order {
					order[i] = i
				}
				row := x[r*n:][:n]
				sort.SliceStable(order, func(i, j int) bool { return row[order[i]] > row[order[j]] })
				for i := range k {
					if gotI[r*k+i] != int32(order[i]) || gotV[r*k+i] != row[order[i]] {
						h.Fatalf("n=%d k=%d row %d: place %d has %d (%g), want %d (%g)", n, k, r, i, gotI[r*k+i], gotV[r*k+i], order[i], row[order[i]])
					}
				}
			}
			h.done("top")
		}
	}
}
