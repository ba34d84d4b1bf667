package ort

import (
	"fmt"
	"testing"

	"espalier/trainer/cpu"
	"espalier/trainer/decode"
	"espalier/trainer/grad"
	"espalier/trainer/optim"
)

// A work is a model and a batch to be timed: 15 images with 5 captions.
type work struct {
	name   string
	preset string
	width  int // instead of the preset's
	boxes  int // of an image; 0: grids of 7x7 with features of 512
	vocab  int
	least  int // tokens of a caption, digits of BOS and EOS left out
	most   int
	length int
}

// works are a small ACORT as a demonstration trains it, and the models that
// PyTorch is timed on.
var works = []work{
	{name: "demo", preset: "acort-xsmall", width: 128, vocab: 67, least: 14, most: 20, length: 26},
	{name: "small", preset: "acort-small", boxes: 36, vocab: 771, least: 11, most: 24, length: 26},
	{name: "base", preset: "acort-base", boxes: 36, vocab: 771, least: 11, most: 24, length: 26},
}

func (w *work) make(b *testing.B, threads, images int) (*Model, *Batch) {
	dev := cpu.New(threads)
	b.Cleanup(func() { dev.Close() })
	c, _ := Preset(w.preset)
	if w.width > 0 {
		c.Width = w.width
	}
	c.Features, c.Vocab, c.BOS, c.EOS, c.MaxLen = 2048, w.vocab, int32(w.vocab-2), int32(w.vocab-1), w.length
	s := noise(1)
	batch := &Batch{Images: Images{N: images, Cells: 49, Height: 7, Width: 7}}
	if w.boxes > 0 {
		batch.Images = Images{N: images, Cells: w.boxes}
		for range images * w.boxes {
			x, y := (s.next()+1)/4, (s.next()+1)/4
			batch.Boxes = append(batch.Boxes, x, y, x+(s.next()+1)/4, y+(s.next()+1)/4)
		}
	} else {
		c.Features = 512
	}
	m, err := New(dev, c, 1)
	if err != nil {
		b.Fatal(err)
	}
	batch.Feats = s.slice(images * batch.Cells * c.Features)
	for range 5 * images {
		caption := []int32{c.BOS}
		for range w.least + s.below(w.most-w.least+1) {
			caption = append(caption, int32(1+s.below(w.vocab-4)))
		}
		batch.Captions = append(batch.Captions, append(caption, c.EOS))
	}
	return m, batch
}

func BenchmarkTrainStep(b *testing.B) {
	for _, w := range works {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/threads=%d", w.name, threads), func(b *testing.B) {
				m, batch := w.make(b, threads, 15)
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
			})
		}
	}
}

func BenchmarkBeam(b *testing.B) {
	for _, w := range works {
		for _, threads := range []int{1, 2} {
			for _, images := range []int{1, 15} {
				b.Run(fmt.Sprintf("%s/threads=%d/images=%d", w.name, threads, images), func(b *testing.B) {
					m, batch := w.make(b, threads, images)
					m.Pack()
					search := decode.Search{Beam: 5, MaxLen: w.length, BOS: int32(w.vocab - 2), EOS: int32(w.vocab - 1)}
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
				})
			}
		}
	}
}
