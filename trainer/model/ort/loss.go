package ort

import (
	"fmt"
	"math"

	"espalier/trainer/grad"
	"espalier/trainer/nn"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// A Batch is images with captions, as many for each image.
type Batch struct {
	Images
	// Captions are token sequences, those of an image side by side: BOS, tokens,
	// and EOS unless the caption was cut.
	Captions [][]int32
}

// Loss returns the cross-entropy of the captions, the mean over their tokens
// (EOS counts, BOS does not), and the number of these tokens. smoothing is
// label smoothing: 1-s on the target and s/(V-1) elsewhere, as KL divergence.
func (m *Model) Loss(t *grad.Tape, b *Batch, smoothing float32) (loss grad.Var, tokens int, err error) {
	width, err := m.checkCaptions(b.N, b.Captions)
	if err != nil {
		return 0, 0, err
	}
	mem, err := m.Encode(t, &b.Images)
	if err != nil {
		return 0, 0, err
	}
	s := &m.scratch
	s.rows, s.targets, s.weights = s.rows[:0], s.targets[:0], s.weights[:0]
	for r, c := range b.Captions {
		for i, id := range c[1:] {
			s.rows, s.targets = append(s.rows, int32(r*width+i)), append(s.targets, id)
		}
	}
	tokens = len(s.targets)
	for range tokens {
		s.weights = append(s.weights, 1/float32(tokens))
	}
	ids := m.inputs(b.Captions, width)
	return m.loss(t, mem, ids, len(b.Captions), width, true, smoothing), tokens, nil
}

// SampleLoss returns the policy-gradient loss of sampled captions (SCST,
// spec/acort.md 7.2): minus the sum over samples and tokens of advantage times
// log-probability, over the number of tokens. Samples have no BOS and end with
// EOS or at the limit; PAD within one counts for nothing.
func (m *Model) SampleLoss(t *grad.Tape, im *Images, samples [][]int32, advantage []float32) (loss grad.Var, tokens int, err error) {
	if len(advantage) != len(samples) {
		return 0, 0, fmt.Errorf("ort: %d advantages for %d samples", len(advantage), len(samples))
	}
	captions := make([][]int32, len(samples))
	for i, x := range samples {
		captions[i] = append([]int32{m.config.BOS}, x...)
	}
	width, err := m.checkCaptions(im.N, captions)
	if err != nil {
		return 0, 0, err
	}
	mem, err := m.Encode(t, im)
	if err != nil {
		return 0, 0, err
	}
	s := &m.scratch
	s.rows, s.targets, s.weights = s.rows[:0], s.targets[:0], s.weights[:0]
	for r, x := range samples {
		for i, id := range x {
			if id != m.config.PAD || id == m.config.EOS {
				s.rows, s.targets, s.weights = append(s.rows, int32(r*width+i)), append(s.targets, id), append(s.weights, advantage[r])
			}
		}
	}
	tokens = len(s.targets)
	for i := range s.weights {
		s.weights[i] /= float32(tokens)
	}
	ids := m.inputs(captions, width)
	return m.loss(t, mem, ids, len(captions), width, false, 0), tokens, nil
}

// checkCaptions reports captions that do not fit, and returns the longest
// input, which is a caption without its last token.
func (m *Model) checkCaptions(images int, captions [][]int32) (width int, err error) {
	if images < 1 || len(captions) == 0 || len(captions)%images != 0 {
		return 0, fmt.Errorf("ort: %d captions for %d images", len(captions), images)
	}
	for r, c := range captions {
		if len(c) < 2 || len(c) > m.config.MaxLen+1 {
			return 0, fmt.Errorf("ort: caption %d: %d tokens, want 2 to %d", r, len(c), m.config.MaxLen+1)
		}
		for i, id := range c {
			if id < 0 || int(id) >= m.config.Vocab {
				return 0, fmt.Errorf("ort: caption %d: token %d is %d, want 0 to %d", r, i, id, m.config.Vocab-1)
			}
		}
		width = max(width, len(c)-1)
	}
	return width, nil
}

// inputs lays captions out as rows of a width, cut or padded.
func (m *Model) inputs(captions [][]int32, width int) []int32 {
	s := &m.scratch
	s.ids = grow(s.ids, len(captions)*width)
	for r, c := range captions {
		row := s.ids[r*width:][:width]
		for i := copy(row, c); i < width; i++ {
			row[i] = m.config.PAD
		}
	}
	return s.ids
}

// loss runs the decoder over rows of input tokens and returns the weighted sum
// of the losses at scratch.rows, of which the last step alone is computed.
func (m *Model) loss(t *grad.Tape, mem Memory, ids []int32, rows, width int, hidePad bool, smoothing float32) grad.Var {
	s := &m.scratch
	x := m.decode(t, mem, ids, rows, width, hidePad)
	n := len(s.rows)
	if n < rows*width {
		x = t.Gather(x, t.Ints(s.rows, n), 1)
	}
	logits := m.output.Apply(t, x, grad.Out{})
	weights := t.Value(t.Floats(s.weights, n))
	return t.CrossEntropy(logits, t.Ints(s.targets, n), weights, op.CrossEntropy{Smoothing: smoothing})
}

// decode runs the decoder over whole rows of input tokens [rows, width] and
// returns its normalised result [rows, width, d]. Token i sees itself and what
// is before it; PAD is hidden from the others if hidePad.
func (m *Model) decode(t *grad.Tape, mem Memory, ids []int32, rows, width int, hidePad bool) grad.Var {
	x := t.Gather(m.token.Var(t), t.Ints(ids, rows, width), m.tokenScale())
	x = t.Add(x, t.Leaf(m.prefix[width], tensor.Tensor{}))
	x = t.Dropout(x, m.drop(t, atToken, 0))
	var mask tensor.Tensor
	if hidePad {
		s := &m.scratch
		s.mask = grow(s.mask, rows*width)
		all := true
		for i, id := range ids {
			s.mask[i] = 1
			if id == m.config.PAD && i%width > 0 { // BOS may be the same token
				s.mask[i], all = 0, false
			}
		}
		if !all {
			mask = t.Value(t.Floats(s.mask, rows, width))
		}
	}
	group := rows / t.Dim(mem.Value, 0)
	keys := m.scratch.vars(2 * len(m.decoder.layers)) // once for all positions of a layer
	for i, at := range m.decoder.at {
		l := &m.decoder.layers[at]
		if keys[2*at] == 0 {
			keys[2*at], keys[2*at+1] = l.cross.Keys(t, mem.Value)
		}
		a := m.attention(m.drop(t, atDecoderAttention, i))
		a.Causal, a.Mask = true, mask
		q, k, v := l.self.Project(t, l.selfNorm.Apply(t, x))
		x = m.residual(t, l.self, t.Attention(q, k, v, 0, a), x, atDecoderSelf, i)

		a = m.attention(m.drop(t, atCrossAttention, i))
		a.Mask, a.Group = mem.Mask, group
		x = m.cross(t, l, x, keys[2*at], keys[2*at+1], a, i)
		x = m.feedForward(t, l, x, i)
		m.show("decoder.out", i, x)
	}
	return m.decoder.norm.Apply(t, x)
}

// cross is the attention of a decoder layer to keys and values of the memory.
func (m *Model) cross(t *grad.Tape, l *layer, x, k, v grad.Var, a op.Attention, position int) grad.Var {
	q := l.cross.Q.Apply(t, l.crossNorm.Apply(t, x), grad.Out{})
	return m.residual(t, l.cross, t.Attention(q, k, v, 0, a), x, atDecoderCross, position)
}

// residual projects what an attention gives and adds it to x.
func (m *Model) residual(t *grad.Tape, a *nn.Attention, y, x grad.Var, place, position int) grad.Var {
	return a.O.Apply(t, y, grad.Out{Drop: m.drop(t, place, position), Residual: x})
}

// feedForward is the feed-forward part of a decoder layer.
func (m *Model) feedForward(t *grad.Tape, l *layer, x grad.Var, position int) grad.Var {
	return l.ffn.Apply(t, l.ffnNorm.Apply(t, x), m.drop(t, atDecoderHidden, position),
		grad.Out{Drop: m.drop(t, atDecoderFFN, position), Residual: x})
}

// tokenScale is the factor of token embeddings.
func (m *Model) tokenScale() float32 { return float32(math.Sqrt(float64(m.config.Width))) }
