// Package pefttest compares edited models with outputs of reference
// implementations, for tests only.
package pefttest

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"espalier/internal/shared"
	"espalier/trainer/ckpt"
	"espalier/trainer/cpu"
	"espalier/trainer/grad"
	"espalier/trainer/model/t5"
	"espalier/trainer/peft"
)

// Floats reads a tensor of a file.
func Floats(t testing.TB, w ckpt.Weights, name string) []float32 {
	t.Helper()
	x, err := ckpt.AsFloats(w, name)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Ints reads a tensor of integers.
func Ints(t testing.TB, w ckpt.Weights, name string) []int32 {
	t.Helper()
	x, err := ckpt.AsInts(w, name)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]int32, len(x))
	for i, v := range x {
		out[i] = int32(v)
	}
	return out
}

// Weights opens a file of weights until the test ends.
func Weights(t testing.TB, elem ...string) ckpt.Weights {
	t.Helper()
	w, err := ckpt.OpenWeights(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// JSON reads a file.
func JSON(t testing.TB, v any, elem ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatal(err)
	}
}

// Near compares numbers within a distance.
func Near(t testing.TB, what string, got, want []float32, within float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d numbers, want %d", what, len(got), len(want))
		return
	}
	worst, at := 0.0, 0
	for i := range got {
		d := math.Abs(float64(got[i]) - float64(want[i]))
		if !(d <= worst) {
			worst, at = d, i
		}
	}
	if !(worst <= within) {
		t.Errorf("%s: element %d is %g, want %g within %.2g", what, at, got[at], want[at], within)
	}
}

// Largest returns the largest magnitude.
func Largest(x []float32) float64 {
	m := 0.0
	for _, v := range x {
		m = max(m, math.Abs(float64(v)))
	}
	return m
}

// NearGradient compares gradients relative to the largest entry.
func NearGradient(t testing.TB, what string, got, want []float32, within float64) {
	t.Helper()
	Near(t, "gradient of "+what, got, want, max(within*Largest(want), 1e-9))
}

// gradientWithin is how near gradients are to those of a float64 run, relative
// to a tensor's largest: 1e-5.
const gradientWithin = 1e-5

// steepWithin is how near those of a steep model are: twenty times as far as the
// reference's own float32 run, whose largest distance is own.
func steepWithin(t testing.TB, grads ckpt.Weights, own float64) float64 {
	t.Helper()
	largest := 0.0
	for _, name := range grads.Names() {
		largest = max(largest, Largest(Floats(t, grads, name)))
	}
	return max(gradientWithin, 20*own/largest)
}

// Rows reads the tensors CASE/NAME and its mask, if there is one, as rows.
func Rows(t testing.TB, w ckpt.Weights, ids, mask string) *t5.Source {
	t.Helper()
	in, ok := w.Info(ids)
	if !ok {
		t.Fatalf("no tensor %s", ids)
	}
	s := &t5.Source{Rows: in.Shape[0], Len: in.Shape[1], IDs: Ints(t, w, ids)}
	if _, ok := w.Info(mask); ok {
		for _, v := range Ints(t, w, mask) {
			s.Mask = append(s.Mask, float32(v))
		}
	}
	return s
}

// Texts returns rows without what a mask or negative ids leave out.
func Texts(s *t5.Source) [][]int32 {
	var out [][]int32
	for r := range s.Rows {
		row := s.IDs[r*s.Len:][:s.Len]
		n := s.Len
		for n > 0 && (row[n-1] < 0 || s.Mask != nil && s.Mask[r*s.Len+n-1] == 0) {
			n--
		}
		out = append(out, slices.Clone(row[:n]))
	}
	return out
}

// A Golden is outputs of a reference: a base model, edited.
type Golden struct {
	Base   string // folder of goldens/models
	Folder string // such as peft/t5-v1_0/lora_qv
	// Rename gives the path of a parameter for the reference's name.
	Rename func(name string) string
	// Zero are patterns of trained parameters that the reference does not have;
	// they are set to zero.
	Zero []string
	// Steep says that gradients in float32 differ by more than the goldens' 1e-5;
	// the bound is then steepWithin.
	Steep bool
}

// Run edits the base model with the methods, sets all trained parameters to
// the reference's, and compares logits, loss and all gradients.
func (g Golden) Run(t *testing.T, methods ...peft.Method) {
	t.Helper()
	dir := shared.Dir(t, "goldens", "models")
	folder := filepath.Join(dir, filepath.FromSlash(g.Folder))
	dev := cpu.New(2)
	defer dev.Close()
	b, err := t5.Open(dev, filepath.Join(dir, g.Base), t5.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	none := 0.0
	b.Config.Drop = &none
	m, err := t5.New(b, t5.Options{Methods: methods})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Free()
	trained := Weights(t, folder, "trainable.safetensors")
	names := g.set(t, m, trained)
	inputs := Weights(t, dir, g.Base, "inputs.safetensors")
	src := Rows(t, inputs, "main/input_ids", "main/attention_mask")
	labels := Rows(t, inputs, "main/labels", "")
	tape := grad.New(dev)

	var meta struct {
		Distance  float64 `json:"logits_max_abs_diff_f32_f64"`
		Gradients float64 `json:"grad_max_abs_diff_f32_f64"`
	}
	JSON(t, &meta, folder, "meta.json")
	out := Weights(t, folder, "outputs64.safetensors")
	tape.Begin(grad.Step{})
	logits, err := m.Logits(tape, src, Shifted(m, labels), 0, t5.Images{})
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float32, tape.Value(logits).Len())
	tape.Read(got, logits)
	want := Floats(t, out, "logits")
	Near(t, "logits", got, want, max(4*meta.Distance, 1e-6*Largest(want)))

	tape.Begin(grad.Step{Grad: true})
	m.Params().Train()
	loss, _, err := m.Loss(tape, &t5.Batch{Source: Texts(src), Target: Texts(labels)}, t5.LossOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var l [1]float32
	tape.Read(l[:], loss)
	Near(t, "loss", l[:], Floats(t, out, "loss"), 1e-5)
	tape.Backward(loss)
	grads := Weights(t, folder, "grads64.safetensors")
	within, floor := gradientWithin, 1e-9
	if g.Steep {
		// Small gradients carry the rounding of the large ones behind them.
		within, floor = steepWithin(t, grads, meta.Gradients), meta.Gradients/10
	}
	for _, name := range grads.Names() {
		p := m.Params().Get(names[name])
		if p == nil || p.Grad.IsZero() {
			t.Errorf("%s has no gradient", name)
			continue
		}
		got := make([]float32, p.Len())
		dev.Read(got, p.Grad)
		want := Floats(t, grads, name)
		Near(t, "gradient of "+name, got, want, max(within*Largest(want), floor))
	}
	if err := dev.Err(); err != nil {
		t.Error(err)
	}
}

// set gives the trained parameters the reference's values, and returns the
// path of each name.
func (g Golden) set(t *testing.T, m *t5.Model, w ckpt.Weights) map[string]string {
	t.Helper()
	paths := map[string]string{}
	done := map[string]bool{}
	for _, name := range w.Names() {
		path := g.Rename(name)
		if path == "" {
			continue
		}
		if err := m.Params().Set(path, Floats(t, w, name)); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		paths[name], done[path] = path, true
	}
	for _, p := range m.Params().All() {
		if p.Frozen || done[p.Path] {
			continue
		}
		zero := slices.ContainsFunc(g.Zero, func(pattern string) bool { return peft.Match(pattern, p.Path) })
		if !zero {
			t.Errorf("%s is trained, the reference has no such parameter", p.Path)
		} else if err := m.Params().Set(p.Path, make([]float32, p.Len())); err != nil {
			t.Error(err)
		}
	}
	return paths
}

// Shifted makes the decoder's inputs of labels, as the reference does.
func Shifted(m *t5.Model, labels *t5.Source) *t5.Source {
	c := m.Config()
	s := &t5.Source{Rows: labels.Rows, Len: labels.Len}
	for r := range s.Rows {
		s.IDs = append(s.IDs, c.Start)
		for _, id := range labels.IDs[r*s.Len:][:s.Len-1] {
			if id < 0 {
				id = c.Pad
			}
			s.IDs = append(s.IDs, id)
		}
	}
	return s
}
