package grad_test

import (
	"math"
	"testing"

	"espalier/trainer/cpu"
	"espalier/trainer/grad"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// Losses of logits that are made some rows at a time have the bits of those of
// all logits.
func TestProjectLoss(t *testing.T) {
	const rows, n, classes = 217, 24, 40000 // several parts, the last one shorter
	dev := cpu.New(2)
	defer dev.Close()
	tp := grad.New(dev)
	s := noise(5)
	x, w := s.slice(rows*n), dev.Keep(tensor.Float32, classes, n)
	dev.Write(w, s.slice(classes*n))
	targets, weights := make([]int32, rows), make([]float32, rows)
	for i := range targets {
		targets[i], weights[i] = int32(i*181%classes), 1/float32(rows)
		if i%7 == 0 {
			targets[i] = -1
		}
	}
	value, dx := dev.Keep(tensor.Float32, rows, n), dev.Keep(tensor.Float32, rows, n)
	dev.Write(value, x)
	run := func(record, fused bool) (loss [1]float32, gradient []float32) {
		dev.Zero(dx)
		tp.Begin(grad.Step{Grad: record})
		v, ws := tp.Leaf(value, dx), tp.Value(tp.Floats(weights, rows))
		frozen, c := tp.Leaf(w, tensor.Tensor{}), op.CrossEntropy{Smoothing: 0.1}
		var l grad.Var
		if fused {
			l = tp.ProjectLoss(v, frozen, tp.Ints(targets, rows), ws, c)
		} else {
			l = tp.CrossEntropy(tp.Linear(v, frozen, 0, grad.Out{}), tp.Ints(targets, rows), ws, c)
		}
		tp.Read(loss[:], l)
		if record {
			tp.Backward(l)
		}
		gradient = make([]float32, rows*n)
		dev.Read(gradient, dx)
		return loss, gradient
	}
	for _, record := range []bool{false, true} {
		want, wantGradient := run(record, false)
		got, gradient := run(record, true)
		if got != want || want[0] == 0 {
			t.Errorf("loss %g, want %g", got, want)
		}
		for i, g := range wantGradient {
			if math.Float32bits(gradient[i]) != math.Float32bits(g) {
				t.Fatalf("gradient %g at %d, want %g", gradient[i], i, g)
			}
		}
	}
}
