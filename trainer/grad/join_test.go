package grad_test

import (
	"testing"

	"espalier/trainer/cpu"
	"espalier/trainer/grad"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// Cuts of one value write into one gradient, and no other is made.
func TestCutsShareAGradient(t *testing.T) {
	const parts, n = 16, 4096
	dev := &counter{Device: cpu.New(1)}
	defer dev.Close()
	tp := grad.New(dev)
	w, dw := dev.Keep(tensor.Float32, parts, n), dev.Keep(tensor.Float32, parts, n)
	tp.Begin(grad.Step{Grad: true})
	whole := tp.Scale(tp.Leaf(w, dw), 1)
	var rows []grad.Var
	for i := range parts {
		rows = append(rows, tp.Scale(tp.Cut(whole, 0, i, i+1), float64(i)))
	}
	sum := rows[0]
	for _, r := range rows[1:] {
		sum = tp.Add(sum, r)
	}
	ones := make([]float32, n)
	for i := range ones {
		ones[i] = 1
	}
	dev.zeros, dev.axpys = 0, 0
	tp.Backward(tp.Linear(sum, tp.Floats(ones, 1, n), 0, grad.Out{}))
	if dev.zeros != 1 || dev.axpys > parts*n+parts*n { // of the leaf, and of rows
		t.Errorf("%d gradients were zeroed, %d numbers added", dev.zeros, dev.axpys)
	}
	got := make([]float32, parts*n)
	dev.Read(got, dw)
	for i, v := range got {
		if v != float32(i/n) {
			t.Fatalf("gradient %g of row %d", v, i/n)
		}
	}
}

// A counter counts gradients that are zeroed and numbers that are added.
type counter struct {
	*cpu.Device
	zeros, axpys int
}

func (d *counter) Zero(t tensor.Tensor) { d.zeros++; d.Device.Zero(t) }

func (d *counter) Axpy(y, x tensor.Tensor, alpha float32) {
	d.axpys += y.Len()
	d.Device.Axpy(y, x, alpha)
}

var _ op.Device = (*counter)(nil)
