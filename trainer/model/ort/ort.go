// Package ort is the Object Relation Transformer and its compact form ACORT
// (Tan et al. 2022; spec/acort.md 3 to 5): a pre-norm transformer that writes
// captions from visual features, whose encoder attends with a learned geometry
// of box pairs. Layers may be shared by any map, projections within an
// attention by a scheme; a shared tensor is one parameter.
//
// A [Model] computes on the tape of the caller. Region features come with
// their boxes; of a grid the cells are the boxes, and their relational
// embedding is computed once. The captions of an image share one pass of the
// encoder. Within a layer of the decoder keys and values of the image are
// computed once for all positions that share the layer, and so is the geometry
// of the encoder.
//
// A model and its steppers are used from the goroutine of their device.
package ort

import (
	"fmt"
	"math"

	"espalier/trainer/grad"
	"espalier/trainer/nn"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// normKind is ORT's layer norm: the deviation has divisor n-1, and eps is
// added to it.
var normKind = op.Norm{Kind: op.StdNorm, Eps: 1e-6}

// leastWeight is the floor of geometry weights.
const leastWeight = 1e-6

// A Model is a network with its parameters.
type Model struct {
	config  Config
	dev     op.Device
	params  *nn.Params
	feature *nn.Linear
	encoder stack
	decoder stack
	token   *nn.Param
	output  *nn.Linear
	places  tensor.Tensor                               // [MaxLen, d], sinusoids
	prefix  []tensor.Tensor                             // the first rows of places, as many as the index says
	grids   map[[2]int]tensor.Tensor                    // relational embeddings of grids
	trace   func(name string, position int, v grad.Var) // for tests, may be nil

	scratch scratch
}

// scratch is host memory that is used again in each step.
type scratch struct {
	ids, rows, targets, cells  []int32
	feats, mask, real, weights []float32
	relation                   []float32
	pairs                      []float64
	relate                     relateJob
	layers                     []grad.Var
}

// vars returns n zero Vars.
func (s *scratch) vars(n int) []grad.Var {
	s.layers = grow(s.layers, n)
	clear(s.layers)
	return s.layers
}

// A stack is an encoder or a decoder.
type stack struct {
	at     []int // layer of each position
	layers []layer
	norm   *nn.Norm
}

// A layer is an independent layer; cross is of decoders, geometry of encoders.
type layer struct {
	self, cross                  *nn.Attention
	geometry                     *nn.Linear
	ffn                          *nn.FeedForward
	selfNorm, crossNorm, ffnNorm *nn.Norm
}

// New returns a model on dev whose initial parameters are functions of the
// seed.
func New(dev op.Device, c Config, seed uint64) (*Model, error) {
	m, err := declare(dev, c, seed)
	if err != nil {
		return nil, fmt.Errorf("ort: %w", err)
	}
	m.params.Alloc()
	m.places = dev.Keep(tensor.Float32, m.config.MaxLen, m.config.Width)
	dev.Write(m.places, sinusoids(m.config.MaxLen, m.config.Width))
	for n := range m.config.MaxLen + 1 {
		m.prefix = append(m.prefix, m.places.Slice(0, n))
	}
	return m, dev.Err()
}

// declare returns a model whose parameters have no memory yet.
func declare(dev op.Device, c Config, seed uint64) (*Model, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	ps := nn.NewParams(dev, seed)
	d := c.Width
	m := &Model{config: c, dev: dev, params: ps, grids: map[[2]int]tensor.Tensor{}}
	m.feature = nn.NewLinear(ps, "feature", c.Features, d)
	m.feature.Weight.Init = nn.FanIn(c.Features)
	m.encoder.at, m.decoder.at = c.EncoderMap, c.DecoderMap
	for i := range independent(c.EncoderMap) {
		path := fmt.Sprintf("encoder.layers.%d.", i)
		l := layer{
			selfNorm: nn.NewNorm(ps, path+"self_attn_norm", d, normKind),
			self:     nn.NewAttention(ps, path+"self_attn", d, c.Heads, c.EncoderShare),
			geometry: nn.NewLinear(ps, path+"geometry", c.geometry(), c.Heads),
			ffnNorm:  nn.NewNorm(ps, path+"ffn_norm", d, normKind),
			ffn:      nn.NewFeedForward(ps, path+"ffn", d, c.Hidden, op.ReLU),
		}
		l.geometry.Weight.Init = nn.Xavier(1, c.geometry()) // each head is a row of its own
		m.encoder.layers = append(m.encoder.layers, l)
	}
	m.encoder.norm = nn.NewNorm(ps, "encoder.norm", d, normKind)
	for i := range independent(c.DecoderMap) {
		path := fmt.Sprintf("decoder.layers.%d.", i)
		m.decoder.layers = append(m.decoder.layers, layer{
			selfNorm:  nn.NewNorm(ps, path+"self_attn_norm", d, normKind),
			self:      nn.NewAttention(ps, path+"self_attn", d, c.Heads, c.DecoderShare),
			crossNorm: nn.NewNorm(ps, path+"cross_attn_norm", d, normKind),
			cross:     nn.NewAttention(ps, path+"cross_attn", d, c.Heads, c.DecoderShare),
			ffnNorm:   nn.NewNorm(ps, path+"ffn_norm", d, normKind),
			ffn:       nn.NewFeedForward(ps, path+"ffn", d, c.Hidden, op.ReLU),
		})
	}
	m.decoder.norm = nn.NewNorm(ps, "decoder.norm", d, normKind)
	m.token = ps.New("token.weight", nn.Xavier(c.Vocab, d), c.Vocab, d)
	m.output = nn.NewLinear(ps, "output", d, c.Vocab)
	return m, nil
}

// sinusoids returns positions [n, d]: sines in even, cosines in odd columns
// (spec/acort.md 3.7).
func sinusoids(n, d int) []float32 {
	out := make([]float32, n*d)
	for p := range n {
		for i := 0; i < d; i += 2 {
			s, c := math.Sincos(float64(p) * math.Exp(-math.Log(10000)*float64(i)/float64(d)))
			out[p*d+i], out[p*d+i+1] = float32(s), float32(c)
		}
	}
	return out
}

// Params returns the parameters.
func (m *Model) Params() *nn.Params { return m.params }

// Config returns the configuration with its defaults filled in.
func (m *Model) Config() Config { return m.config }

// Free gives the model's memory back.
func (m *Model) Free() {
	m.Unpack()
	m.params.Free()
	m.dev.Free(m.places)
	for k, g := range m.grids {
		m.dev.Free(g)
		delete(m.grids, k)
	}
}

// linears calls f for each distinct projection.
func (m *Model) linears(f func(*nn.Linear)) {
	f(m.feature)
	f(m.output)
	for _, s := range []*stack{&m.encoder, &m.decoder} {
		for i := range s.layers {
			l := &s.layers[i]
			for _, p := range l.self.Linears() {
				f(p)
			}
			if l.cross != nil {
				for _, p := range l.cross.Linears() {
					f(p)
				}
			}
			f(l.ffn.In)
			f(l.ffn.Out)
		}
	}
}

// Pack lays all weights out for decoding. They must not change until Unpack.
func (m *Model) Pack() { m.linears(func(l *nn.Linear) { l.Pack(m.dev) }) }

// Unpack undoes Pack.
func (m *Model) Unpack() { m.linears(func(l *nn.Linear) { l.Unpack(m.dev) }) }

// Places of dropout. With a layer position they make a site.
const (
	atFeature = iota + 1
	atToken
	atEncoderAttention
	atEncoderSelf
	atEncoderHidden
	atEncoderFFN
	atDecoderAttention
	atDecoderSelf
	atCrossAttention
	atDecoderCross
	atDecoderHidden
	atDecoderFFN
)

// drop is dropout at a place of a layer position.
func (m *Model) drop(t *grad.Tape, place, position int) op.Dropout {
	p := *m.config.Drop
	if place == atFeature {
		p = *m.config.DropSource
	}
	return t.Drop(float32(p), grad.Site(place<<32|position))
}

func (m *Model) show(name string, position int, v grad.Var) {
	if m.trace != nil {
		m.trace(name, position, v)
	}
}

// attention is the part of op.Attention that all attentions have in common.
func (m *Model) attention(drop op.Dropout) op.Attention {
	dh := m.config.Width / m.config.Heads
	return op.Attention{Heads: m.config.Heads, Scale: float32(1 / math.Sqrt(float64(dh))), Dropout: drop}
}
