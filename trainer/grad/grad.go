// Package grad is the tape for reverse mode over op.
//
// A [Tape] runs operations on a device and remembers them; Backward walks them
// in reverse. A [Var] names a value on the tape. Leaves are tensors of the
// caller: one with a gradient tensor is a parameter, whose gradient is added to
// that tensor, so that a tensor used many times gets the sum over its uses; one
// without is frozen or data, gets no gradient and costs no backward work.
//
// Values and gradients lie in the device's step arena: [Tape.Begin] ends the
// last step and invalidates them. Nodes, shapes and buffers are reused from
// step to step, so that a steady-state step allocates nothing from the Go
// heap. Memory is given back to the device as early as can be: that of a
// gradient when the walk is past it; that of a value when the walk is past it,
// or before, when the caller has said by [Tape.Trim] that it computes with it no
// more and no gradient needs it. Of what a gradient does need, norms and
// attentions are computed again when their turn comes, from operands that are
// kept anyway, and of the result of a ReLU that only its own gradient reads the
// signs are kept.
//
// A device has one arena, so only one tape of a device may be in use at a
// time, from one goroutine. Misuse panics with a constant string.
package grad

import (
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// A Var is a value on a tape; the zero Var means "none" wherever an operand is
// optional. It is valid until the tape's next Begin.
type Var int32

// A Step says what is recorded and where dropout's randomness comes from.
type Step struct {
	Grad   bool // record what Backward needs
	Drop   bool // dropout is on
	Seed   uint64
	Number uint64 // counts the steps of a run
}

// A Site names a place where dropout is applied; it differs between any two
// places of a model, layer positions included.
type Site uint64

// A Tape records operations.
type Tape struct {
	dev    op.Device
	step   Step
	walked bool   // Backward has begun
	nodes  []node // nodes[0] is unused
	bufs   []buffer
	free   []int32 // buffers without memory
	shapes []int   // shapes of this step, one after the other
	one    [1]float32
	ones   []float32
}

// A node is one operation: its result and what its backward function needs.
type node struct {
	out   tensor.Tensor
	back  func(t *Tape, n *node, dout tensor.Tensor)
	redo  func(t *Tape, n *node) // fills out again, from values that back reads
	in    [4]Var
	reads [5]Var // values that back reads
	base  Var    // node whose memory out is; 0: its own or the caller's
	waits int32  // backward functions that read out
	grad  int32  // index of a buffer, 0 if there is none yet
	uses  int32  // how often the result is an operand
	needs bool   // a gradient is wanted
	alias bool   // another node views the same memory

	arena  bool // out is memory that the tape gives back
	spent  bool // the caller computes with it no more
	spare  bool // Trim leaves it alone while it runs
	pinned bool // Trim leaves it alone
	gone   bool // the memory was given back

	saved tensor.Tensor // of the tape
	given tensor.Tensor // of the caller
	ids   tensor.Tensor
	act   op.Act
	alpha float64
	drop  op.Dropout
	norm  op.Norm
	loss  op.CrossEntropy
	att   op.Attention
	axes  [4]int
}

// A buffer is memory of a gradient. Several nodes may hold one; it is changed
// in place only while it has a single holder.
type buffer struct {
	mem   tensor.Tensor // one axis
	holds int32         // 0: it has none
	fixed bool          // a parameter's gradient: never given away
}

// New returns an empty tape over dev.
func New(dev op.Device) *Tape {
	return &Tape{dev: dev, one: [1]float32{1}}
}

// Device returns the device that the tape computes on.
func (t *Tape) Device() op.Device { return t.dev }

// Begin ends the last step, resets the device's arena and starts another step.
func (t *Tape) Begin(s Step) {
	t.dev.Reset()
	t.step, t.walked = s, false
	t.nodes = append(t.nodes[:0], node{})
	t.bufs = append(t.bufs[:0], buffer{})
	t.free, t.shapes = t.free[:0], t.shapes[:0]
}

// Recording reports whether the step records what Backward needs.
func (t *Tape) Recording() bool { return t.step.Grad }

// Drop returns dropout with probability p at a site in this step; it is off
// where the step says so.
func (t *Tape) Drop(p float32, s Site) op.Dropout {
	if !t.step.Drop || p == 0 {
		return op.Dropout{}
	}
	key := mix(mix(mix(t.step.Seed)+t.step.Number) + uint64(s))
	return op.Dropout{P: p, Key: key}
}

// mix is the finaliser of splitmix64, a bijection of 64-bit words.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Leaf puts a tensor on the tape. grad is the tensor to which its gradient is
// added, or zero if none is wanted.
func (t *Tape) Leaf(value, grad tensor.Tensor) Var {
	v, n := t.push(value)
	if t.step.Grad && !grad.IsZero() {
		if grad.Len() != value.Len() {
			panic("grad: gradient of another size")
		}
		n.needs = true
		n.grad = int32(len(t.bufs))
		t.bufs = append(t.bufs, buffer{mem: t.flat(grad), holds: 1, fixed: true})
	}
	return v
}

// Floats puts data in the arena and on the tape, until the next Begin.
func (t *Tape) Floats(x []float32, shape ...int) Var {
	out := t.alloc(tensor.Float32, shape...)
	t.dev.Write(out, x)
	v, _ := t.push(out)
	return v
}

// Fill puts a tensor of one number in the arena and on the tape, until the next
// Begin.
func (t *Tape) Fill(x float64, shape ...int) Var {
	n := tensor.Size(shape)
	for len(t.ones) < n {
		t.ones = append(t.ones, 1)
	}
	v := t.Floats(t.ones[:n], shape...)
	t.dev.Scale(t.nodes[v].out, t.nodes[v].out, x)
	return v
}

// Ints returns an arena tensor that holds x.
func (t *Tape) Ints(x []int32, shape ...int) tensor.Tensor {
	out := t.alloc(tensor.Int32, shape...)
	t.dev.WriteInts(out, x)
	return out
}

// Value returns the value of v.
func (t *Tape) Value(v Var) tensor.Tensor {
	if t.nodes[t.root(v)].gone {
		panic("grad: the value is gone")
	}
	return t.nodes[v].out
}

// Dim returns the size of axis i of v, counted from the end if negative.
func (t *Tape) Dim(v Var, i int) int { return t.nodes[v].out.Dim(i) }

// size returns the number of elements of v, whose value may be gone.
func (t *Tape) size(v Var) int { return t.nodes[v].out.Len() }

// Read copies the value of v out.
func (t *Tape) Read(dst []float32, v Var) { t.dev.Read(dst, t.Value(v)) }

// Backward adds the gradient of the sum of the roots, each of one element, to
// the gradient tensors of the leaves. It may be called once a step; of what was
// computed, the roots have their values afterwards.
func (t *Tape) Backward(roots ...Var) {
	if !t.step.Grad {
		panic("grad: the step does not record")
	}
	t.walked = true
	for _, r := range roots {
		if t.nodes[r].out.Len() != 1 {
			panic("grad: a root has one element")
		}
		t.nodes[t.root(r)].arena = false
		if !t.nodes[r].needs {
			continue
		}
		b := t.buffer(1)
		t.dev.Write(t.bufs[b].mem, t.one[:])
		t.give(r, b)
	}
	for i := len(t.nodes) - 1; i > 0; i-- {
		n := &t.nodes[i]
		if n.back != nil {
			if n.grad != 0 {
				for _, v := range n.reads {
					t.restore(v)
				}
				n.back(t, n, t.gradient(n))
				t.release(n.grad)
				n.grad = 0
			}
			for _, v := range n.reads {
				r := t.root(v)
				t.nodes[r].waits--
				t.settle(r)
			}
		}
		t.dev.Release(n.saved)
		n.spent = true
		t.settle(Var(i))
	}
}

// push adds a node without operands.
func (t *Tape) push(out tensor.Tensor) (Var, *node) {
	i := len(t.nodes)
	t.nodes = append(t.nodes, node{out: out})
	return Var(i), &t.nodes[i]
}

// record adds a node that computes out, memory of its own, from its operands.
func (t *Tape) record(out tensor.Tensor, back func(*Tape, *node, tensor.Tensor), in ...Var) (Var, *node) {
	v, n := t.push(out)
	n.arena = true
	copy(n.in[:], in)
	for _, x := range in {
		t.nodes[x].uses++
		n.needs = n.needs || t.nodes[x].needs
	}
	if n.needs {
		n.back = back
	}
	return v, n
}

// keep says whose values, five at most, v's backward function reads. It is
// called at most once for a node.
func (t *Tape) keep(v Var, of ...Var) {
	if t.nodes[v].back == nil {
		return
	}
	copy(t.nodes[v].reads[:], of)
	for _, x := range of {
		t.nodes[t.root(x)].waits++
	}
}

// wanted reports whether an operation on these operands has a gradient.
func (t *Tape) wanted(in ...Var) bool {
	for _, x := range in {
		if t.nodes[x].needs {
			return true
		}
	}
	return false
}

// needs reports whether a gradient of v is wanted.
func (t *Tape) needs(v Var) bool { return t.nodes[v].needs }

// shape copies dims to memory that lives as long as the step.
func (t *Tape) shape(dims ...int) []int {
	at := len(t.shapes)
	t.shapes = append(t.shapes, dims...)
	return t.shapes[at:len(t.shapes):len(t.shapes)]
}

func (t *Tape) alloc(dt tensor.DType, dims ...int) tensor.Tensor {
	return t.dev.Alloc(dt, t.shape(dims...)...)
}

// like returns a new tensor of x's shape.
func (t *Tape) like(x tensor.Tensor) tensor.Tensor {
	return t.dev.Alloc(tensor.Float32, x.Shape...)
}

// view returns the elements of x under another shape.
func (t *Tape) view(x tensor.Tensor, dims ...int) tensor.Tensor {
	if tensor.Size(dims) != x.Len() {
		panic("grad: view changes the number of elements")
	}
	x.Shape = t.shape(dims...)
	return x
}

func (t *Tape) flat(x tensor.Tensor) tensor.Tensor { return t.view(x, x.Len()) }

// matrix views x as rows of its last axis.
func (t *Tape) matrix(x tensor.Tensor) tensor.Tensor {
	if len(x.Shape) == 2 {
		return x
	}
	return t.view(x, x.Rows(), x.Dim(-1))
}

// buffer returns a gradient buffer of n elements, contents undefined, held
// once.
func (t *Tape) buffer(n int) int32 { return t.hold(t.alloc(tensor.Float32, n)) }

// hold makes a buffer of memory, held once.
func (t *Tape) hold(mem tensor.Tensor) int32 {
	b := buffer{mem: mem, holds: 1}
	if n := len(t.free); n > 0 {
		i := t.free[n-1]
		t.free, t.bufs[i] = t.free[:n-1], b
		return i
	}
	t.bufs = append(t.bufs, b)
	return int32(len(t.bufs) - 1)
}

func (t *Tape) release(b int32) {
	t.bufs[b].holds--
	if t.bufs[b].holds == 0 && !t.bufs[b].fixed {
		t.dev.Release(t.bufs[b].mem)
		t.free = append(t.free, b)
	}
}

// as views a buffer in the shape of x.
func (t *Tape) as(b int32, x tensor.Tensor) tensor.Tensor {
	m := t.bufs[b].mem
	m.Shape = x.Shape
	return m
}

// gradient returns the gradient of n in the shape of its result.
func (t *Tape) gradient(n *node) tensor.Tensor { return t.as(n.grad, n.out) }

// fresh returns a new buffer for a gradient of v and its view; 0 and the zero
// Tensor if none is wanted.
func (t *Tape) fresh(v Var) (int32, tensor.Tensor) {
	n := &t.nodes[v]
	if !n.needs {
		return 0, tensor.Tensor{}
	}
	b := t.buffer(n.out.Len())
	return b, t.as(b, n.out)
}

// any is fresh for a device that wants memory also where no gradient is wanted;
// give releases it then.
func (t *Tape) any(v Var) (int32, tensor.Tensor) {
	n := &t.nodes[v]
	b := t.buffer(n.out.Len())
	return b, t.as(b, n.out)
}

// own returns a buffer for a gradient that is made of n's element by element:
// n's own if nobody else holds it, else a new one. The caller holds it.
func (t *Tape) own(n *node) (int32, tensor.Tensor) {
	b := n.grad
	if t.bufs[b].holds == 1 && !t.bufs[b].fixed {
		t.bufs[b].holds++
	} else {
		b = t.buffer(n.out.Len())
	}
	return b, t.as(b, n.out)
}

// give adds a buffer to the gradient of v, and with it one hold. Buffer 0
// means that there is nothing to give.
func (t *Tape) give(v Var, b int32) {
	if b == 0 {
		return
	}
	n := &t.nodes[v]
	switch {
	case !n.needs:
		t.release(b)
	case n.grad == 0:
		n.grad = b
	case t.bufs[n.grad].holds == 1:
		t.dev.Axpy(t.bufs[n.grad].mem, t.bufs[b].mem, 1)
		t.release(b)
	case t.bufs[b].holds == 1:
		t.dev.Axpy(t.bufs[b].mem, t.bufs[n.grad].mem, 1)
		t.release(n.grad)
		n.grad = b
	default:
		c := t.buffer(n.out.Len())
		t.dev.Add(t.bufs[c].mem, t.bufs[n.grad].mem, t.bufs[b].mem)
		t.release(n.grad)
		t.release(b)
		n.grad = c
	}
}

// pass adds n's own gradient to that of v, of as many elements.
func (t *Tape) pass(v Var, n *node) {
	if t.needs(v) {
		t.bufs[n.grad].holds++
		t.give(v, n.grad)
	}
}

// sum returns the gradient of v as a tensor to be added to, the zero Tensor if
// none is wanted.
func (t *Tape) sum(v Var) tensor.Tensor {
	if v == 0 || !t.nodes[v].needs {
		return tensor.Tensor{}
	}
	n := &t.nodes[v]
	if n.grad == 0 {
		n.grad = t.buffer(n.out.Len())
		t.dev.Zero(t.bufs[n.grad].mem)
	} else if t.bufs[n.grad].holds > 1 {
		b := t.buffer(n.out.Len())
		t.dev.Copy(t.bufs[b].mem, t.bufs[n.grad].mem)
		t.release(n.grad)
		n.grad = b
	}
	return t.gradient(n)
}
