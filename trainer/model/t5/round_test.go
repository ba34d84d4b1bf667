package t5_test

import (
	"math"
	"slices"
	"testing"

	"espalier/internal/shared"
	"espalier/trainer/cpu"
	"espalier/trainer/decode"
	"espalier/trainer/grad"
	"espalier/trainer/model/t5"
	"espalier/trainer/op"
	"espalier/trainer/peft"
	"espalier/trainer/peft/lora"
	"espalier/trainer/peft/pefttest"
	"espalier/trainer/plain"
)

// rounded is what a model over a bfloat16 backbone gives.
type rounded struct {
	logits, gradient []float64
	tokens           []int32
}

func runRounded(t *testing.T, dev op.Device, o t5.OpenOptions) (r rounded) {
	t.Helper()
	defer dev.Close()
	dir := shared.Dir(t, "goldens", "models", "t5-v1_1")
	b, err := t5.Open(dev, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	none := 0.0
	m, err := t5.New(b, t5.Options{Methods: []peft.Method{&lora.Method{Norms: true}}, Drop: &none, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Free()
	in := pefttest.Weights(t, dir, "inputs.safetensors")
	src, labels := pefttest.Rows(t, in, "main/input_ids", "main/attention_mask"), pefttest.Rows(t, in, "main/labels", "")
	tape := grad.New(dev)
	tape.Begin(grad.Step{})
	logits, err := m.Logits(tape, src, pefttest.Shifted(m, labels), 0, t5.Images{})
	if err != nil {
		t.Fatal(err)
	}
	r.logits = pefttest.Numbers(dev, tape.Value(logits))
	m.Params().Train()
	tape.Begin(grad.Step{Grad: true})
	loss, _, err := m.Loss(tape, &t5.Batch{Source: pefttest.Texts(src), Target: pefttest.Texts(labels)}, t5.LossOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tape.Backward(loss)
	r.gradient = pefttest.Numbers(dev, m.Params().Get("encoder.block.0.layer.0.layer_norm.weight").Grad)
	g := decode.Generation{MaxNew: 6, EOS: -1}
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	st, err := m.Stepper(pefttest.Texts(src), 0, t5.Images{}, 1, g.MaxNew)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	all, err := g.Run(t.Context(), st, make([]uint64, src.Rows))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range all {
		r.tokens = append(r.tokens, h[0].Tokens...)
	}
	if err := dev.Err(); err != nil {
		t.Error(err)
	}
	return r
}

// Products that round what they read as well differ from those of float32 by
// about a hundredth, forward and backward, and are the same on every number of
// threads; the plain device rounds at the same places.
func TestRound(t *testing.T) {
	half, round := t5.OpenOptions{Half: true}, t5.OpenOptions{Half: true, Round: true}
	exact, got := runRounded(t, cpu.New(2), half), runRounded(t, cpu.New(2), round)
	plainly := runRounded(t, plain.New(false), round)
	if again := runRounded(t, cpu.New(1), round); !slices.Equal(again.logits, got.logits) || !slices.Equal(again.gradient, got.gradient) || !slices.Equal(again.tokens, got.tokens) {
		t.Error("other numbers with another number of threads")
	}
	for _, c := range []struct {
		what             string
		got, near, exact []float64
	}{{"logits", got.logits, plainly.logits, exact.logits}, {"gradient", got.gradient, plainly.gradient, exact.gradient}} {
		if slices.Equal(c.got, c.exact) {
			t.Errorf("%s: nothing is rounded", c.what)
		}
		pefttest.Near(t, c.what+" beside float32", c.got, c.exact, 0.05*pefttest.Largest(c.exact))
		// A number on the border between two of bfloat16 may go either way.
		pefttest.Near(t, c.what+" beside float64", c.got, c.near, 0.02*pefttest.Largest(c.near))
		var xy, xx, yy float64
		for i, x := range c.got {
			xy, xx, yy = xy+x*c.exact[i], xx+x*x, yy+c.exact[i]*c.exact[i]
		}
		if cos := xy / math.Sqrt(xx*yy); !(cos > 0.999) {
			t.Errorf("%s: cosine with float32 %g", c.what, cos)
		}
	}
}
