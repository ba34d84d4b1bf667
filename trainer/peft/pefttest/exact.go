package pefttest

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"testing"

	"espalier/trainer/ckpt"
	"espalier/trainer/cpu"
	"espalier/trainer/op"
	"espalier/trainer/plain"
	"espalier/trainer/tensor"
)

// How near results are to a reference in float64. Those of a plain device have
// the rounding of float64 alone; gradients of the references are stored in
// float32. Distances of gradients are relative to the tensor's largest entry;
// that of float32 is the one of the goldens' README.md.
const (
	exactWithin         = 1e-11
	boxesWithin         = 1e-8 // the area of a box is an input, in float32
	exactGradientWithin = 1e-7
	gradientWithin      = 1e-5
)

// within is how near gradients in float32 are to float64, where those of a plain
// device that rounds are as far as rounded. Models of which plain float32
// arithmetic leaves little of the distance are given a multiple of that.
func within(rounded float64) float64 {
	if rounded < gradientWithin/2 {
		return gradientWithin
	}
	return max(gradientWithin, 8*rounded)
}

// Numbers reads a tensor in float64.
func Numbers(d op.Device, t tensor.Tensor) []float64 {
	if _, ok := d.(*plain.Device); ok {
		return plain.Floats(t)
	}
	x := make([]float32, t.Len())
	d.Read(x, t)
	return widen(x)
}

// Fast is the device of the processor.
func Fast() op.Device { return cpu.New(2) }

// Exact is the plain device.
func Exact() op.Device { return plain.New(false) }

// Rounding is the plain device that rounds to float32.
func Rounding() op.Device { return plain.New(true) }

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// Wide reads a tensor of a file in float64.
func Wide(t testing.TB, w ckpt.Weights, name string) []float64 {
	t.Helper()
	if in, ok := w.Info(name); !ok || in.DType != ckpt.F64 {
		return widen(Floats(t, w, name))
	}
	b, err := w.Raw(name)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float64, len(b)/8)
	for i := range x {
		x[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return x
}

// A run is what a device makes of a golden's inputs.
type run struct {
	logits, loss []float64
	gradients    map[string][]float64
	tasks        []float64 // losses of each task
	trained      int       // values
}

// near compares a run in float64 with the reference's numbers.
func (r *run) near(t testing.TB, want *run, within float64) {
	t.Helper()
	Near(t, "float64: logits", r.logits, want.logits, within*max(1, Largest(want.logits)))
	Near(t, "float64: loss", r.loss, want.loss, within*max(1, Largest(want.loss)))
}

// nearGradients compares all gradients with the reference's.
func (r *run) nearGradients(t testing.TB, what string, want *run, within float64) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want.gradients)) {
		if r.gradients[name] == nil {
			t.Errorf("%s%s has no gradient", what, name)
			continue
		}
		NearGradient(t, what+name, r.gradients[name], want.gradients[name], within)
	}
}

// farthest is the largest distance of a gradient from the reference's.
func (r *run) farthest(want *run) float64 {
	worst := 0.0
	for name, x := range want.gradients {
		if got, largest := r.gradients[name], Largest(x); largest > 0 && len(got) == len(x) {
			worst = max(worst, farthest(got, x)/largest)
		}
	}
	return worst
}

// farthest is the largest distance of two numbers.
func farthest(got, want []float64) float64 {
	worst := 0.0
	for i, v := range want {
		worst = max(worst, math.Abs(got[i]-v))
	}
	return worst
}
