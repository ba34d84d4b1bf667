package hyperpelt

import (
	"testing"

	"espalier/trainer/cpu"
	"espalier/trainer/grad"
	"espalier/trainer/model/t5"
	"espalier/trainer/peft"
	"espalier/trainer/peft/adapter"
)

// BenchmarkStep is a step over layers of T5-base, batch 8 x 128/32, by HyperPELT
// and by plain adapters of the same width beside the feed-forwards.
func BenchmarkStep(b *testing.B) {
	dev := cpu.New(2)
	defer dev.Close()
	back, err := t5.Random(dev, t5.Config{Vocab: 1000, Width: 768, HeadWidth: 64, Hidden: 3072, Layers: 3, Heads: 12}, 1)
	if err != nil {
		b.Fatal(err)
	}
	defer back.Close()
	batch := &t5.Batch{}
	for i := range 8 {
		source, target := make([]int32, 128), make([]int32, 32)
		for j := range source {
			source[j] = int32(2 + (i*131+j*17)%990)
		}
		for j := range target {
			target[j] = int32(2 + (i*57+j*29)%990)
		}
		batch.Source, batch.Target = append(batch.Source, source), append(batch.Target, target)
	}
	for _, c := range []struct {
		name   string
		method peft.Method
	}{
		{"adapter", &adapter.Method{Sites: adapter.Sites{Sites: []string{"feed_forward"}}, Place: adapter.Place{Position: "parallel"}}},
		{"adapters", &adapter.Method{}},
		{"hyperprefix", &Prefix{}},
		{"hyperpelt", &Method{}},
	} {
		b.Run(c.name, func(b *testing.B) {
			m, err := t5.New(back, t5.Options{Methods: []peft.Method{c.method}, Given: peft.Given{Tasks: make([]string, 8)}, Seed: 1})
			if err != nil {
				b.Fatal(err)
			}
			defer m.Free()
			m.Params().Train()
			tape := grad.New(dev)
			for n := uint64(0); b.Loop(); n++ {
				tape.Begin(grad.Step{Grad: true, Drop: true, Seed: 1, Number: n})
				m.Params().ZeroGrads()
				loss, _, err := m.Loss(tape, batch, t5.LossOptions{})
				if err != nil {
					b.Fatal(err)
				}
				tape.Backward(loss)
			}
		})
	}
}
