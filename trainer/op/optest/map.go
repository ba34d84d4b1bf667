package optest

import (
	"math"

	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// act is the reference of an activation.
func act(a op.Act, x float64) float64 {
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	switch a {
	case op.ReLU:
		if x < 0 {
			return 0
		}
	case op.GELUTanh:
		return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
	case op.GELUErf:
		return 0.5 * x * math.Erfc(-x/math.Sqrt2)
	case op.QuickGELU:
		return x * sigmoid(1.702*x)
	case op.SiLU:
		return x * sigmoid(x)
	case op.Tanh:
		return math.Tanh(x)
	case op.Sigmoid:
		return sigmoid(x)
	}
	return x
}

func testActivate(h *harness) {
	inf := float32(math.Inf(1))
	for _, a := range acts {
		for _, n := range lengths {
			x, dy, y, dx := h.in(n), h.in(n), h.out(n), h.out(n)
			h.d.Activate(y, x.t, a)
			want := make([]float64, n)
			for i, v := range x.x {
				want[i] = act(a, v)
			}
			h.near(named("act=%d n=%d", a, n), y, want, 1e-6)
			h.d.ActivateBack(dx, dy.t, x.t, a)
			for i, v := range x.x {
				want[i] = dy.x[i] * (act(a, v+1e-5) - act(a, v-1e-5)) / 2e-5
			}
			h.near(named("act=%d n=%d back", a, n), dx, want, 2e-6)
			h.done("activate")
		}
		var far []float32
		for i := -400; i <= 400; i++ {
			far = append(far, float32(i)*0.25)
		}
		far = append(far, 1e-20, -1e-20, 1e-40, -1e-40, 1e30, -1e30)
		x := h.given(far, len(far))
		h.mutable()
		want := make([]float64, len(far))
		for i, v := range x.x {
			want[i] = act(a, v)
		}
		h.d.Activate(x.t, x.t, a)
		for i, v := range h.read(x.t) {
			// Near 0 and far down the tails the error is small beside the value.
			if math.Abs(float64(v)-want[i]) > 2e-6*math.Abs(want[i])+1e-38 && math.Abs(float64(v)-want[i]) > 1e-7*min(1, math.Abs(float64(far[i]))) {
				h.Errorf("act=%d of %g is %g, want %g", a, far[i], v, want[i])
			}
		}
		h.done("far")
		s := h.given([]float32{inf, -inf, float32(math.NaN()), 0}, 4)
		y := h.out(4)
		h.d.Activate(y, s.t, a)
		got := h.read(y)
		if !math.IsNaN(float64(got[2])) {
			h.Errorf("act=%d of NaN is %g", a, got[2])
		}
		if want := float32(act(a, math.Inf(1))); got[0] != want {
			h.Errorf("act=%d of +Inf is %g, want %g", a, got[0], want)
		}
		h.done("specials")
	}
}

func testElementwise(h *harness) {
	apply := func(x, y []float64, f func(a, b float64) float64) []float64 {
		z := make([]float64, len(x))
		for i := range x {
			z[i] = f(x[i], y[i%len(y)])
		}
		return z
	}
	plus := func(a, b float64) float64 { return a + b }
	times := func(a, b float64) float64 { return a * b }
	for _, n := range append([]int{4095, 4096, 4097, 9000}, lengths...) {
		x, y, z := h.in(n), h.in(n), h.out(n)
		h.d.Add(z, x.t, y.t)
		h.near(named("add n=%d", n), z, apply(x.x, y.x, plus), 1e-7)
		h.d.Mul(z, x.t, y.t)
		h.near(named("mul n=%d", n), z, apply(x.x, y.x, times), 1e-7)
		h.d.Scale(z, x.t, -1.5)
		h.near(named("scale n=%d", n), z, apply(x.x, []float64{-1.5}, times), 1e-7)
		h.done("elementwise")
		x, y = h.in(n), h.in(n)
		h.mutable()
		want := apply(y.x, x.x, func(a, b float64) float64 { return a + 0.75*b })
		h.d.Axpy(y.t, x.t, 0.75)
		h.near(named("axpy n=%d", n), y.t, want, 1e-6)
		want = apply(widen(h.read(y.t)), x.x, plus)
		h.d.Add(y.t, y.t, x.t)
		h.near(named("add in place n=%d", n), y.t, want, 1e-6)
		h.done("in place")
	}
	for _, n := range lengths {
		x, y, z := h.in(5, 3, n), h.in(n), h.out(5, 3, n)
		h.d.Add(z, x.t, y.t)
		h.near(named("add repeated n=%d", n), z, apply(x.x, y.x, plus), 1e-7)
		h.d.Mul(z, x.t, y.t)
		h.near(named("mul repeated n=%d", n), z, apply(x.x, y.x, times), 1e-7)
		h.done("repeated")
	}
	x, y, z := h.in(40, 31, 77), h.in(31, 77), h.out(40, 31, 77)
	h.d.Add(z, x.t, y.t)
	h.near("add repeated matrix", z, apply(x.x, y.x, plus), 1e-7)
	h.done("repeated")
}

func testLogFloor(h *harness) {
	const floor = 1e-6
	for _, n := range lengths {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(math.Abs(h.r.NormFloat64()) * math.Pow(10, float64(-(i%9))))
			if i%5 == 4 {
				x[i] = []float32{0, -1, floor, 1e-7, 1e30}[i/5%5]
			}
		}
		a, dy, y, dx := h.given(x, n), h.in(n), h.out(n), h.out(n)
		h.d.LogFloor(y, a.t, floor)
		h.d.LogFloorBack(dx, dy.t, a.t, floor)
		want, wantBack := make([]float64, n), make([]float64, n)
		for i, v := range a.x {
			want[i] = math.Log(math.Max(v, float64(float32(floor))))
			if x[i] > floor {
				wantBack[i] = dy.x[i] / v
			}
		}
		h.near(named("n=%d", n), y, want, 5e-7)
		h.near(named("back n=%d", n), dx, wantBack, 1e-6)
		h.done("log")
	}
}

func testDrop(h *harness) {
	for _, n := range append([]int{100000}, lengths...) {
		for _, p := range []float32{0, 0.1, 0.5, 0.9, 1} {
			d := op.Dropout{P: p, Key: uint64(n) * 12345}
			x, y := h.in(n), h.out(n)
			h.d.Drop(y, x.t, d)
			got := h.read(y)
			kept := 0
			for i, v := range got {
				want := float32(0)
				if d.Kept(uint64(i)) {
					kept++
					want = float32(x.x[i]) * (1 / (1 - p))
				}
				if v != want {
					h.Fatalf("n=%d p=%g: element %d of %g is %g, want %g", n, p, i, x.x[i], v, want)
				}
			}
			mean := float64(n) * float64(1-p)
			if dev := math.Sqrt(mean * float64(p)); math.Abs(float64(kept)-mean) > 5*dev+0.5 && n == 100000 {
				h.Errorf("p=%g: %d of %d kept", p, kept, n)
			}
			again := h.out(n)
			h.d.Drop(again, x.t, d)
			h.same("again", h.read(again), got)
			h.done("drop")
		}
	}
	// Neighbouring keys and neighbouring elements are unrelated.
	const n = 1 << 16
	both, pairs := 0, 0
	for i := range uint64(n) {
		a, b := op.Dropout{P: 0.5, Key: 1}.Kept(i), op.Dropout{P: 0.5, Key: 2}.Kept(i)
		if a == b {
			both++
		}
		if a == (op.Dropout{P: 0.5, Key: 1}).Kept(i+1) {
			pairs++
		}
	}
	for _, c := range []int{both, pairs} {
		if math.Abs(float64(c)-n/2) > 5*math.Sqrt(n)/2 {
			h.Errorf("agreement of two masks: %d and %d of %d", both, pairs, n)
		}
	}
}

func testPermute(h *harness) {
	for _, c := range []struct{ shape, axes []int }{
		{[]int{5}, []int{0}},
		{[]int{3, 4}, []int{1, 0}},
		{[]int{33, 70}, []int{1, 0}},
		{[]int{2, 3, 4}, []int{1, 0, 2}},
		{[]int{2, 3, 4}, []int{2, 0, 1}},
		{[]int{2, 5, 5, 8}, []int{0, 3, 1, 2}},
		{[]int{3, 17, 4, 16}, []int{0, 2, 1, 3}},
		{[]int{2, 3, 4, 5, 6}, []int{4, 2, 0, 3, 1}},
		{[]int{2, 0, 4}, []int{2, 1, 0}},
	} {
		n := len(c.shape)
		x := h.in(c.shape...)
		shape := make([]int, n)
		for i, a := range c.axes {
			shape[i] = c.shape[a]
		}
		want := make([]float64, len(x.x))
		for at := range want {
			from, rest := 0, at
			for i := n - 1; i >= 0; i-- {
				from += rest % shape[i] * tensor.Size(c.shape[c.axes[i]+1:])
				rest /= shape[i]
			}
			want[at] = x.x[from]
		}
		y := h.out(shape...)
		h.d.Permute(y, x.t, c.axes)
		h.near(named("%v by %v", c.shape, c.axes), y, want, 0)
		h.done("permute")
	}
}

func testEmbed(h *harness) {
	for _, n := range lengths {
		const rows = 7
		ids := []int32{3, 0, -1, 6, 3, 3}
		table, out := h.in(rows, n), h.out(2, 3, n)
		it := h.ids(ids, 2, 3)
		h.d.Gather(out, table.t, it, 1.5)
		want := make([]float64, 6*n)
		dout := h.in(2, 3, n)
		dtable, sum := h.sum(rows, n)
		for i, id := range ids {
			if id < 0 {
				continue
			}
			for j := range n {
				want[i*n+j] = 1.5 * table.x[int(id)*n+j]
				sum[int(id)*n+j] += 1.5 * dout.x[i*n+j]
			}
		}
		h.near(named("gather n=%d", n), out, want, 1e-6)
		h.d.ScatterAdd(dtable, dout.t, it, 1.5)
		h.near(named("scatter n=%d", n), dtable, sum, 1e-6)
		h.done("embed")
	}
	table, out, none := h.in(3, 4), h.out(0, 4), h.ids(nil, 0)
	h.d.Gather(out, table.t, none, 1)
	h.done("no ids")
	if err := h.d.Err(); err != nil {
		h.Fatal(err)
	}
}
