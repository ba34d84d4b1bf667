package nn

import (
	"fmt"

	"espalier/trainer/grad"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// A Linear is x W' + b with W [out, in].
type Linear struct {
	Weight, Bias *Param // Bias may be nil
	packed       tensor.Tensor
}

// NewLinear declares path.weight, Xavier-uniform, and path.bias, uniform within
// 1/sqrt(in).
func NewLinear(ps *Params, path string, in, out int) *Linear {
	return &Linear{
		Weight: ps.New(path+".weight", Xavier(out, in), out, in),
		Bias:   ps.New(path+".bias", FanIn(in), out),
	}
}

// Apply returns drop(act(x W' + b)) + residual, as o says.
func (l *Linear) Apply(t *grad.Tape, x grad.Var, o grad.Out) grad.Var {
	w := l.Weight.Var(t)
	if !l.packed.IsZero() && !t.Recording() {
		w = t.Leaf(l.packed, tensor.Tensor{})
	}
	return t.Linear(x, w, l.Bias.Var(t), o)
}

// Pack lays the weight out for products where nothing is recorded, until
// Unpack. The weight must not change meanwhile.
func (l *Linear) Pack(dev op.Device) {
	if l.packed.IsZero() {
		l.packed = dev.Pack(l.Weight.Value, true)
	}
}

// Unpack gives the packed weight back.
func (l *Linear) Unpack(dev op.Device) {
	dev.Free(l.packed)
	l.packed = tensor.Tensor{}
}

// A Norm normalises rows.
type Norm struct {
	Gain, Shift *Param // Shift may be nil
	Norm        op.Norm
}

// NewNorm declares path.gain, of ones, and path.shift, of zeros.
func NewNorm(ps *Params, path string, d int, n op.Norm) *Norm {
	return &Norm{Gain: ps.New(path+".gain", Const(1), d), Shift: ps.New(path+".shift", Const(0), d), Norm: n}
}

// Apply returns gain*norm(x) + shift.
func (n *Norm) Apply(t *grad.Tape, x grad.Var) grad.Var {
	return t.Norm(x, n.Gain.Var(t), n.Shift.Var(t), n.Norm)
}

// A Share is a scheme of sharing projections within an attention (ACORT):
// none, keys and values, or queries and keys.
type Share string

// Sharing schemes.
const (
	ShareNone Share = ""
	ShareKV   Share = "kv"
	ShareQK   Share = "qk"
)

// Check reports a scheme that does not exist.
func (s Share) Check() error {
	switch s {
	case ShareNone, ShareKV, ShareQK:
		return nil
	}
	return fmt.Errorf("%q, want kv, qk or nothing", string(s))
}

// An Attention is multi-head attention with its projections.
type Attention struct {
	Heads      int
	Share      Share
	Q, K, V, O *Linear // K is V with ShareKV, and Q with ShareQK
}

// NewAttention declares the projections of an attention of width d below path:
// q k v o, q kv o or qk v o.
func NewAttention(ps *Params, path string, d, heads int, share Share) *Attention {
	a := &Attention{Heads: heads, Share: share}
	lin := func(name string) *Linear { return NewLinear(ps, path+"."+name, d, d) }
	switch share {
	case ShareKV:
		a.Q, a.K = lin("q"), lin("kv")
		a.V = a.K
	case ShareQK:
		a.Q, a.V = lin("qk"), lin("v")
		a.K = a.Q
	default:
		a.Q, a.K, a.V = lin("q"), lin("k"), lin("v")
	}
	a.O = lin("o")
	return a
}

// Linears returns the distinct projections.
func (a *Attention) Linears() []*Linear {
	switch a.Share {
	case ShareKV:
		return []*Linear{a.Q, a.K, a.O}
	case ShareQK:
		return []*Linear{a.Q, a.V, a.O}
	}
	return []*Linear{a.Q, a.K, a.V, a.O}
}

// Keys projects x to keys and values, one Var for both with ShareKV.
func (a *Attention) Keys(t *grad.Tape, x grad.Var) (k, v grad.Var) {
	k = a.K.Apply(t, x, grad.Out{})
	if a.Share == ShareKV {
		return k, k
	}
	return k, a.V.Apply(t, x, grad.Out{})
}

// Project projects x to queries, keys and values of self-attention, each
// distinct projection once.
func (a *Attention) Project(t *grad.Tape, x grad.Var) (q, k, v grad.Var) {
	q = a.Q.Apply(t, x, grad.Out{})
	if a.Share == ShareQK {
		return q, q, a.V.Apply(t, x, grad.Out{})
	}
	k, v = a.Keys(t, x)
	return q, k, v
}

// A FeedForward is W2 drop(act(W1 x + b1)) + b2.
type FeedForward struct {
	In, Out *Linear
	Act     op.Act
}

// NewFeedForward declares path.in and path.out with a hidden width.
func NewFeedForward(ps *Params, path string, d, hidden int, act op.Act) *FeedForward {
	return &FeedForward{In: NewLinear(ps, path+".in", d, hidden), Out: NewLinear(ps, path+".out", hidden, d), Act: act}
}

// Apply returns the result with dropout on the hidden units, and o applied.
func (f *FeedForward) Apply(t *grad.Tape, x grad.Var, hidden op.Dropout, o grad.Out) grad.Var {
	h := f.In.Apply(t, x, grad.Out{Act: f.Act, Drop: hidden})
	return f.Out.Apply(t, h, o)
}
