package ort

import (
	"fmt"
	"slices"

	"espalier/trainer/grad"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// Images is a batch of visual features: regions with boxes, or the cells of
// grids of one size.
type Images struct {
	N      int       // images
	Cells  int       // vectors of an image, padding included
	Feats  []float32 // [N, Cells, Features]; padding is not read
	Counts []int     // real vectors of each image, the first ones; nil: all are real
	Boxes  []float32 // [N, Cells, 4] x1 y1 x2 y2 relative to the image, padding is 0; nil: grids
	Height int       // of a grid: Height*Width = Cells
	Width  int
}

// check reports features that do not fit the model.
func (m *Model) check(im *Images) error {
	if im.N < 1 || im.Cells < 1 {
		return fmt.Errorf("ort: %d images of %d vectors, want at least 1", im.N, im.Cells)
	}
	if want := im.N * im.Cells * m.config.Features; len(im.Feats) != want {
		return fmt.Errorf("ort: %d feature values for %d images of %d vectors of %d, want %d", len(im.Feats), im.N, im.Cells, m.config.Features, want)
	}
	if im.Counts != nil && len(im.Counts) != im.N {
		return fmt.Errorf("ort: %d counts for %d images", len(im.Counts), im.N)
	}
	for i, n := range im.Counts {
		if n < 1 || n > im.Cells {
			return fmt.Errorf("ort: image %d: %d vectors of at most %d", i, n, im.Cells)
		}
	}
	if im.Boxes == nil {
		if im.Height*im.Width != im.Cells || im.Height < 1 {
			return fmt.Errorf("ort: grid of %dx%d for %d vectors without boxes", im.Height, im.Width, im.Cells)
		}
		return nil
	}
	if want := 4 * im.N * im.Cells; len(im.Boxes) != want {
		return fmt.Errorf("ort: %d box values, want %d", len(im.Boxes), want)
	}
	for i, v := range im.Boxes {
		if !(v >= 0 && v <= 1) {
			return fmt.Errorf("ort: image %d: box %d: %g lies outside the image", i/4/im.Cells, i/4%im.Cells, v)
		}
	}
	return nil
}

// A Memory is what the decoder sees of a batch of images: values [N, Cells, d],
// and a mask [N, Cells] of what is real, zero if all is.
type Memory struct {
	Value grad.Var
	Mask  tensor.Tensor
	mask  []float32 // the same on the host, valid until the next Encode; nil if all is real
}

// Encode runs the encoder.
func (m *Model) Encode(t *grad.Tape, im *Images) (Memory, error) {
	if err := m.check(im); err != nil {
		return Memory{}, err
	}
	x, mem := m.embed(t, im)
	relation := m.relation(t, im)
	bias := m.scratch.vars(len(m.encoder.layers)) // once for all positions of a layer
	for i, at := range m.encoder.at {
		l := &m.encoder.layers[at]
		if bias[at] == 0 {
			bias[at] = m.geometry(t, l, relation, im.Cells)
		}
		m.show("encoder.geometry", i, bias[at])
		a := m.attention(m.drop(t, atEncoderAttention, i))
		a.Mask = mem.Mask
		q, k, v := l.self.Project(t, l.selfNorm.Apply(t, x))
		y := t.Attention(q, k, v, bias[at], a)
		x = l.self.O.Apply(t, y, grad.Out{Drop: m.drop(t, atEncoderSelf, i), Residual: x})
		x = l.ffn.Apply(t, l.ffnNorm.Apply(t, x), m.drop(t, atEncoderHidden, i),
			grad.Out{Drop: m.drop(t, atEncoderFFN, i), Residual: x})
		m.show("encoder.out", i, x)
	}
	mem.Value = m.encoder.norm.Apply(t, x)
	m.show("memory", 0, mem.Value)
	return mem, nil
}

// embed returns the embedded features [N, Cells, d], zero where they are
// padding, and the mask of what is real.
func (m *Model) embed(t *grad.Tape, im *Images) (grad.Var, Memory) {
	f, d := m.config.Features, m.config.Width
	out := grad.Out{Act: op.ReLU, Drop: m.drop(t, atFeature, 0)}
	real := 0
	for _, n := range im.Counts {
		real += n
	}
	if im.Counts == nil || real == im.N*im.Cells {
		x := m.feature.Apply(t, t.Floats(im.Feats, im.N, im.Cells, f), out)
		m.show("feature", 0, x)
		return x, Memory{}
	}
	s := &m.scratch
	s.feats, s.cells, s.real = s.feats[:0], s.cells[:0], s.real[:0]
	for i, n := range im.Counts {
		s.feats = append(s.feats, im.Feats[i*im.Cells*f:][:n*f]...)
		for c := range im.Cells {
			if c < n {
				s.cells, s.real = append(s.cells, int32(len(s.feats)/f-n+c)), append(s.real, 1)
			} else {
				s.cells, s.real = append(s.cells, -1), append(s.real, 0)
			}
		}
	}
	x := m.feature.Apply(t, t.Floats(s.feats, real, f), out)
	x = t.Gather(x, t.Ints(s.cells, im.N, im.Cells), 1)
	m.show("feature", 0, x)
	mem := Memory{Mask: t.Value(t.Floats(s.real, im.N, im.Cells)), mask: s.real}
	return t.View(x, im.N, im.Cells, d), mem
}

// relation returns the relational embeddings as rows: of the boxes of each
// image, or of the grid, once for all images.
func (m *Model) relation(t *grad.Tape, im *Images) grad.Var {
	g, pairs := m.config.geometry(), im.Cells*im.Cells
	s := &m.scratch
	s.pairs = grow(s.pairs, 4*pairs)
	if im.Boxes == nil {
		key := [2]int{im.Height, im.Width}
		kept, ok := m.grids[key]
		if !ok {
			s.relation = grow(s.relation, g*pairs)
			relate(s.relation, s.pairs, gridBoxes(im.Height, im.Width), m.config.RawBoxes)
			kept = m.dev.Keep(tensor.Float32, pairs, g)
			m.dev.Write(kept, s.relation)
			m.grids[key] = kept
		}
		return t.Leaf(kept, tensor.Tensor{})
	}
	r, ok := m.dev.(runner)
	if ok {
		s.pairs = grow(s.pairs, 4*pairs*r.Threads())
	}
	s.relation = grow(s.relation, im.N*g*pairs)
	s.relate = relateJob{dst: s.relation, pairs: s.pairs, boxes: im.Boxes, cells: im.Cells, size: g * pairs, raw: m.config.RawBoxes}
	if ok {
		r.Run(&s.relate, im.N)
	} else {
		for i := range im.N {
			s.relate.Tile(0, i)
		}
	}
	return t.Floats(s.relation, im.N*pairs, g)
}

// geometry returns a layer's logarithms of geometry weights, [N or 1, heads,
// Cells, Cells] (spec/acort.md 3.4). The floor makes a ReLU before it
// superfluous.
func (m *Model) geometry(t *grad.Tape, l *layer, relation grad.Var, cells int) grad.Var {
	w := t.LogFloor(l.geometry.Apply(t, relation, grad.Out{}), leastWeight)
	w = t.View(w, t.Dim(w, 0)/(cells*cells), cells, cells, m.config.Heads)
	return t.Permute(w, 0, 3, 1, 2)
}

func grow[T any](x []T, n int) []T { return slices.Grow(x[:0], n)[:n] }
