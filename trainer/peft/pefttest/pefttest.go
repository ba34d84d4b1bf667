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
	"espalier/trainer/grad"
	"espalier/trainer/model/t5"
	"espalier/trainer/op"
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
func Near[A, B float32 | float64](t testing.TB, what string, got []A, want []B, within float64) {
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
func Largest[F float32 | float64](x []F) float64 {
	m := 0.0
	for _, v := range x {
		m = max(m, math.Abs(float64(v)))
	}
	return m
}

// NearGradient compares gradients relative to the largest entry.
func NearGradient[A, B float32 | float64](t testing.TB, what string, got []A, want []B, within float64) {
	t.Helper()
	Near(t, "gradient of "+what, got, want, max(within*Largest(want), 1e-9))
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
	// Rename gives the path of a parameter for the reference's name, "" for those
	// that the method does not have; their gradients are zero.
	Rename func(name string) string
	// Zero are patterns of trained parameters that the reference does not have;
	// they are set to zero.
	Zero   []string
	Given  peft.Given // what the model is run on, if the method asks
	Task   int
	Images t5.Images
}

// Run edits the base model with the methods, sets all trained parameters to
// the reference's, and compares logits, loss and all gradients, in float64 and
// in float32.
func (g Golden) Run(t *testing.T, methods ...peft.Method) {
	t.Helper()
	folder := filepath.Join(shared.Dir(t, "goldens", "models"), filepath.FromSlash(g.Folder))
	var meta struct {
		Distance float64 `json:"logits_max_abs_diff_f32_f64"` // of the reference, if it has a run in float32
	}
	JSON(t, &meta, folder, "meta.json")
	out, grads := Weights(t, folder, "outputs64.safetensors"), Weights(t, folder, "grads64.safetensors")
	want := &run{logits: Wide(t, out, "logits"), loss: Wide(t, out, "loss"), gradients: map[string][]float64{}}
	for _, name := range grads.Names() {
		x := Wide(t, grads, name)
		if g.Rename(name) != "" {
			want.gradients[name] = x
		} else if Largest(x) > 0 {
			t.Errorf("the method does not have %s, which has a gradient", name)
		}
	}
	exact := g.run(t, Exact(), methods)
	exact.near(t, want, exactWithin)
	exact.nearGradients(t, "float64: ", want, exactGradientWithin)

	got, rounded := g.run(t, Fast(), methods), g.run(t, Rounding(), methods)
	if meta.Distance == 0 {
		meta.Distance = farthest(rounded.logits, want.logits)
	}
	Near(t, "logits", got.logits, want.logits, max(4*meta.Distance, 1e-6*Largest(want.logits)))
	Near(t, "loss", got.loss, want.loss, 1e-5)
	got.nearGradients(t, "", want, within(rounded.farthest(want)))
}

// run computes the golden's case on a device.
func (g Golden) run(t *testing.T, d op.Device, methods []peft.Method) *run {
	t.Helper()
	defer d.Close()
	dir := shared.Dir(t, "goldens", "models")
	b, err := t5.Open(d, filepath.Join(dir, g.Base), t5.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	none := 0.0
	b.Config.Drop = &none
	m, err := t5.New(b, t5.Options{Methods: methods, Given: g.Given})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Free()
	names := g.set(t, m, Weights(t, dir, g.Folder, "trainable.safetensors"))
	inputs := Weights(t, dir, g.Base, "inputs.safetensors")
	src := Rows(t, inputs, "main/input_ids", "main/attention_mask")
	labels := Rows(t, inputs, "main/labels", "")
	tape := grad.New(d)
	tape.Begin(grad.Step{})
	logits, err := m.Logits(tape, src, Shifted(m, labels), g.Task, g.Images)
	if err != nil {
		t.Fatal(err)
	}
	out := &run{logits: Numbers(d, tape.Value(logits)), gradients: map[string][]float64{}}
	tape.Begin(grad.Step{Grad: true})
	m.Params().Train()
	loss, _, err := m.Loss(tape, &t5.Batch{Source: Texts(src), Target: Texts(labels), Task: g.Task, Images: g.Images}, t5.LossOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out.loss = Numbers(d, tape.Value(loss))
	tape.Backward(loss)
	for name, path := range names {
		if p := m.Params().Get(path); p != nil && !p.Grad.IsZero() {
			out.gradients[name] = Numbers(d, p.Grad)
		}
	}
	if err := d.Err(); err != nil {
		t.Error(err)
	}
	return out
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
