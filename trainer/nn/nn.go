// Package nn is layers and parameters addressed by path.
//
// A model declares its parameters with [Params.New], each with a path such as
// "encoder.layers.0.self_attn.q.weight", and then allocates all of them at
// once, save those bound to memory of somebody else, such as the weights of a
// mapped file that several models share. A tensor that is used in many places is declared once and shared as a
// [Param]: counts, gradients and optimiser state are over unique tensors.
// Trained parameters lie side by side in memory, so that one device call
// updates many. A layer is a struct of its parameters whose Apply computes it
// on a tape.
//
// Nothing here is safe for concurrent use.
package nn

import (
	"fmt"
	"math"

	"espalier/trainer/grad"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// A Param is one parameter tensor.
type Param struct {
	Path   string
	Shape  []int
	Init   Init
	Value  tensor.Tensor
	Grad   tensor.Tensor // its gradient; zero unless it is trained
	Frozen bool

	bound bool // Value is somebody else's
}

// Len returns the number of elements.
func (p *Param) Len() int { return tensor.Size(p.Shape) }

// Bound reports whether the values belong to somebody else.
func (p *Param) Bound() bool { return p.bound }

// Var puts the parameter on a tape; the nil Param is the zero Var.
func (p *Param) Var(t *grad.Tape) grad.Var {
	if p == nil {
		return 0
	}
	return t.Leaf(p.Value, p.Grad)
}

// Params is the parameters of a model, in the order of their declaration.
type Params struct {
	dev    op.Device
	seed   uint64
	list   []*Param
	byPath map[string]*Param
	made   bool // Alloc was called
	values tensor.Tensor
	grads  tensor.Tensor
}

// NewParams returns an empty set whose initial values are functions of the
// seed and each parameter's path.
func NewParams(dev op.Device, seed uint64) *Params {
	return &Params{dev: dev, seed: seed, byPath: map[string]*Param{}}
}

// Device returns the device that holds the parameters.
func (ps *Params) Device() op.Device { return ps.dev }

// New declares a parameter. Declaring a path twice, or after Alloc, panics.
func (ps *Params) New(path string, init Init, shape ...int) *Param {
	if ps.byPath[path] != nil {
		panic("nn: parameter declared twice")
	}
	if ps.made {
		panic("nn: parameter declared after Alloc")
	}
	p := &Param{Path: path, Shape: append([]int(nil), shape...), Init: init}
	ps.list = append(ps.list, p)
	ps.byPath[path] = p
	return p
}

// align is the unit of places, in elements: parameters start on 64-byte
// borders.
const align = 16

func padded(n int) int { return (n + align - 1) / align * align }

// Bind gives a parameter values that it does not own. They must outlive it and
// never change, so the parameter is to be frozen. It comes before Alloc.
func (ps *Params) Bind(path string, value tensor.Tensor) {
	p := ps.byPath[path]
	switch {
	case p == nil:
		panic("nn: no such parameter")
	case ps.made:
		panic("nn: parameter bound after Alloc")
	case value.Len() != p.Len():
		panic("nn: parameter bound to another size")
	}
	value.Shape = p.Shape
	p.Value, p.bound, p.Frozen = value, true, true
}

// Alloc allocates all declared parameters that are not bound and gives them
// their initial values.
func (ps *Params) Alloc() {
	ps.made = true
	total := 0
	for _, p := range ps.list {
		if !p.bound {
			total += padded(p.Len())
		}
	}
	ps.values = ps.dev.Keep(tensor.Float32, total)
	at := 0
	var x []float32
	for _, p := range ps.list {
		if p.bound {
			continue
		}
		p.Value = part(ps.values, at, p.Shape)
		x = append(x[:0], make([]float32, p.Len())...)
		p.Init.Fill(x, ps.seed, p.Path)
		ps.dev.Write(p.Value, x)
		at += padded(p.Len())
	}
}

// part returns the tensor of a shape that begins at element at of flat memory.
func part(flat tensor.Tensor, at int, shape []int) tensor.Tensor {
	t := flat.Slice(at, at+tensor.Size(shape))
	t.Shape = shape
	return t
}

// Train gives every parameter that is not frozen a gradient tensor, of zeros.
func (ps *Params) Train() {
	if !ps.grads.IsZero() {
		ps.dev.Free(ps.grads)
	}
	total := 0
	for _, p := range ps.list {
		if !p.Frozen {
			total += padded(p.Len())
		}
	}
	ps.grads = ps.dev.Keep(tensor.Float32, total)
	at := 0
	for _, p := range ps.list {
		p.Grad = tensor.Tensor{}
		if !p.Frozen {
			p.Grad = part(ps.grads, at, p.Shape)
			at += padded(p.Len())
		}
	}
}

// ZeroGrads sets all gradients to zero.
func (ps *Params) ZeroGrads() {
	if !ps.grads.IsZero() {
		ps.dev.Zero(ps.grads)
	}
}

// Grads returns the gradients of all trained parameters as one axis, in the
// order of the parameters, each followed by zeros up to a multiple of 16; the
// zero Tensor before Train.
func (ps *Params) Grads() tensor.Tensor { return ps.grads }

// A Span is a run of parameters that lie side by side.
type Span struct {
	Params      []*Param
	Value, Grad tensor.Tensor // one axis
	At          int           // first element in Grads
}

// Spans returns the trained parameters as runs as long as possible within
// which group is the same.
func (ps *Params) Spans(group func(*Param) int) []Span {
	var out []Span
	at, gap, last := 0, true, 0
	for _, p := range ps.list {
		if p.bound {
			continue
		}
		if p.Frozen {
			gap = true
			continue
		}
		n := padded(p.Len())
		if g := group(p); gap || g != last {
			out = append(out, Span{At: at, Value: p.Value, Grad: p.Grad})
			gap, last = false, g
		}
		s := &out[len(out)-1]
		s.Params = append(s.Params, p)
		at += n
		s.Value.Shape, s.Grad.Shape = []int{at - s.At}, []int{at - s.At}
	}
	return out
}

// All returns the parameters in the order of their declaration.
func (ps *Params) All() []*Param { return ps.list }

// Get returns the parameter of a path, or nil.
func (ps *Params) Get(path string) *Param { return ps.byPath[path] }

// Count returns the number of elements of all parameters.
func (ps *Params) Count() int {
	n := 0
	for _, p := range ps.list {
		n += p.Len()
	}
	return n
}

// CountTrained returns the number of elements of those that are not frozen.
func (ps *Params) CountTrained() int {
	n := 0
	for _, p := range ps.list {
		if !p.Frozen {
			n += p.Len()
		}
	}
	return n
}

// Freeze marks the parameters whose path match accepts, and only them, as
// frozen; bound ones stay so. It comes before Train.
func (ps *Params) Freeze(match func(path string) bool) {
	for _, p := range ps.list {
		p.Frozen = p.bound || match(p.Path)
	}
}

// Set gives the parameter of a path, which is not bound, new values.
func (ps *Params) Set(path string, x []float32) error {
	p := ps.byPath[path]
	switch {
	case p == nil:
		return fmt.Errorf("nn: no parameter %q", path)
	case p.bound:
		return fmt.Errorf("nn: parameter %q belongs to somebody else", path)
	case len(x) != p.Len():
		return fmt.Errorf("nn: parameter %q has shape %v, got %d values", path, p.Shape, len(x))
	}
	ps.dev.Write(p.Value, x)
	return nil
}

// Free gives the memory of values and gradients back.
func (ps *Params) Free() {
	ps.dev.Free(ps.values)
	ps.dev.Free(ps.grads)
	ps.values, ps.grads = tensor.Tensor{}, tensor.Tensor{}
	for _, p := range ps.list {
		p.Value, p.Grad = tensor.Tensor{}, tensor.Tensor{}
	}
}

// An Init is a distribution of initial values: uniform over [Low, High), or
// normal around Low if Std is not zero.
type Init struct{ Low, High, Std float64 }

// Const is the same value everywhere.
func Const(v float64) Init { return Init{Low: v, High: v} }

// Uniform is uniform within bound of zero.
func Uniform(bound float64) Init { return Init{Low: -bound, High: bound} }

// Normal is normal around zero.
func Normal(std float64) Init { return Init{Std: std} }

// Xavier is Glorot's uniform initialisation of a matrix: within
// sqrt(6/(rows+cols)) of zero.
func Xavier(rows, cols int) Init { return Uniform(math.Sqrt(6 / float64(rows+cols))) }

// FanIn is uniform within 1/sqrt(in) of zero.
func FanIn(in int) Init { return Uniform(1 / math.Sqrt(float64(in))) }

// Fill draws the values of the parameter called path. Each is a function of
// seed, path and its index alone.
func (d Init) Fill(x []float32, seed uint64, path string) {
	if d.Low == d.High && d.Std == 0 {
		for i := range x {
			x[i] = float32(d.Low)
		}
		return
	}
	key := uint64(14695981039346656037) // FNV-1a
	for i := range len(path) {
		key = (key ^ uint64(path[i])) * 1099511628211
	}
	key ^= mix(seed)
	for i := range x {
		u := unit(mix(key + uint64(i)))
		if d.Std == 0 {
			x[i] = float32(d.Low + float64((d.High-d.Low)*u))
			continue
		}
		// Box and Muller: the second number is a hash of the first.
		r := math.Sqrt(-2 * math.Log(1-u))
		x[i] = float32(d.Low + float64(d.Std*float64(r*math.Cos(2*math.Pi*unit(mix(mix(key+uint64(i))))))))
	}
}

// unit returns a number in [0, 1).
func unit(h uint64) float64 { return float64(h>>11) / (1 << 53) }

// mix is the finaliser of splitmix64.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
