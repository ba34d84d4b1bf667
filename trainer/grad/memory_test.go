package grad_test

import (
	"testing"

	"espalier/trainer/cpu"
	"espalier/trainer/grad"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// A value that nobody computes with any more, and no gradient needs, takes no
// memory: what a chain of layers takes depends on what is trained.
func TestTrimmedMemory(t *testing.T) {
	const rows, d, layers = 64, 64, 6
	unit := int64(4 * rows * d)
	peak := func(trained, trim, record bool) int64 {
		dev := cpu.New(1)
		defer dev.Close()
		w, dw, g, dg := dev.Keep(tensor.Float32, d, d), tensor.Tensor{}, dev.Keep(tensor.Float32, d), dev.Keep(tensor.Float32, d)
		if trained {
			dw = dev.Keep(tensor.Float32, d, d)
		}
		tp := grad.New(dev)
		begin := dev.PeakBytes()
		tp.Begin(grad.Step{Grad: record})
		h := tp.Floats(make([]float32, rows*d), rows, d)
		for range layers {
			mark := tp.Mark()
			x := tp.Norm(h, tp.Leaf(g, dg), 0, op.Norm{Kind: op.RMSNorm, Eps: 1e-6})
			y := tp.Linear(x, tp.Leaf(w, dw), 0, grad.Out{Act: op.ReLU})
			next := tp.Linear(y, tp.Leaf(w, dw), 0, grad.Out{Residual: h})
			if trim {
				tp.Trim(mark, next)
				tp.Done(h)
			}
			h = next
		}
		loss := tp.CrossEntropy(h, tp.Ints(make([]int32, rows), rows), tp.Value(tp.Floats(make([]float32, rows), rows)), op.CrossEntropy{})
		if record {
			tp.Backward(loss)
		}
		return (dev.PeakBytes() - begin + unit - 1) / unit
	}
	for _, c := range []struct {
		trained, trim, record bool
		most                  int64
	}{
		{false, true, false, 5},           // h, x, y, the next h
		{false, true, true, layers + 6},   // h of each layer
		{true, true, true, 2*layers + 6},  // h and y of each
		{true, false, true, 3*layers + 6}, // h, x and y
	} {
		if got := peak(c.trained, c.trim, c.record); got > c.most {
			t.Errorf("%+v: %d matrices at once", c, got)
		}
	}
}

func TestGoneValues(t *testing.T) {
	dev := cpu.New(1)
	defer dev.Close()
	tp := grad.New(dev)
	tp.Begin(grad.Step{})
	x := tp.Floats([]float32{1, 2, 3}, 3)
	y := tp.Scale(x, 2)
	v, pinned := tp.View(y, 1, 3), tp.Scale(x, 3)
	tp.Pin(tp.View(pinned, 3, 1))
	tp.Done(x, pinned)
	tp.Trim(1, v)
	got := make([]float32, 3)
	for _, c := range []struct {
		v    grad.Var
		want float32
	}{{x, 3}, {y, 6}, {v, 6}, {pinned, 9}} {
		if tp.Read(got, c.v); got[2] != c.want {
			t.Errorf("value %g, want %g", got[2], c.want)
		}
	}
	tp.Done(v)
	defer func() {
		if recover() == nil {
			t.Error("a value that was given back could be read")
		}
	}()
	tp.Read(got, y)
}
