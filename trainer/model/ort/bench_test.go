package ort

import (
	"testing"

	"espalier/trainer/cpu"
	"espalier/trainer/decode"
	"espalier/trainer/grad"
	"espalier/trainer/optim"
)

// demo is a small ACORT as a demonstration trains it: grids of 7x7, 15 images
// with 5 captions of up to 10 words.
func demo(b *testing.B, width int) (*Model, *Batch) {
	dev := cpu.New(0)
	b.Cleanup(func() { dev.Close() })
	c, _ := Preset("acort-xsmall")
	c.Width, c.Features, c.Vocab, c.BOS, c.EOS, c.MaxLen = width, 512, 67, 65, 66, 26
	m, err := New(dev, c, 1)
	if err != nil {
		b.Fatal(err)
	}
	s := noise(1)
	batch := &Batch{Images: Images{N: 15, Cells: 49, Height: 7, Width: 7, Feats: s.slice(15 * 49 * 512)}}
	for range 75 {
		caption := []int32{65}
		for range 2 * (7 + s.below(4)) {
			caption = append(caption, int32(1+s.below(60)))
		}
		batch.Captions = append(batch.Captions, append(caption, 66))
	}
	return m, batch
}

func BenchmarkTrainStep(b *testing.B) {
	m, batch := demo(b, 128)
	adam := optim.NewAdam(m.Params(), optim.AdamConfig{Beta1: 0.9, Beta2: 0.98, Eps: 1e-9, ClipValue: 0.1})
	tp := grad.New(m.dev)
	b.ReportAllocs()
	for b.Loop() {
		m.Params().ZeroGrads()
		tp.Begin(grad.Step{Grad: true, Drop: true, Number: uint64(adam.Step())})
		l, _, err := m.Loss(tp, batch, 0)
		if err != nil {
			b.Fatal(err)
		}
		tp.Backward(l)
		adam.Update(1e-4)
	}
	b.ReportMetric(float64(m.dev.PeakBytes())/1e6, "MB")
}

func BenchmarkBeam(b *testing.B) {
	m, batch := demo(b, 128)
	m.Pack()
	search := decode.Search{Beam: 5, MaxLen: 26, BOS: 65, EOS: 66}
	b.ReportAllocs()
	for b.Loop() {
		st, err := m.Stepper(&batch.Images, 5, false)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := search.Run(b.Context(), st, batch.N); err != nil {
			b.Fatal(err)
		}
		st.Close()
	}
}
