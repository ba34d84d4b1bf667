package grad_test

import (
	"math"
	"testing"

	"espalier/trainer/cpu"
	"espalier/trainer/grad"
	"espalier/trainer/op"
	"espalier/trainer/op/optest"
	"espalier/trainer/tensor"
)

// noise is a small generator of values in (-1, 1).
type noise uint64

func (s *noise) next() float32 {
	*s = *s*6364136223846793005 + 1442695040888963407
	return float32(int32(*s>>32)) / (1 << 31)
}

func (s *noise) slice(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = s.next()
	}
	return x
}

// A leaf is a parameter of a test: its shape, and an optional shift of its
// values.
type leaf struct {
	shape []int
	shift float32
}

func of(shape ...int) leaf { return leaf{shape: shape} }

// A scrubber is a device that spoils what is given back.
type scrubber struct{ *cpu.Device }

func (d *scrubber) Release(t tensor.Tensor) {
	if !t.IsZero() && t.DType == tensor.Float32 {
		x := cpu.Floats(t)
		for i := range x {
			x[i] = float32(math.NaN())
		}
	}
	d.Device.Release(t)
}

// check compares the gradients of sum(r*f(leaves)), r random, with central
// differences.
func check(t *testing.T, leaves []leaf, f func(tp *grad.Tape, v []grad.Var) grad.Var) {
	t.Helper()
	dev := &scrubber{Device: cpu.New(1)}
	defer dev.Close()
	tp := grad.New(dev)
	s := noise(7)
	values, grads := make([]tensor.Tensor, len(leaves)), make([]tensor.Tensor, len(leaves))
	data := make([][]float32, len(leaves))
	for i, l := range leaves {
		values[i], grads[i] = dev.Keep(tensor.Float32, l.shape...), dev.Keep(tensor.Float32, l.shape...)
		data[i] = s.slice(values[i].Len())
		for j := range data[i] {
			data[i][j] += l.shift
		}
		dev.Write(values[i], data[i])
	}
	var mask []float32
	vars := make([]grad.Var, len(leaves))
	run := func(step grad.Step) grad.Var {
		step.Drop, step.Seed, step.Number = true, 3, 4
		tp.Begin(step)
		for i := range leaves {
			vars[i] = tp.Leaf(values[i], grads[i])
		}
		return f(tp, vars)
	}
	value := func() float64 {
		y := run(grad.Step{})
		out := make([]float32, tp.Value(y).Len())
		tp.Read(out, y)
		sum := 0.0
		for i, v := range out {
			sum += float64(v) * float64(mask[i])
		}
		return sum
	}
	back := func(trim bool) (all [][]float32) {
		for _, g := range grads {
			dev.Zero(g)
		}
		y := run(grad.Step{Grad: true})
		if trim {
			tp.Trim(1, y)
		}
		n := tp.Value(y).Len()
		if mask == nil {
			mask = s.slice(n)
		}
		tp.Backward(tp.Linear(tp.View(y, 1, n), tp.Floats(mask, 1, n), 0, grad.Out{}))
		for _, g := range grads {
			x := make([]float32, g.Len())
			dev.Read(x, g)
			all = append(all, x)
		}
		return all
	}
	trimmed := back(true)
	for i, want := range back(false) {
		for j, w := range want {
			if math.Float32bits(trimmed[i][j]) != math.Float32bits(w) {
				t.Fatalf("operand %d, element %d: gradient %g where memory is given back, %g else", i, j, trimmed[i][j], w)
			}
		}
	}
	const h = 1.0 / 64
	for i := range leaves {
		got := make([]float32, len(data[i]))
		dev.Read(got, grads[i])
		want := make([]float64, len(got))
		largest := 0.0
		for j := range got {
			x := data[i][j]
			d := func(h float32) float64 {
				data[i][j] = x + h
				dev.Write(values[i], data[i])
				return value()
			}
			// Richardson: the error is of fourth order.
			want[j] = (8*(d(h/2)-d(-h/2)) - (d(h) - d(-h))) / (6 * h)
			data[i][j] = x
			dev.Write(values[i], data[i])
			largest = max(largest, math.Abs(want[j]))
		}
		if largest == 0 {
			t.Errorf("operand %d: all differences are zero", i)
		}
		for j := range got {
			if !(math.Abs(float64(got[j])-want[j]) <= 1e-3*largest) {
				t.Errorf("operand %d, element %d: gradient %g, want %g", i, j, got[j], want[j])
			}
		}
	}
	if err := dev.Err(); err != nil {
		t.Error(err)
	}
}

func TestGradients(t *testing.T) {
	one := func(f func(*grad.Tape, grad.Var) grad.Var) func(*grad.Tape, []grad.Var) grad.Var {
		return func(tp *grad.Tape, v []grad.Var) grad.Var { return f(tp, v[0]) }
	}
	two := func(f func(*grad.Tape, grad.Var, grad.Var) grad.Var) func(*grad.Tape, []grad.Var) grad.Var {
		return func(tp *grad.Tape, v []grad.Var) grad.Var { return f(tp, v[0], v[1]) }
	}
	linear := func(o grad.Out) func(*grad.Tape, []grad.Var) grad.Var {
		return func(tp *grad.Tape, v []grad.Var) grad.Var {
			o := o
			if o.Drop.P > 0 {
				o.Drop = tp.Drop(o.Drop.P, 5)
			}
			if len(v) > 3 {
				o.Residual = v[3]
			}
			return tp.Linear(v[0], v[1], v[2], o)
		}
	}
	lin := []leaf{of(2, 3, 5), of(4, 5), of(4)}
	res := []leaf{of(2, 3, 5), of(4, 5), of(4), of(2, 3, 4)}
	drop := op.Dropout{P: 0.3}
	attention := func(a op.Attention, keys []float32) func(*grad.Tape, []grad.Var) grad.Var {
		return func(tp *grad.Tape, v []grad.Var) grad.Var {
			a := a
			a.Heads, a.Scale = 2, 0.7
			if keys != nil {
				a.Mask = tp.Value(tp.Floats(keys, 2, 5))
			}
			if a.Dropout.P > 0 {
				a.Dropout = tp.Drop(a.Dropout.P, 9)
			}
			bias := grad.Var(0)
			if len(v) > 3 {
				bias = v[3]
			}
			return tp.Attention(v[0], v[1], v[2], bias, a)
		}
	}
	kv := []leaf{of(2, 3, 6), of(2, 5, 6), of(2, 5, 6)}
	cases := map[string]struct {
		leaves []leaf
		f      func(*grad.Tape, []grad.Var) grad.Var
	}{
		"linear":                  {lin, linear(grad.Out{})},
		"linear relu":             {[]leaf{of(2, 3, 5), of(4, 5), {[]int{4}, 1.7}}, linear(grad.Out{Act: op.ReLU})},
		"linear gelu":             {lin, linear(grad.Out{Act: op.GELUErf})},
		"linear dropout":          {lin, linear(grad.Out{Drop: drop})},
		"linear relu dropout":     {[]leaf{of(2, 3, 5), of(4, 5), {[]int{4}, 2.5}}, linear(grad.Out{Act: op.ReLU, Drop: drop})},
		"linear gelu dropout":     {lin, linear(grad.Out{Act: op.GELUTanh, Drop: drop})},
		"linear residual":         {res, linear(grad.Out{})},
		"linear residual dropout": {res, linear(grad.Out{Drop: drop})},
		"linear residual silu":    {res, linear(grad.Out{Act: op.SiLU})},
		"linear no bias": {lin[:2], two(func(tp *grad.Tape, x, w grad.Var) grad.Var {
			return tp.Linear(x, w, 0, grad.Out{})
		})},
		"norm": {[]leaf{of(2, 2, 5), of(5), of(5)}, func(tp *grad.Tape, v []grad.Var) grad.Var {
			return tp.Norm(v[0], v[1], v[2], op.Norm{Kind: op.StdNorm, Eps: 1e-6})
		}},
		"rms norm": {[]leaf{of(3, 5), of(5)}, two(func(tp *grad.Tape, x, g grad.Var) grad.Var {
			return tp.Norm(x, g, 0, op.Norm{Kind: op.RMSNorm, Eps: 1e-6})
		})},
		"attention":         {kv, attention(op.Attention{}, nil)},
		"attention causal":  {[]leaf{of(2, 3, 6), of(2, 3, 6), of(2, 3, 6)}, attention(op.Attention{Causal: true}, nil)},
		"attention dropout": {kv, attention(op.Attention{Dropout: drop}, nil)},
		"attention bias":    {append(kv[:3:3], of(2, 2, 3, 5)), attention(op.Attention{}, []float32{1, 1, 1, 1, 0, 1, 1, 0, 0, 0})},
		"attention one bias for all": {
			append(kv[:3:3], of(1, 2, 3, 5)), attention(op.Attention{}, nil),
		},
		"attention group": {[]leaf{of(4, 3, 6), of(2, 5, 6), of(2, 5, 6)}, attention(op.Attention{Group: 2}, []float32{1, 1, 1, 1, 0, 1, 1, 0, 0, 0})},
		"attention shared keys and values": {kv[:2], two(func(tp *grad.Tape, q, k grad.Var) grad.Var {
			return tp.Attention(q, k, k, 0, op.Attention{Heads: 2, Scale: 0.7})
		})},
		"attention shared queries and keys": {kv[1:], two(func(tp *grad.Tape, q, v grad.Var) grad.Var {
			return tp.Attention(q, q, v, 0, op.Attention{Heads: 2, Scale: 0.7})
		})},
		"add":        {[]leaf{of(2, 3), of(2, 3)}, two((*grad.Tape).Add)},
		"add suffix": {[]leaf{of(4, 2, 3), of(2, 3)}, two((*grad.Tape).Add)},
		"mul":        {[]leaf{of(2, 3), of(2, 3)}, two((*grad.Tape).Mul)},
		"mul suffix": {[]leaf{of(4, 2, 3), of(3)}, two((*grad.Tape).Mul)},
		"mul scalar": {[]leaf{of(4, 2, 3), of(1)}, two(func(tp *grad.Tape, x, y grad.Var) grad.Var { return tp.Mul(tp.View(x, 24, 1), y) })},
		"join": {[]leaf{of(2, 3, 2), of(2, 1, 2), of(2, 4, 2)}, func(tp *grad.Tape, v []grad.Var) grad.Var {
			return tp.Join(1, v...)
		}},
		"join twice the same": {[]leaf{of(2, 3)}, one(func(tp *grad.Tape, x grad.Var) grad.Var { return tp.Join(0, x, x) })},
		"cut": {[]leaf{of(2, 5, 2)}, one(func(tp *grad.Tape, x grad.Var) grad.Var {
			return tp.Add(tp.Cut(x, 1, 0, 3), tp.Cut(x, 1, 2, 5))
		})},
		"matmul":            {[]leaf{of(2, 3, 4), of(2, 4, 5)}, two(func(tp *grad.Tape, a, b grad.Var) grad.Var { return tp.MatMul(a, b, false) })},
		"matmul transposed": {[]leaf{of(2, 3, 4), of(2, 5, 4)}, two(func(tp *grad.Tape, a, b grad.Var) grad.Var { return tp.MatMul(a, b, true) })},
		"matmul matrices":   {[]leaf{of(3, 4), of(4, 5)}, two(func(tp *grad.Tape, a, b grad.Var) grad.Var { return tp.MatMul(a, b, false) })},
		"repeat": {[]leaf{of(2, 3), of(3, 2, 3)}, two(func(tp *grad.Tape, x, y grad.Var) grad.Var {
			return tp.Mul(tp.Repeat(x, 3), y)
		})},
		"linear with a made weight": {[]leaf{of(3, 4), of(20)}, two(func(tp *grad.Tape, x, w grad.Var) grad.Var {
			return tp.Linear(x, tp.View(tp.Scale(w, 2), 5, 4), 0, grad.Out{})
		})},
		"square":   {[]leaf{of(2, 3)}, one(func(tp *grad.Tape, x grad.Var) grad.Var { return tp.Mul(x, x) })},
		"double":   {[]leaf{of(2, 3)}, one(func(tp *grad.Tape, x grad.Var) grad.Var { return tp.Add(x, x) })},
		"scale":    {[]leaf{of(2, 3)}, one(func(tp *grad.Tape, x grad.Var) grad.Var { return tp.Scale(x, -2.5) })},
		"activate": {[]leaf{of(2, 3)}, one(func(tp *grad.Tape, x grad.Var) grad.Var { return tp.Activate(x, op.Tanh) })},
		"dropout": {[]leaf{of(4, 5)}, one(func(tp *grad.Tape, x grad.Var) grad.Var {
			return tp.Dropout(x, tp.Drop(0.4, 1))
		})},
		"log floor": {[]leaf{{[]int{3, 4}, 0.6}}, one(func(tp *grad.Tape, x grad.Var) grad.Var { return tp.LogFloor(tp.Mul(x, x), 1e-2) })},
		"view":      {[]leaf{of(2, 6)}, one(func(tp *grad.Tape, x grad.Var) grad.Var { return tp.Mul(tp.View(x, 3, 4), tp.View(x, 3, 4)) })},
		"permute":   {[]leaf{of(2, 3, 4)}, one(func(tp *grad.Tape, x grad.Var) grad.Var { return tp.Permute(x, 1, 2, 0) })},
		"gather": {[]leaf{of(4, 3)}, one(func(tp *grad.Tape, x grad.Var) grad.Var {
			return tp.Gather(x, tp.Ints([]int32{2, 0, -1, 2, 3, 2}, 2, 3), 1.5)
		})},
		"cross entropy": {[]leaf{of(3, 2, 5), of(5)}, two(func(tp *grad.Tape, x, y grad.Var) grad.Var {
			w := tp.Value(tp.Floats([]float32{0.5, 1, -1, 2, 3, 1}, 3, 2))
			return tp.CrossEntropy(tp.Add(x, y), tp.Ints([]int32{0, 4, 2, -1, 3, 3}, 3, 2), w, op.CrossEntropy{})
		})},
		"cross entropy smoothed, scaled": {[]leaf{of(6, 5)}, one(func(tp *grad.Tape, x grad.Var) grad.Var {
			w := tp.Value(tp.Floats([]float32{0.5, 1, -1, 2, 3, 1}, 6))
			return tp.Scale(tp.CrossEntropy(x, tp.Ints([]int32{0, 4, 2, -1, 3, 3}, 6), w, op.CrossEntropy{Smoothing: 0.2}), 3)
		})},
		"projected loss, scaled": {[]leaf{of(6, 5)}, one(func(tp *grad.Tape, x grad.Var) grad.Var {
			w := tp.Value(tp.Floats([]float32{0.5, 1, -1, 2, 3, 1}, 6))
			head := tp.Floats([]float32{1, 2, -1, 0, 1, 1, 1, 0, 2, -2, 0.5, 1, 1, 2, 0}, 3, 5)
			return tp.Scale(tp.ProjectLoss(x, head, tp.Ints([]int32{0, 2, 2, -1, 1, 1}, 6), w, op.CrossEntropy{Smoothing: 0.2}), 3)
		})},
		// A residual stream: its gradient is shared, added to and used again.
		"residual stream": {[]leaf{of(3, 4), of(4, 4), of(4), of(4), of(4)}, func(tp *grad.Tape, v []grad.Var) grad.Var {
			x := v[0]
			for i := range 3 {
				y := tp.Norm(x, v[3], v[4], op.Norm{Kind: op.StdNorm, Eps: 1e-6})
				x = tp.Linear(y, v[1], v[2], grad.Out{Drop: tp.Drop(0.2, grad.Site(i)), Residual: x})
			}
			return tp.Add(x, v[0])
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { check(t, c.leaves, c.f) })
	}
}

// A toy network: two layers that share a weight, one frozen weight.
type toy struct {
	dev    op.Device
	tape   *grad.Tape
	x      []float32
	ids    []int32
	w, b   tensor.Tensor
	dw, db tensor.Tensor
	frozen tensor.Tensor
	loss   [1]float32
}

func newToy(dev op.Device) *toy {
	s := noise(1)
	n := &toy{dev: dev, x: s.slice(6 * 8), ids: []int32{1, 2, 3, -1, 5, 6}}
	n.tape = grad.New(n.dev)
	keep := func(shape ...int) tensor.Tensor {
		t := n.dev.Keep(tensor.Float32, shape...)
		n.dev.Write(t, s.slice(t.Len()))
		return t
	}
	n.w, n.b, n.frozen = keep(8, 8), keep(8), keep(8, 8)
	n.dw, n.db = n.dev.Keep(tensor.Float32, 8, 8), n.dev.Keep(tensor.Float32, 8)
	return n
}

var weights = []float32{1, 1, 1, 1, 1, 1}

func (n *toy) step(s grad.Step) float32 {
	t := n.tape
	n.dev.Zero(n.dw)
	n.dev.Zero(n.db)
	t.Begin(s)
	x := t.Floats(n.x, 2, 3, 8)
	w, b := t.Leaf(n.w, n.dw), t.Leaf(n.b, n.db)
	h := t.Linear(x, w, b, grad.Out{Act: op.ReLU, Drop: t.Drop(0.1, 1)})
	h = t.Linear(h, t.Leaf(n.frozen, tensor.Tensor{}), 0, grad.Out{Residual: x})
	h = t.Attention(h, h, h, 0, op.Attention{Heads: 2, Scale: 0.5, Causal: true, Dropout: t.Drop(0.1, 2)})
	h = t.Permute(t.View(h, 2, 3, 2, 4), 0, 2, 1, 3)
	y := t.Linear(t.View(h, 6, 8), w, b, grad.Out{})
	loss := t.CrossEntropy(y, t.Ints(n.ids, 6), t.Value(t.Floats(weights, 6)), op.CrossEntropy{})
	if s.Grad {
		t.Backward(loss)
	}
	t.Read(n.loss[:], loss)
	return n.loss[0]
}

// The tape itself allocates nothing in a steady state.
func TestStepAllocatesNothing(t *testing.T) {
	n := newToy(optest.NewIdle())
	s := grad.Step{Grad: true, Drop: true}
	for range 3 {
		n.step(s)
	}
	if got := testing.AllocsPerRun(20, func() { s.Number++; n.step(s) }); got != 0 {
		t.Errorf("a step allocates %.1f times", got)
	}
}

func TestNoGradient(t *testing.T) {
	n := newToy(cpu.New(1))
	defer n.dev.Close()
	trained := n.step(grad.Step{Grad: true})
	got := make([]float32, 64)
	n.dev.Read(got, n.dw)
	zero := true
	for _, v := range got {
		zero = zero && v == 0
	}
	if zero {
		t.Error("no gradient in a recording step")
	}
	if plain := n.step(grad.Step{}); plain != trained {
		t.Errorf("loss %g without recording, %g with", plain, trained)
	}
	n.dev.Read(got, n.dw)
	for i, v := range got {
		if v != 0 {
			t.Fatalf("gradient %g at %d without recording", v, i)
		}
	}
}

func TestDropoutKeys(t *testing.T) {
	dev := cpu.New(1)
	defer dev.Close()
	tp := grad.New(dev)
	key := func(seed, number uint64, site grad.Site) uint64 {
		tp.Begin(grad.Step{Drop: true, Seed: seed, Number: number})
		return tp.Drop(0.5, site).Key
	}
	seen := map[uint64]bool{}
	for seed := range uint64(8) {
		for number := range uint64(8) {
			for site := range grad.Site(8) {
				seen[key(seed, number, site)] = true
			}
		}
	}
	if len(seen) != 512 {
		t.Errorf("%d different keys of 512", len(seen))
	}
	if again := key(1, 2, 3); !seen[again] {
		t.Error("the key is not a function of its arguments")
	}
	tp.Begin(grad.Step{})
	if d := tp.Drop(0.5, 1); d.P != 0 {
		t.Errorf("dropout %v while it is off", d)
	}
}

// The gradient of a shared tensor is the sum of the gradients of its copies.
func TestSharedIsSumOfCopies(t *testing.T) {
	dev := cpu.New(1)
	defer dev.Close()
	tp := grad.New(dev)
	s := noise(2)
	keep := func(shape ...int) tensor.Tensor { return dev.Keep(tensor.Float32, shape...) }
	w, x := keep(4, 4), s.slice(12)
	dev.Write(w, s.slice(16))
	run := func(d1, d2 tensor.Tensor) {
		tp.Begin(grad.Step{Grad: true})
		h := tp.Linear(tp.Floats(x, 3, 4), tp.Leaf(w, d1), 0, grad.Out{Act: op.Tanh})
		y := tp.Linear(h, tp.Leaf(w, d2), 0, grad.Out{})
		tp.Backward(tp.CrossEntropy(y, tp.Ints([]int32{0, 1, 2}, 3), tp.Value(tp.Floats(weights[:3], 3)), op.CrossEntropy{}))
	}
	one, two, both := keep(4, 4), keep(4, 4), keep(4, 4)
	run(one, two)
	run(both, both)
	a, b, c := make([]float32, 16), make([]float32, 16), make([]float32, 16)
	dev.Read(a, one)
	dev.Read(b, two)
	dev.Read(c, both)
	for i := range a {
		if want := a[i] + b[i]; math.Abs(float64(c[i]-want)) > 1e-6 {
			t.Errorf("element %d: %g, want %g", i, c[i], want)
		}
	}
}

// A result goes where the caller wants it, the same to the bit, unless it is
// recorded.
func TestOutTo(t *testing.T) {
	dev := cpu.New(1)
	defer dev.Close()
	s := noise(3)
	keep := func(shape ...int) tensor.Tensor {
		x := dev.Keep(tensor.Float32, shape...)
		dev.Write(x, s.slice(x.Len()))
		return x
	}
	xv, wv, bv, to := keep(3, 1, 5), keep(4, 5), keep(4), keep(7, 4)
	tp := grad.New(dev)
	tp.Begin(grad.Step{})
	x, w, b := tp.Leaf(xv, tensor.Tensor{}), tp.Leaf(wv, tensor.Tensor{}), tp.Leaf(bv, tensor.Tensor{})
	before := append([]float32(nil), cpu.Floats(to)...)
	want := cpu.Floats(tp.Value(tp.Linear(x, w, b, grad.Out{Act: op.Tanh})))
	v := tp.Linear(x, w, b, grad.Out{Act: op.Tanh, To: to.Slice(2, 5)})
	if d := tp.Value(v).Shape; len(d) != 3 || d[0] != 3 || d[1] != 1 || d[2] != 4 {
		t.Errorf("shape %v, want [3 1 4]", d)
	}
	got := cpu.Floats(to)
	for i := range got {
		expect := before[i]
		if i >= 8 && i < 20 {
			expect = want[i-8]
		}
		if got[i] != expect {
			t.Errorf("number %d is %g, want %g", i, got[i], expect)
		}
	}
	tp.Trim(tp.Mark(), v) // the caller's memory is not given back
	tp.Begin(grad.Step{Grad: true})
	defer func() {
		if recover() == nil {
			t.Error("a recorded result went to the caller's memory")
		}
	}()
	tp.Linear(tp.Leaf(xv, tensor.Tensor{}), tp.Leaf(wv, tensor.Tensor{}), 0, grad.Out{To: to.Slice(0, 3)})
}
