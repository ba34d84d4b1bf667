package trainer

import (
	"context"
	"fmt"

	"espalier/features/vectors"
	"espalier/trainer/decode"
	"espalier/trainer/feed"
	"espalier/trainer/model/ort"
)

// captionBatch is how many images are decoded side by side.
const captionBatch = 32

// A Captioner decodes images with a model.
type Captioner struct {
	Model  *ort.Model
	Search decode.Search // checked; BOS, EOS and MaxLen are the model's
	Text   Detokenizer
	Legacy bool // the public code's cache, see ort.Model.Stepper

	features feed.Features
}

// NewCaptioner returns a Captioner of a beam. The search's fields that the
// model decides are filled in.
func NewCaptioner(m *ort.Model, s decode.Search, text Detokenizer) (*Captioner, error) {
	c := m.Config()
	s.BOS, s.EOS = c.BOS, c.EOS
	if s.MaxLen == 0 {
		s.MaxLen = c.MaxLen
	}
	if s.MaxLen > c.MaxLen {
		return nil, fmt.Errorf("max_len: %d, the model goes to %d", s.MaxLen, c.MaxLen)
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	return &Captioner{Model: m, Search: s, Text: text}, nil
}

// A Caption is one decoded sequence.
type Caption struct {
	Text    string
	Tokens  []int32 // without BOS; the EOS, if it was reached, included
	LogProb float64 // sum over the tokens
}

// Run decodes the images of an index, a few at a time, and calls each with the
// captions of image i, best first.
func (c *Captioner) Run(ctx context.Context, x *vectors.Index, images []string, each func(i int, captions []Caption) error) error {
	for at := 0; at < len(images); at += captionBatch {
		some := images[at:min(at+captionBatch, len(images))]
		if err := c.features.Load(x, some); err != nil {
			return err
		}
		all, err := c.Decode(ctx, &c.features)
		if err != nil {
			return err
		}
		for i, captions := range all {
			if err := each(at+i, captions); err != nil {
				return err
			}
		}
	}
	return nil
}

// Decode returns the captions of each image, best first.
func (c *Captioner) Decode(ctx context.Context, f *feed.Features) ([][]Caption, error) {
	im := images(f)
	st, err := c.Model.Stepper(&im, c.Search.Beam, c.Legacy)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	all, err := c.Search.Run(ctx, st, im.N)
	if err != nil {
		return nil, err
	}
	out := make([][]Caption, len(all))
	for i, hypotheses := range all {
		for _, h := range hypotheses {
			caption := Caption{Tokens: h.Tokens}
			for _, p := range h.LogProbs {
				caption.LogProb += float64(p)
			}
			if c.Text != nil {
				caption.Text = c.Text(h.Tokens)
			}
			out[i] = append(out[i], caption)
		}
	}
	return out, nil
}

// images gives a batch of features to the model.
func images(f *feed.Features) ort.Images {
	return ort.Images{N: f.N, Cells: f.Cells, Feats: f.Values, Counts: f.Counts, Boxes: f.Boxes, Height: f.Height, Width: f.Width}
}
