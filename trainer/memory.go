package trainer

import (
	"context"
	"errors"
	"fmt"

	"espalier/features/vectors"
	"espalier/pipeline"
	"espalier/trainer/dry"
	"espalier/trainer/grad"
	"espalier/trainer/model/ort"
	"espalier/trainer/op"
	"espalier/trainer/optim"
)

// Memory returns the most bytes of tensors that a step takes, weights, gradients
// and moments included: that of a batch of the longest captions and the images
// with the most vectors, run on a device that only counts.
func (s *Train) Memory(ctx context.Context, in map[string]*pipeline.Input) (int64, error) {
	features, words := in["features"], in["vocab"]
	if features == nil || words == nil {
		return 0, errors.New("no input features or vocab")
	}
	vocab, err := readVocab(words)
	if err != nil {
		return 0, fmt.Errorf("input vocab: %w", err)
	}
	im := ort.Images{N: s.Batch.Images}
	dim := 0
	for _, e := range features.Manifest.Files {
		if e.Schema != vectors.GridSchema && e.Schema != vectors.RegionSchema {
			continue
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if err := widest(features, e.Name, &im, &dim); err != nil {
			return 0, fmt.Errorf("input features: %s: %w", e.Name, err)
		}
	}
	return s.stepBytes(dry.New(), s.Model.config(vocab, dim), im)
}

// widest takes the size of the vectors of a file, and the most of an image.
func widest(in *pipeline.Input, name string, im *ort.Images, dim *int) (err error) {
	f, err := in.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	v, err := vectors.Open(f, f.Size())
	if err != nil {
		return err
	}
	o := v.Options()
	*dim, im.Height, im.Width = o.Dim, o.Height, o.Width
	if !v.Regions() {
		im.Cells = o.Height * o.Width
		return nil
	}
	for i := range v.Len() {
		im.Cells = max(im.Cells, v.Count(i))
	}
	return nil
}

// stepBytes runs a step over im, of which only the sizes matter, and returns the
// peak of a device that was new.
func (s *Train) stepBytes(dev op.Device, c ort.Config, im ort.Images) (int64, error) {
	m, err := ort.New(dev, c, *s.Seed)
	if err != nil {
		return 0, err
	}
	c = m.Config()
	im.Feats = make([]float32, im.N*im.Cells*c.Features)
	if im.Height == 0 {
		im.Boxes, im.Counts = make([]float32, 4*im.N*im.Cells), make([]int, im.N)
		for i := range im.Counts {
			im.Counts[i] = im.Cells
		}
		im.Counts[0] = max(1, im.Cells-1) // so that there is a mask
	}
	batch := ort.Batch{Images: im}
	for range im.N * s.Batch.Captions {
		caption := make([]int32, c.MaxLen+1)
		for i := range caption {
			caption[i] = c.EOS
		}
		batch.Captions = append(batch.Captions, caption)
	}
	// One is shorter than the others, so that there is padding.
	batch.Captions[0] = batch.Captions[0][:max(2, c.MaxLen)]
	update := s.Optimizer.adam(m)
	tape := grad.New(dev)
	tape.Begin(grad.Step{Grad: true, Drop: true, Seed: *s.Seed})
	loss, _, err := m.Loss(tape, &batch, float32(s.Smoothing))
	if err != nil {
		return 0, err
	}
	tape.Backward(loss)
	update.Update(1)
	return dev.PeakBytes(), nil
}

// adam is the optimiser of a model's trained parameters.
func (o *Optimizer) adam(m *ort.Model) *optim.Adam {
	return optim.NewAdam(m.Params(), optim.AdamConfig{
		Beta1: o.Beta1, Beta2: o.Beta2, Eps: o.Eps,
		WeightDecay: o.WeightDecay, ClipNorm: o.ClipNorm, ClipValue: *o.ClipValue,
	})
}
