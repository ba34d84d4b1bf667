package t5_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"espalier/internal/shared"
	"espalier/trainer/cpu"
	"espalier/trainer/grad"
	"espalier/trainer/model/t5"
	"espalier/trainer/op"
	"espalier/trainer/optim"
	"espalier/trainer/peft"
	"espalier/trainer/peft/full"
	"espalier/trainer/peft/pefttest"
)

var models = []string{"t5-v1_0", "t5-v1_1", "t5-square"}

// eachDevice runs a test of each reference on the plain device, which is exact,
// and on that of the processor.
func eachDevice(t *testing.T, test func(t *testing.T, dev op.Device, exact bool, name string)) {
	for _, name := range models {
		t.Run(name+" float64", func(t *testing.T) { test(t, pefttest.Exact(), true, name) })
		t.Run(name, func(t *testing.T) { test(t, pefttest.Fast(), false, name) })
	}
}

// open opens a reference's model without dropout, all of it trained.
func open(t *testing.T, dev op.Device, name string) (*t5.Model, *grad.Tape) {
	t.Helper()
	b, err := t5.Open(dev, shared.Dir(t, "goldens", "models", name), t5.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	none := 0.0
	b.Config.Drop = &none
	m, err := t5.New(b, t5.Options{Methods: []peft.Method{&full.Method{}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.Free()
		dev.Close()
	})
	return m, grad.New(dev)
}

type meta struct {
	Cases map[string]struct {
		Inputs   []string
		Distance float64 `json:"max_abs_diff_f32_f64"`
		Loss64   float64 `json:"loss_f64"`
	}
}

func abs(x float64) float64 { return max(x, -x) }

func TestReferenceOutputs(t *testing.T) {
	eachDevice(t, func(t *testing.T, dev op.Device, exact bool, name string) {
		m, tape := open(t, dev, name)
		dir := shared.Dir(t, "goldens", "models", name)
		in, out, out64 := pefttest.Weights(t, dir, "inputs.safetensors"), pefttest.Weights(t, dir, "outputs.safetensors"), pefttest.Weights(t, dir, "outputs64.safetensors")
		var about meta
		pefttest.JSON(t, &about, dir, "meta.json")
		for c, x := range about.Cases {
			t.Run(c, func(t *testing.T) {
				src := pefttest.Rows(t, in, c+"/input_ids", c+"/attention_mask")
				var dec *t5.Source
				if slices.Contains(x.Inputs, "labels") {
					dec = pefttest.Shifted(m, pefttest.Rows(t, in, c+"/labels", ""))
				} else {
					dec = pefttest.Rows(t, in, c+"/decoder_input_ids", c+"/decoder_attention_mask")
				}
				seen := map[string][]float64{}
				t5.Trace(m, func(s string, i int, v grad.Var) {
					seen[fmt.Sprintf("%s_hidden_states.%d", s, i)] = pefttest.Numbers(dev, tape.Value(v))
				})
				tape.Begin(grad.Step{})
				logits, err := m.Logits(tape, src, dec, 0, t5.Images{})
				if err != nil {
					t.Fatal(err)
				}
				within := 4 * x.Distance
				if exact {
					within = 1e-11
				}
				pefttest.Near(t, "logits", pefttest.Numbers(dev, tape.Value(logits)), pefttest.Wide(t, out64, c+"/logits"), within)
				for n, got := range seen {
					if _, ok := out.Info(c + "/" + n); ok {
						want := pefttest.Floats(t, out, c+"/"+n)
						pefttest.Near(t, n, got, want, 1e-5*(1+pefttest.Largest(want)))
					} else if c != "long" {
						t.Errorf("no stored %s", n)
					}
				}
			})
		}
	})
}

func TestReferenceGradients(t *testing.T) {
	eachDevice(t, func(t *testing.T, dev op.Device, exact bool, name string) {
		m, tape := open(t, dev, name)
		dir := shared.Dir(t, "goldens", "models", name)
		in := pefttest.Weights(t, dir, "inputs.safetensors")
		var about meta
		pefttest.JSON(t, &about, dir, "meta.json")
		batch := &t5.Batch{
			Source: pefttest.Texts(pefttest.Rows(t, in, "main/input_ids", "main/attention_mask")),
			Target: pefttest.Texts(pefttest.Rows(t, in, "main/labels", "")),
		}
		opt := optim.NewAdam(m.Params(), optim.AdamConfig{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, WeightDecay: 0.01})
		defer opt.Free()
		step := func() []float64 {
			tape.Begin(grad.Step{Grad: true})
			m.Params().ZeroGrads()
			loss, _, err := m.Loss(tape, batch, t5.LossOptions{})
			if err != nil {
				t.Fatal(err)
			}
			tape.Backward(loss)
			return pefttest.Numbers(dev, tape.Value(loss))
		}
		ofLoss, ofGradients := 1e-5, 1e-5
		if exact {
			ofLoss, ofGradients = 1e-11, 1e-7
		}
		pefttest.Near(t, "loss", step(), []float64{about.Cases["main"].Loss64}, ofLoss)
		grads := pefttest.Weights(t, dir, "grads64.safetensors")
		for _, name := range grads.Names() {
			p := m.Params().Get(name)
			if p == nil {
				t.Errorf("no parameter %s", name)
				continue
			}
			pefttest.NearGradient(t, name, pefttest.Numbers(dev, p.Grad), pefttest.Floats(t, grads, name), ofGradients)
		}
		if n, want := len(m.Params().All()), len(grads.Names()); n != want {
			t.Errorf("%d parameters, want %d", n, want)
		}
		opt.Update(0.01)
		step()
		opt.Update(0.01)
		after := pefttest.Weights(t, dir, "adamw64.safetensors")
		for _, p := range m.Params().All() {
			pefttest.Near(t, p.Path+" after two steps", pefttest.Numbers(dev, p.Value), pefttest.Floats(t, after, p.Path), 1e-5)
		}
	})
}

// The published size of T5-base, and of its parts (spec/hyperpelt.md 2.3).
func TestBaseSize(t *testing.T) {
	c := t5.Config{Vocab: 32128, Width: 768, HeadWidth: 64, Hidden: 3072, Layers: 12, Heads: 12}
	trained, all, err := t5.Count(c, t5.Options{Methods: []peft.Method{&full.Method{Train: []string{"**layer_norm.weight"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if all != 222903552 || trained != 47616 {
		t.Errorf("%d parameters, %d of norms, want 222903552 and 47616", all, trained)
	}
}

// Weights are the same from every file format.
func TestFormats(t *testing.T) {
	dir := shared.Dir(t, "goldens", "models", "t5-v1_1")
	dev := cpu.New(1)
	defer dev.Close()
	b, err := t5.Open(dev, dir, t5.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if b.Mapped() == 0 {
		t.Error("no tensor lies in the mapped file")
	}
	if !b.Config.OwnHead || *b.Config.Tied {
		t.Error("the head is the table")
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// A checkpoint of another size is refused with what was wanted and found.
func TestRefusesOtherSize(t *testing.T) {
	dir := shared.Dir(t, "goldens", "models")
	dev := cpu.New(1)
	defer dev.Close()
	var c t5.Config
	pefttest.JSON(t, &c, dir, "t5-v1_0", "config.json")
	c.Hidden = 30
	_, err := t5.NewBackbone(dev, c, pefttest.Weights(t, dir, "t5-v1_0", "model.safetensors"), t5.OpenOptions{})
	if want := "DenseReluDense.wi.weight has shape [28 16], want [30 16]"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	_, err = t5.NewBackbone(dev, c, pefttest.Weights(t, filepath.Join(dir, "bart-en"), "model.safetensors"), t5.OpenOptions{})
	if err == nil || !strings.Contains(err.Error(), "is missing") {
		t.Errorf("another kind of model: %v", err)
	}
}

// What is in the repository is enough to see that the model is right.
func TestStoredOutputs(t *testing.T) {
	dir := filepath.Join("testdata", "t5-v1_0")
	dev := cpu.New(2)
	defer dev.Close()
	b, err := t5.Open(dev, dir, t5.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	none := 0.0
	m, err := t5.New(b, t5.Options{Drop: &none})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Free()
	in, out := pefttest.Weights(t, dir, "inputs.safetensors"), pefttest.Weights(t, dir, "outputs64.safetensors")
	src, labels := pefttest.Rows(t, in, "main/input_ids", "main/attention_mask"), pefttest.Rows(t, in, "main/labels", "")
	tape := grad.New(dev)
	tape.Begin(grad.Step{})
	logits, err := m.Logits(tape, src, pefttest.Shifted(m, labels), 0, t5.Images{})
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float32, tape.Value(logits).Len())
	tape.Read(got, logits)
	pefttest.Near(t, "logits", got, pefttest.Floats(t, out, "main/logits"), 4.4e-4)
	tape.Begin(grad.Step{})
	loss, _, err := m.Loss(tape, &t5.Batch{Source: pefttest.Texts(src), Target: pefttest.Texts(labels)}, t5.LossOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tape.Read(got[:1], loss)
	pefttest.Near(t, "loss", got[:1], pefttest.Floats(t, out, "main/loss"), 1e-5)
}
