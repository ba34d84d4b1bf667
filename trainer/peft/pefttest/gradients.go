package pefttest

import (
	"math"
	"slices"
	"testing"

	"espalier/trainer/cpu"
	"espalier/trainer/grad"
	"espalier/trainer/model/t5"
	"espalier/trainer/peft"
)

// Toy returns a random model of two layers of the encoder and one of the
// decoder, edited by the methods, until the test ends. It needs no file.
func Toy(t testing.TB, g peft.Given, methods ...peft.Method) *t5.Model {
	t.Helper()
	dev := cpu.New(1)
	none := 0.0
	b, err := t5.Random(dev, t5.Config{Vocab: 19, Width: 8, HeadWidth: 3, Hidden: 12, Layers: 2, DecoderLayers: 1, Heads: 2, Drop: &none}, 7)
	if err != nil {
		t.Fatal(err)
	}
	m, err := t5.New(b, t5.Options{Methods: methods, Given: g, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.Free()
		if err := dev.Err(); err != nil {
			t.Error(err)
		}
		dev.Close()
	})
	return m
}

// ToyBatch is a batch of its second task, or of its only one, with images if
// there are any.
func ToyBatch(g peft.Given) *t5.Batch {
	b := &t5.Batch{
		Source: [][]int32{{4, 5, 6, 7, 1}, {8, 9, 1}},
		Target: [][]int32{{10, 11, 1}, {12, 1}},
		Task:   min(1, max(len(g.Tasks)-1, 0)),
	}
	if g.Visual > 0 {
		b.Images = t5.Images{Cells: g.Cells, Dim: g.Visual}
		for i := range len(b.Source) * g.Cells * g.Visual {
			b.Images.Features = append(b.Images.Features, float32(math.Cos(float64(5*i+2))))
		}
	}
	return b
}

// Loss computes a batch and, if back, its gradients.
func Loss(t testing.TB, m *t5.Model, tape *grad.Tape, b *t5.Batch, back bool) float64 {
	t.Helper()
	tape.Begin(grad.Step{Grad: back})
	if back {
		m.Params().Train()
	}
	l, _, err := m.Loss(tape, b, t5.LossOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var x [1]float32
	tape.Read(x[:], l)
	if back {
		tape.Backward(l)
	}
	return float64(x[0])
}

// Gradients edits the toy and compares the largest gradient of each trained
// parameter, of which each must have one, with finite differences. Initial
// values that are zero are replaced, so that nothing is cut off.
func Gradients(t *testing.T, g peft.Given, methods ...peft.Method) *t5.Model {
	t.Helper()
	m := Toy(t, g, methods...)
	dev := m.Params().Device()
	for i, p := range m.Params().All() {
		x := Value(dev, p)
		if p.Frozen || Largest(x) > 0.05 {
			continue
		}
		for j := range x {
			x[j] = float32(math.Sin(float64(i + 3*j + 1)))
		}
		if err := m.Params().Set(p.Path, x); err != nil {
			t.Fatal(err)
		}
	}
	tape, b := grad.New(dev), ToyBatch(g)
	Loss(t, m, tape, b, true)
	for _, p := range m.Params().All() {
		if p.Frozen {
			continue
		}
		x, got := Value(dev, p), make([]float32, p.Len())
		dev.Read(got, p.Grad)
		at := 0
		for i := range got {
			if math.Abs(float64(got[i])) > math.Abs(float64(got[at])) {
				at = i
			}
		}
		if got[at] == 0 {
			t.Errorf("%s gets no gradient", p.Path)
			continue
		}
		const h = 5e-4
		var side [2]float64
		for k, d := range []float32{-h, h} {
			y := slices.Clone(x)
			y[at] += d
			if err := m.Params().Set(p.Path, y); err != nil {
				t.Fatal(err)
			}
			side[k] = Loss(t, m, tape, b, false)
		}
		if err := m.Params().Set(p.Path, x); err != nil {
			t.Fatal(err)
		}
		if d := (side[1] - side[0]) / (2 * h); !(math.Abs(d-float64(got[at])) <= 2e-3+0.03*math.Abs(d)) {
			t.Errorf("gradient of %s at %d is %g, differences give %g", p.Path, at, got[at], d)
		}
	}
	return m
}

// StartsPlain checks that an edited model starts as the plain one.
func StartsPlain(t *testing.T, g peft.Given, methods ...peft.Method) {
	t.Helper()
	loss := func(m *t5.Model) float64 {
		return Loss(t, m, grad.New(m.Params().Device()), ToyBatch(g), false)
	}
	if got, want := loss(Toy(t, g, methods...)), loss(Toy(t, g)); got != want {
		t.Errorf("the first loss is %g, that of the plain model %g", got, want)
	}
}
