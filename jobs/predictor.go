package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"

	"espalier/features"
	"espalier/trainer"
	"espalier/trainer/decode"
	"espalier/trainer/feed"
	"espalier/trainer/op"
)

// detokenizer is that of predictions by hand: the default of trainer/predict.
const detokenizer = "caption/1"

// A Predictor captions images with a checkpoint: it makes the features that
// the model was trained with, decodes, and gives the text. It is used from one
// goroutine.
type Predictor struct {
	extractor *features.Extractor
	captioner *trainer.Captioner
	free      func()
}

// OpenPredictor reads a checkpoint, the folder of an output of trainer/train.
// Weights is the path of the network's weights, "" if its features came from a
// random one.
func OpenPredictor(dev op.Device, checkpoint, weights string, search decode.Search) (*Predictor, error) {
	dir := trainer.Folder(checkpoint)
	l, err := trainer.Load(dev, dir)
	if err != nil {
		return nil, err
	}
	text, err := Tools().Detokenizers[detokenizer](trainer.VocabOf(dir))
	if err != nil {
		l.Model.Free()
		return nil, err
	}
	captioner, err := trainer.NewCaptioner(l.Model, search, text)
	if err != nil {
		l.Model.Free()
		return nil, err
	}
	extractor, err := features.OpenExtractor(dev, l.Info.Features.Metadata, weights)
	switch {
	case errors.Is(err, features.ErrNoSpec):
		err = fmt.Errorf("%s: trained on features that were not made from images here: %w", checkpoint, err)
		fallthrough
	case err != nil:
		l.Model.Free()
		return nil, err
	}
	l.Model.Pack()
	return &Predictor{extractor, captioner, func() {
		l.Model.Unpack()
		l.Model.Free()
	}}, nil
}

// Close frees the networks.
func (p *Predictor) Close() {
	p.extractor.Close()
	p.free()
}

// Image captions one image file, best caption first.
func (p *Predictor) Image(ctx context.Context, path string) ([]trainer.Caption, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	row, err := p.extractor.Image(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	all, err := p.captioner.Decode(ctx, &feed.Features{
		N: 1, Cells: row.Count, Dim: row.Dim, Values: row.Values, Height: row.Height, Width: row.Width,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all[0], nil
}
