package t5_test

import (
	"testing"

	"espalier/trainer/cpu"
	"espalier/trainer/decode"
	"espalier/trainer/grad"
	"espalier/trainer/model/t5"
	"espalier/trainer/optim"
	"espalier/trainer/peft"
	"espalier/trainer/peft/full"
	"espalier/trainer/peft/methods"
)

// of returns a method by its name.
func of(name string) peft.Method {
	c := methods.Config{Name: name}
	if err := c.Check(); err != nil {
		panic(err)
	}
	return c.Methods()[0]
}

// base is the size of T5-base.
var base = t5.Config{Vocab: 32128, Width: 768, HeadWidth: 64, Hidden: 3072, Layers: 12, Heads: 12}

// benchBatch is 8 texts of 128 tokens with targets of 32.
func benchBatch() *t5.Batch {
	b := &t5.Batch{}
	for i := range 8 {
		text := func(n int) []int32 {
			x := make([]int32, n)
			for j := range x {
				x[j] = int32(2 + (i*7919+j*104729)%32000)
			}
			return x
		}
		b.Source, b.Target = append(b.Source, text(128)), append(b.Target, text(32))
	}
	return b
}

func benchModel(b *testing.B, threads int, edits ...peft.Method) (*cpu.Device, *t5.Model) {
	b.Helper()
	dev := cpu.New(threads)
	back, err := t5.Random(dev, base, 1)
	if err != nil {
		b.Fatal(err)
	}
	m, err := t5.New(back, t5.Options{Methods: edits, Given: peft.Given{Tasks: make([]string, 8)}})
	if err != nil {
		b.Fatal(err)
	}
	if err := back.Close(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		m.Free()
		dev.Close()
	})
	return dev, m
}

// BenchmarkStep is a training step at the size of T5-base.
func BenchmarkStep(b *testing.B) {
	for _, c := range []struct {
		name   string
		method peft.Method
	}{
		{"full", &full.Method{}},
		{"adapter", of("adapter")},
		{"hyperpelt", of("hyperpelt")},
	} {
		for _, threads := range []int{1, 2} {
			b.Run(c.name+" threads="+string(rune('0'+threads)), func(b *testing.B) {
				dev, m := benchModel(b, threads, c.method)
				opt := optim.NewAdam(m.Params(), optim.AdamConfig{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8})
				defer opt.Free()
				tape := grad.New(dev)
				batch, n := benchBatch(), uint64(0)
				for b.Loop() {
					tape.Begin(grad.Step{Grad: true, Drop: true, Number: n})
					m.Params().ZeroGrads()
					loss, _, err := m.Loss(tape, batch, t5.LossOptions{})
					if err != nil {
						b.Fatal(err)
					}
					tape.Backward(loss)
					opt.Update(1e-4)
					n++
				}
				b.ReportMetric(float64(dev.PeakBytes())/1e6, "peak-MB")
			})
		}
	}
}

// BenchmarkGenerate writes 32 tokens for 8 texts of 128.
func BenchmarkGenerate(b *testing.B) {
	for _, beams := range []int{1, 4} {
		b.Run("beams="+string(rune('0'+beams)), func(b *testing.B) {
			_, m := benchModel(b, 2)
			g := decode.Generation{Beams: beams, MaxNew: 32, EOS: -1}
			if err := g.Check(); err != nil {
				b.Fatal(err)
			}
			batch := benchBatch()
			m.Pack()
			for b.Loop() {
				st, err := m.Stepper(batch.Source, 0, t5.Images{}, g.Rows(), 32)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := g.Run(b.Context(), st, make([]uint64, 8)); err != nil {
					b.Fatal(err)
				}
				st.Close()
			}
		})
	}
}
