package hyperpelt

import (
	"strings"
	"testing"

	"espalier/internal/shared"
	"espalier/trainer/cpu"
	"espalier/trainer/grad"
	"espalier/trainer/model/t5"
	"espalier/trainer/optim"
	"espalier/trainer/peft/pefttest"
)

// Eight updates with tasks in turn, by the rules of transformers and torch.
func TestReferenceTraining(t *testing.T) {
	dir := shared.Dir(t, "goldens", "papers", "hyperpelt")
	var stored struct {
		History map[string][]struct {
			Task int
			Loss float64 `json:"loss_before"`
		}
	}
	pefttest.JSON(t, &stored, dir, "train.json")
	start := pefttest.Weights(t, dir, "hyperpelt.safetensors")
	in := pefttest.Weights(t, dir, "base.safetensors")
	batch := t5.Batch{
		Source: pefttest.Texts(pefttest.Rows(t, in, "inputs/source", "inputs/source_mask")),
		Target: pefttest.Texts(pefttest.Rows(t, in, "inputs/labels", "")),
	}
	for name, c := range map[string]struct {
		rate float64
		rule optim.Settings
	}{
		"adafactor":        {1e-3, optim.Settings{Kind: optim.AdafactorKind}},
		"adafactor_scaled": {1e-2, optim.Settings{Kind: optim.AdafactorKind, Scale: true}},
		"adamw":            {1e-3, optim.Settings{Kind: optim.AdamWKind}},
	} {
		t.Run(name, func(t *testing.T) {
			dev := cpu.New(2)
			defer dev.Close()
			m := pefttest.Model(t, dev, pefttest.Paper{}.Given(), &Method{small()})
			defer m.Free()
			for _, n := range start.Names() {
				if short, ok := strings.CutPrefix(n, "x/"); ok {
					if err := m.Params().Set(pefttest.HyperPath(short), pefttest.Floats(t, start, n)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := c.rule.Check(); err != nil {
				t.Fatal(err)
			}
			opt := c.rule.New(m.Params(), nil)
			defer opt.Free()
			tape := grad.New(dev)
			for i, want := range stored.History[name] {
				batch.Task = want.Task
				tape.Begin(grad.Step{Grad: true})
				m.Params().ZeroGrads()
				loss, _, err := m.Loss(tape, &batch, t5.LossOptions{})
				if err != nil {
					t.Fatal(err)
				}
				var got [1]float32
				tape.Read(got[:], loss)
				if d := float64(got[0]) - want.Loss; d > 2e-5 || d < -2e-5 {
					t.Errorf("loss before update %d is %g, want %g", i, got[0], want.Loss)
				}
				tape.Backward(loss)
				opt.Update(c.rate)
			}
			after := pefttest.Weights(t, dir, "train_"+name+".safetensors")
			for _, n := range after.Names() {
				path := pefttest.HyperPath(strings.TrimPrefix(n, "gain/"))
				want := pefttest.Floats(t, after, n)
				pefttest.Near(t, n, pefttest.Value(dev, m.Params().Get(path)), want, 1e-4*pefttest.Largest(want))
			}
		})
	}
}
