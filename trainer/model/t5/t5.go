// Package t5 is the text-to-text transformer T5 (Raffel et al. 2020), version
// 1.0 and 1.1 with its LM-adapted form, edited by the methods of package peft.
//
// A [Backbone] is a published checkpoint, opened once and shared: parameters
// that a [Model] does not train are the backbone's memory, which is that of the
// file where it can be mapped. Parameters have the names of the published
// files.
//
// A model is pre-norm with RMSNorm, has no biases, does not scale scores by the
// head's width, and adds a learned bias of the distance between tokens to the
// scores of self-attention, from one table a stack.
//
// A model and its steppers are used from the goroutine of their device.
package t5

import (
	"errors"
	"fmt"

	"espalier/trainer/grad"
	"espalier/trainer/nn"
	"espalier/trainer/op"
	"espalier/trainer/peft"
	"espalier/trainer/tensor"
)

// A Model is an edited network with its parameters.
type Model struct {
	config  Config
	dev     op.Device
	back    *Backbone
	params  *nn.Params
	layout  peft.Layout
	edits   *peft.Edits
	given   peft.Given
	act     op.Act
	table   *nn.Param // token embeddings
	head    linear    // its weight is the table's if tied
	encoder stack
	decoder stack
	prefix  [][]peft.Prefix // the distinct lists of prefixes; attention.prefix says which
	pass    peft.Pass
	scratch scratch
	loaded  func() error                         // what methods do with initial values
	trace   func(name string, i int, v grad.Var) // for tests, may be nil
}

// scratch is host memory that is used again in each step.
type scratch struct {
	source, ids, rows, targets []int32
	mask                       []float32
}

// A stack is an encoder or a decoder.
type stack struct {
	kind   peft.Stack
	bias   *nn.Param // [buckets, heads]
	layers []layer
	norm   norm
}

// A layer is one block; cross is of decoders.
type layer struct {
	self, cross *attention
	ffn         *feedForward
}

// A linear is one map of the model.
type linear struct {
	weight *nn.Param
	at     *peft.Map
	packed tensor.Tensor // of Pack
}

// A norm is one normalisation.
type norm struct {
	gain *nn.Param
	at   *peft.Norm
}

// An attention is a sub-layer.
type attention struct {
	sub        *peft.Sub
	norm       norm
	q, k, v, o linear
	prefix     int // index of its list in Model.prefix
}

// A feedForward is a sub-layer; gate is zero unless the projection is gated.
type feedForward struct {
	sub      *peft.Sub
	norm     norm
	in, gate linear
	out      linear
	gated    bool
}

// Options say how a backbone is edited.
type Options struct {
	// Methods edit the model one after the other. Without any no parameter is
	// trained.
	Methods []peft.Method
	Given   peft.Given
	Seed    uint64   // of the initial values of the methods' parameters
	Drop    *float64 // dropout; nil: the backbone's
	// Device computes the model, on tensors of the backbone's device, which is of
	// the same kind; nil: that device.
	Device op.Device
	// Own says which frozen parameters get memory of their own nevertheless,
	// because their values will be others than the backbone's.
	Own func(path string) bool
}

// New returns a model over a backbone, which it holds until Free.
func New(b *Backbone, o Options) (*Model, error) {
	c := b.Config
	if o.Drop != nil {
		c.Drop = o.Drop
	}
	dev := b.dev
	if o.Device != nil {
		dev = o.Device
	}
	m, err := declare(dev, c, o)
	if err != nil {
		return nil, err
	}
	for _, p := range m.params.All() {
		if w, ok := b.tensors[p.Path]; ok && p.Frozen && (o.Own == nil || !o.Own(p.Path)) {
			m.params.Bind(p.Path, w)
		}
	}
	m.back = b.hold()
	m.params.Alloc()
	for _, p := range m.params.All() {
		if _, ok := b.tensors[p.Path]; ok && !p.Bound() {
			err = errors.Join(err, b.write(dev, p.Value, p.Path))
		}
	}
	if err := errors.Join(err, dev.Err(), m.loaded()); err != nil {
		m.Free()
		return nil, fmt.Errorf("t5: %w", err)
	}
	return m, nil
}

// declare returns a model whose parameters have no memory yet.
func declare(dev op.Device, c Config, o Options) (*Model, error) {
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("t5: %w", err)
	}
	ps := nn.NewParams(dev, o.Seed)
	m := &Model{config: c, dev: dev, params: ps}
	m.act, _, _ = c.feedForward()
	m.layout = peft.Layout{Width: c.Width, Vocab: c.Vocab, Table: tableName, Layers: [2]int{c.Layers, c.DecoderLayers}}
	m.table = ps.New(tableName, nn.Normal(1), c.Vocab, c.Width)
	m.encoder = m.declareStack(peft.Encoder, c.Layers)
	m.decoder = m.declareStack(peft.Decoder, c.DecoderLayers)
	m.head.weight = m.table
	if c.OwnHead {
		m.head.weight = ps.New(headName, nn.Normal(1), c.Vocab, c.Width)
	}
	m.head.at = m.layout.AddMap(peft.Map{Path: "lm_head", In: c.Width, Out: c.Vocab})
	e := peft.NewEditor(&m.layout, ps, o.Given)
	if err := e.Apply(o.Methods...); err != nil {
		return nil, fmt.Errorf("t5: %w", err)
	}
	m.edits, m.given = e.Finish(), o.Given
	for _, t := range m.edits.Tokens(peft.Decoder) {
		if t.Back {
			return nil, errors.New("t5: vectors cannot come behind the decoder's tokens")
		}
	}
	m.listPrefixes()
	m.loaded = e.RunLoaded
	return m, nil
}

const (
	tableName = "shared.weight"
	headName  = "lm_head.weight"
)

func (m *Model) declareStack(kind peft.Stack, layers int) stack {
	c, ps := &m.config, m.params
	s := stack{kind: kind}
	for i := range layers {
		block := fmt.Sprintf("%s.block.%d.layer.", kind, i)
		l := layer{self: m.declareAttention(block+"0", "SelfAttention", peft.SelfAttention, kind, i)}
		if i == 0 {
			s.bias = ps.New(block+"0.SelfAttention.relative_attention_bias.weight", spread(c.Width), c.Buckets, c.Heads)
		}
		next := "1"
		if kind == peft.Decoder {
			l.cross = m.declareAttention(block+"1", "EncDecAttention", peft.CrossAttention, kind, i)
			next = "2"
		}
		l.ffn = m.declareFeedForward(block+next, kind, i)
		s.layers = append(s.layers, l)
	}
	s.norm = m.declareNorm(kind.String()+".final_layer_norm", nil)
	return s
}

func (m *Model) declareAttention(path, name string, kind peft.Kind, stack peft.Stack, i int) *attention {
	c := &m.config
	d, inner := c.Width, c.inner()
	a := &attention{sub: m.layout.Add(peft.Sub{Path: path, Kind: kind, Stack: stack, Layer: i, Heads: c.Heads, Inner: inner})}
	a.norm = m.declareNorm(path+".layer_norm", a.sub)
	path += "." + name + "."
	a.q = m.declareLinear(path+"q", d, inner, spread(d*c.HeadWidth), a.sub)
	a.k = m.declareLinear(path+"k", d, inner, spread(d), a.sub)
	a.v = m.declareLinear(path+"v", d, inner, spread(d), a.sub)
	a.o = m.declareLinear(path+"o", inner, d, spread(inner), a.sub)
	return a
}

func (m *Model) declareFeedForward(path string, stack peft.Stack, i int) *feedForward {
	c := &m.config
	d := c.Width
	f := &feedForward{sub: m.layout.Add(peft.Sub{Path: path, Kind: peft.FeedForward, Stack: stack, Layer: i, Inner: c.Hidden})}
	f.norm = m.declareNorm(path+".layer_norm", f.sub)
	path += ".DenseReluDense."
	if _, f.gated, _ = c.feedForward(); f.gated {
		f.in = m.declareLinear(path+"wi_0", d, c.Hidden, spread(d), f.sub)
		f.gate = m.declareLinear(path+"wi_1", d, c.Hidden, spread(d), f.sub)
	} else {
		f.in = m.declareLinear(path+"wi", d, c.Hidden, spread(d), f.sub)
	}
	f.out = m.declareLinear(path+"wo", c.Hidden, d, spread(c.Hidden), f.sub)
	return f
}

func (m *Model) declareLinear(path string, in, out int, init nn.Init, sub *peft.Sub) linear {
	return linear{weight: m.params.New(path+".weight", init, out, in), at: m.layout.AddMap(peft.Map{Path: path, In: in, Out: out, Sub: sub})}
}

func (m *Model) declareNorm(path string, sub *peft.Sub) norm {
	return norm{m.params.New(path+".weight", nn.Const(1), m.config.Width), m.layout.AddNorm(peft.Norm{Path: path, Width: m.config.Width, Sub: sub})}
}

// Params returns the parameters, frozen ones included.
func (m *Model) Params() *nn.Params { return m.params }

// Config returns the configuration with its defaults filled in.
func (m *Model) Config() Config { return m.config }

// PerTask reports whether the rows of a parameter are the tasks.
func (m *Model) PerTask(path string) bool { return m.edits.PerTask(path) }

// Fixed returns the parameters of methods whose values a checkpoint has to give.
func (m *Model) Fixed() []string { return m.edits.Fixed() }

// Layout describes the model.
func (m *Model) Layout() *peft.Layout { return &m.layout }

// linears calls f for each map that generation uses token by token.
func (m *Model) linears(f func(l *linear)) {
	f(&m.head)
	for i := range m.decoder.layers {
		b := &m.decoder.layers[i]
		for _, l := range []*linear{&b.self.q, &b.self.k, &b.self.v, &b.self.o, &b.cross.q, &b.cross.o, &b.ffn.in, &b.ffn.out} {
			f(l)
		}
		if b.ffn.gated {
			f(&b.ffn.gate)
		}
	}
}

// Pack lays the decoder's weights out for generation. They must not change until
// Unpack.
func (m *Model) Pack() {
	m.linears(func(l *linear) {
		if l.packed.IsZero() {
			l.packed = m.dev.Pack(l.weight.Value, true)
		}
	})
}

// Unpack undoes Pack.
func (m *Model) Unpack() {
	m.linears(func(l *linear) {
		m.dev.Free(l.packed)
		l.packed = tensor.Tensor{}
	})
}

// Free gives the model's memory back.
func (m *Model) Free() {
	m.Unpack()
	m.params.Free()
	if m.back != nil {
		_ = m.back.Close() // of a file that was only read
		m.back = nil
	}
}

// Count returns the number of trained parameters of an edited model and that
// of the model without edits, without making one.
func Count(c Config, o Options) (trained, backbone int, err error) {
	m, err := declare(nil, c, o)
	if err != nil {
		return 0, 0, err
	}
	plain, err := declare(nil, c, Options{})
	if err != nil {
		return 0, 0, err
	}
	return m.params.CountTrained(), plain.params.Count(), nil
}
