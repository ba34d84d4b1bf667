// Package peft is the seam between models and parameter-efficient methods: a
// method is a list of edits of a model, found by path pattern.
//
// A model describes itself by a [Layout]: its sub-layers ([Sub]: attentions and
// feed-forwards), linear maps ([Map]), norms ([Norm]) and stacks, each with the
// path under which its parameters are published. A [Method] is given an
// [Editor] over the layout. It declares parameters of its own with
// [Editor.New], says with [Editor.Train] which parameters of the model are
// trained besides (all others are frozen), and attaches hooks:
//
//	Prefix   keys and values before those of an attention
//	Heads    changes what an attention's heads give, before its output map
//	Input    changes what a linear map reads
//	Output   changes what a linear map gives, before activation and dropout
//	Inner    changes what a sub-layer gives, before dropout and the residual
//	Outer    changes the residual stream behind a sub-layer
//	Gain     takes the place of a norm's gain
//	Tokens   vectors before or behind a stack's embedded tokens
//
// With h the residual stream, x = norm(h) and f the attention or feed-forward,
// a sub-layer of an edited pre-norm model is
//
//	y = Outer(h + drop(Inner(f(x))))
//
// Several hooks of one place run in the order in which they were attached, so
// methods combine by being applied one after the other.
//
// While a model runs, hooks get the [Pass]: the tape, the task of the batch, and
// the features of its images. A batch has one task; a hook that depends on the
// task reads [Pass.Task]. What differs by example has a leading axis of
// [Pass.Inputs], and [Pass.Linear] applies such weights. What many hooks share
// is computed once a pass by [Pass.Once]; while sequences are generated, once a
// batch, because it must not depend on the tokens.
//
// A model calls hooks through the methods of [Edits]; with no hook at a place
// it computes as if there were no edits. Nothing here is safe for concurrent
// use.
package peft

import (
	"fmt"
	"slices"

	"espalier/trainer/grad"
)

// A Kind is a kind of sub-layer.
type Kind uint8

// Kinds of sub-layers.
const (
	SelfAttention Kind = iota
	CrossAttention
	FeedForward
)

func (k Kind) String() string {
	return [...]string{"self-attention", "cross-attention", "feed-forward"}[k]
}

// A Stack is one of a model's stacks of layers.
type Stack uint8

// Stacks. A model that only decodes has no encoder.
const (
	Encoder Stack = iota
	Decoder
)

func (s Stack) String() string { return [...]string{"encoder", "decoder"}[s] }

// A Sub is a sub-layer: an attention or a feed-forward with its norm and
// residual.
type Sub struct {
	Path  string // such as "encoder.block.3.layer.0"
	Kind  Kind
	Stack Stack
	Layer int // within the stack
	Heads int // of an attention
	Inner int // width of all heads together, or of the hidden units

	index int
}

// A Map is a linear map of the model: y = x W' with W [Out, In] under
// Path+".weight".
type Map struct {
	Path    string // such as "encoder.block.3.layer.0.SelfAttention.q"
	In, Out int
	Sub     *Sub // of which it is a part; nil for an output head

	index int
}

// A Norm is a normalisation whose gain is under Path+".weight".
type Norm struct {
	Path  string
	Width int
	Sub   *Sub // that it belongs to; nil for the last one of a stack

	index int
}

// A Layout describes a model. Models fill it in; the order is that in which the
// model computes.
type Layout struct {
	Width  int    // of the residual stream
	Vocab  int    // rows of the token table
	Table  string // path of the token table's parameter
	Layers [2]int // of each Stack
	Subs   []*Sub
	Maps   []*Map
	Norms  []*Norm
}

// Add appends a sub-layer.
func (l *Layout) Add(s Sub) *Sub {
	s.index = len(l.Subs)
	l.Subs = append(l.Subs, &s)
	return &s
}

// AddMap appends a linear map.
func (l *Layout) AddMap(m Map) *Map {
	m.index = len(l.Maps)
	l.Maps = append(l.Maps, &m)
	return &m
}

// AddNorm appends a norm.
func (l *Layout) AddNorm(n Norm) *Norm {
	n.index = len(l.Norms)
	l.Norms = append(l.Norms, &n)
	return &n
}

// A Method edits a model.
type Method interface {
	// Edit declares the method's parameters and attaches its hooks. It is called
	// once for each model.
	Edit(e *Editor) error
}

// A Place says where the keys of a prefix lie for relative positions.
type Place uint8

// Places of a prefix's keys.
const (
	Nowhere Place = iota // no relative bias, as HyperPELT has it
	Before               // at -n to -1: the model's tokens stay where they are
	Inside               // at 0 to n-1: keys of the tokens come behind, queries stay
)

// A Prefix is keys and values before those of an attention; they are never
// masked.
type Prefix struct {
	Len   int
	Place Place
	// Make returns keys and values, each [Len, Inner] or, where they differ by
	// example, [Pass.Inputs, Len, Inner].
	Make func(p *Pass) (k, v grad.Var)
}

// Tokens are vectors beside the embedded tokens of a stack, before its dropout.
type Tokens struct {
	Len int
	// Back puts them behind the tokens, else they come before them and move
	// them on.
	Back bool
	// Apart leaves them out of the relative bias: only pairs of ordinary tokens
	// have one.
	Apart bool
	// Visual says that they are the features of an example's image, of which those
	// beyond [Pass.Counts] are hidden.
	Visual bool
	// Make returns [Len, Width] or [Pass.Inputs, Len, Width].
	Make func(p *Pass) grad.Var
}

// A SubHook changes a value of a sub-layer and returns the new one: h is the
// residual stream before the sub-layer, x what the sub-layer reads, y the
// value. All are [rows, tokens, width].
type SubHook func(p *Pass, h, x, y grad.Var) grad.Var

// A HeadsHook changes what the heads of an attention give: q are the queries,
// y the value, both [rows, tokens, Inner].
type HeadsHook func(p *Pass, q, y grad.Var) grad.Var

// An InputHook changes what a linear map reads.
type InputHook func(p *Pass, x grad.Var) grad.Var

// An OutputHook changes what a linear map gives: x is what it read, y the
// value.
type OutputHook func(p *Pass, x, y grad.Var) grad.Var

// A GainHook makes a norm's gain, [Width].
type GainHook func(p *Pass) grad.Var

// Edits are the hooks of an edited model. The nil *Edits has none.
type Edits struct {
	prefix       [][]Prefix
	heads        [][]HeadsHook
	inner, outer [][]SubHook
	input        [][]InputHook
	output       [][]OutputHook
	gain         []GainHook
	tokens       [2][]Tokens
	memos        int
	perTask      []string
	fixed        []string
	begin        []func(p *Pass)
}

// PerTask reports whether the rows of the parameter of a path are the tasks.
func (e *Edits) PerTask(path string) bool { return e != nil && slices.Contains(e.perTask, path) }

// Fixed returns the paths of the method's parameters whose values a checkpoint
// has to give.
func (e *Edits) Fixed() []string {
	if e == nil {
		return nil
	}
	return e.fixed
}

// Prefixes returns the prefixes of an attention.
func (e *Edits) Prefixes(s *Sub) []Prefix {
	if e == nil {
		return nil
	}
	return e.prefix[s.index]
}

// Tokens returns the vectors beside a stack's tokens.
func (e *Edits) Tokens(s Stack) []Tokens {
	if e == nil {
		return nil
	}
	return e.tokens[s]
}

// MasksImages reports whether images may have fewer features than there is room
// for: they come into the model as tokens, of which some can be hidden.
func (e *Edits) MasksImages() bool {
	return slices.ContainsFunc(e.Tokens(Encoder), func(t Tokens) bool { return t.Visual })
}

// Heads runs the hooks of an attention's heads.
func (e *Edits) Heads(p *Pass, s *Sub, q, y grad.Var) grad.Var {
	if e != nil {
		for _, f := range e.heads[s.index] {
			y = f(p, q, y)
		}
	}
	return y
}

// HasInner reports whether Inner does something.
func (e *Edits) HasInner(s *Sub) bool { return e != nil && len(e.inner[s.index]) > 0 }

// Inner runs the hooks of a sub-layer's result.
func (e *Edits) Inner(p *Pass, s *Sub, h, x, y grad.Var) grad.Var {
	if e != nil {
		for _, f := range e.inner[s.index] {
			y = f(p, h, x, y)
		}
	}
	return y
}

// Outer runs the hooks of the stream behind a sub-layer.
func (e *Edits) Outer(p *Pass, s *Sub, h, x, y grad.Var) grad.Var {
	if e != nil {
		for _, f := range e.outer[s.index] {
			y = f(p, h, x, y)
		}
	}
	return y
}

// Input runs the hooks of what a linear map reads.
func (e *Edits) Input(p *Pass, m *Map, x grad.Var) grad.Var {
	if e != nil {
		for _, f := range e.input[m.index] {
			x = f(p, x)
		}
	}
	return x
}

// HasOutput reports whether Output does something.
func (e *Edits) HasOutput(m *Map) bool { return e != nil && len(e.output[m.index]) > 0 }

// Output runs the hooks of what a linear map gives.
func (e *Edits) Output(p *Pass, m *Map, x, y grad.Var) grad.Var {
	if e != nil {
		for _, f := range e.output[m.index] {
			y = f(p, x, y)
		}
	}
	return y
}

// Gain returns the gain that takes the place of a norm's, or zero.
func (e *Edits) Gain(p *Pass, n *Norm) grad.Var {
	if e == nil || e.gain[n.index] == nil {
		return 0
	}
	return e.gain[n.index](p)
}

// missing reports patterns of which one fits nothing.
func missing(what string, patterns []string, paths func(yield func(string) bool)) error {
	for _, pattern := range patterns {
		found := false
		for path := range paths {
			if Match(pattern, path) {
				found = true
				break
			}
		}
		if !found {
			return fmt.Errorf("peft: no %s of the model fits %q", what, pattern)
		}
	}
	return nil
}
