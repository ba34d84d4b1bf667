// Package plain is a device that computes in float64, in straight loops.
//
// It is the slow, obvious twin of the fast devices: what it computes of a model
// differs from exact arithmetic by some 1e-13, so that a formula is told from
// one that is only near. A tensor of any dtype is float64 numbers; those of
// 16-bit dtypes are rounded to them where they are stored. A [Device] made to
// round keeps only what float32 can hold, of results and of running sums, each
// by a fused multiply-add: its distance from one that does not is what float32
// arithmetic costs a model, whatever a device's order of sums.
//
// Products of [op.Matmul.PackRounding] and [op.Convolve.PackConvRounding] round
// their operands to bfloat16 and sum in float64. Of stats and lse the backward
// passes read nothing: they compute them again. Memory that was given back
// becomes NaN. Everything runs when it is called. A device is used from one
// goroutine at a time.
package plain

import (
	"errors"
	"math"

	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

var _ op.Device = (*Device)(nil)

var (
	errClosed = errors.New("plain: device is closed")
	errID     = errors.New("plain: an id is beyond its table")
)

// A Device is an [op.Device] in float64.
type Device struct {
	rounds           bool
	step             []*store // memory of the step
	arena, kept, top int64
	err              error
	closed           bool
}

// New returns a device that rounds what it stores to float32, or does not.
func New(rounds bool) *Device { return &Device{rounds: rounds} }

// A store is numbers of one allocation.
type store struct {
	x       []float64
	bytes   int
	rounded bool // a matrix or filters of products that round
}

func (s *store) Bytes() int { return s.bytes }

// Name returns "plain".
func (d *Device) Name() string { return "plain" }

// Numerics returns "float64" or, if it rounds, "rounded".
func (d *Device) Numerics() string {
	if d.rounds {
		return "rounded"
	}
	return "float64"
}

// Err returns the first error since the device was made.
func (d *Device) Err() error { return d.err }

// Close lets the memory go.
func (d *Device) Close() error {
	if d.closed {
		return errClosed
	}
	d.Reset()
	d.closed = true
	return nil
}

func (d *Device) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

func fresh(dt tensor.DType, shape []int) (tensor.Tensor, *store) {
	n := tensor.Size(shape)
	s := &store{x: make([]float64, n), bytes: n * dt.Bytes()}
	return tensor.Tensor{Shape: append([]int(nil), shape...), DType: dt, Store: s}, s
}

// Alloc returns a tensor of the step, of NaN.
func (d *Device) Alloc(dt tensor.DType, shape ...int) tensor.Tensor {
	t, s := fresh(dt, shape)
	spoil(s.x)
	d.step = append(d.step, s)
	d.arena += int64(s.bytes)
	d.top = max(d.top, d.kept+d.arena)
	return t
}

// Release takes a tensor of the step back.
func (d *Device) Release(t tensor.Tensor) {
	if t.IsZero() {
		return
	}
	s := t.Store.(*store)
	if len(s.x) != t.Len() {
		panic("plain: a part of a tensor is released")
	}
	spoil(s.x)
	d.arena -= int64(s.bytes)
}

// Reset ends a step.
func (d *Device) Reset() {
	for _, s := range d.step {
		spoil(s.x)
	}
	d.step, d.arena = nil, 0
}

func spoil(x []float64) {
	for i := range x {
		x[i] = math.NaN()
	}
}

// Keep returns a long-lived tensor of zeros.
func (d *Device) Keep(dt tensor.DType, shape ...int) tensor.Tensor {
	t, s := fresh(dt, shape)
	d.kept += int64(s.bytes)
	d.top = max(d.top, d.kept+d.arena)
	return t
}

// Free gives a kept tensor back.
func (d *Device) Free(t tensor.Tensor) {
	if !t.IsZero() {
		d.kept -= int64(t.Store.Bytes())
	}
}

// PeakBytes returns the most memory in use at once, by the dtypes' sizes.
func (d *Device) PeakBytes() int64 { return d.top }

// numbers returns a tensor's elements, not a copy; nil of the zero Tensor.
func numbers(t tensor.Tensor) []float64 {
	if t.IsZero() {
		return nil
	}
	return t.Store.(*store).x[t.Off:][:t.Len()]
}

// put stores y in a tensor, in its dtype.
func (d *Device) put(t tensor.Tensor, y []float64) {
	x := numbers(t)
	if len(x) != len(y) {
		panic("plain: tensors do not fit")
	}
	for i, v := range y {
		x[i] = d.stored(v, t.DType)
	}
}

// add adds y to a tensor; the zero Tensor is not wanted.
func (d *Device) add(t tensor.Tensor, y []float64) {
	if t.IsZero() {
		return
	}
	x := numbers(t)
	if len(x) != len(y) {
		panic("plain: tensors do not fit")
	}
	for i, v := range y {
		x[i] = d.stored(x[i]+v, t.DType)
	}
}

func (d *Device) stored(v float64, dt tensor.DType) float64 {
	switch {
	case dt == tensor.BFloat16:
		return nearest(v, 8, -133, 128)
	case dt == tensor.Float16:
		return nearest(v, 11, -24, 16)
	case dt == tensor.Int32:
		return math.Trunc(v)
	}
	return d.round(v)
}

// round is v as the device keeps it while it computes.
func (d *Device) round(v float64) float64 {
	if d.rounds {
		return float64(float32(v))
	}
	return v
}

// chain is the most numbers that are added one after the other.
const chain = 256

// total is the sum of numbers.
func (d *Device) total(x []float64) float64 {
	if n := len(x) / 2; n >= chain {
		return d.round(d.total(x[:n]) + d.total(x[n:]))
	}
	var s float64
	for _, v := range x {
		s = d.round(s + v)
	}
	return s
}

// dot is the sum of products.
func (d *Device) dot(x, y []float64) float64 {
	if n := len(x) / 2; n >= chain {
		return d.round(d.dot(x[:n], y[:n]) + d.dot(x[n:], y[n:]))
	}
	var s float64
	for i, v := range x {
		s = d.round(s + v*y[i])
	}
	return s
}

// axpy adds a*x to y.
func (d *Device) axpy(y, x []float64, a float64) {
	for i, v := range x {
		y[i] = d.round(y[i] + a*v)
	}
}

// nearest rounds v to so many bits, ties to even, with steps of at least
// 2^low; from 2^high on it is infinite.
func nearest(v float64, bits, low, high int) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	_, e := math.Frexp(v)
	e = max(e-bits, low)
	v = math.Ldexp(math.RoundToEven(math.Ldexp(v, -e)), e)
	if math.Abs(v) >= math.Ldexp(1, high) {
		return math.Copysign(math.Inf(1), v)
	}
	return v
}

// Write fills dst, converting to its dtype.
func (d *Device) Write(dst tensor.Tensor, src []float32) {
	y := make([]float64, len(src))
	for i, v := range src {
		y[i] = float64(v)
	}
	d.put(dst, y)
}

// WriteInts fills an int32 tensor.
func (d *Device) WriteInts(dst tensor.Tensor, src []int32) {
	y := make([]float64, len(src))
	for i, v := range src {
		y[i] = float64(v)
	}
	d.put(dst, y)
}

// Read copies src out, rounded to float32.
func (d *Device) Read(dst []float32, src tensor.Tensor) {
	x := numbers(src)
	if len(dst) != len(x) {
		panic("plain: read of another length")
	}
	for i, v := range x {
		dst[i] = float32(v)
	}
}

// Floats returns a copy of a tensor's numbers.
func Floats(src tensor.Tensor) []float64 { return append([]float64(nil), numbers(src)...) }

// ReadInts copies an int32 tensor out.
func (d *Device) ReadInts(dst []int32, src tensor.Tensor) {
	if len(dst) != src.Len() {
		panic("plain: read of another length")
	}
	copy(dst, ints(src))
}

// ints returns the elements of an int32 tensor.
func ints(t tensor.Tensor) []int32 {
	if t.DType != tensor.Int32 {
		panic("plain: not an int32 tensor")
	}
	y := make([]int32, t.Len())
	for i, v := range numbers(t) {
		y[i] = int32(v)
	}
	return y
}

// Copy copies src to dst, converting between dtypes.
func (d *Device) Copy(dst, src tensor.Tensor) { d.put(dst, numbers(src)) }

// Zero fills t with zeros.
func (d *Device) Zero(t tensor.Tensor) { clear(numbers(t)) }

// Paste copies src into dst from index at of an axis on.
func (d *Device) Paste(dst, src tensor.Tensor, axis, at int) {
	y := numbers(dst)
	each(dst.Shape, src.Shape, axis, at, func(whole, part int) { y[whole] = d.stored(numbers(src)[part], dst.DType) })
}

// PasteAdd adds src to dst from index at of an axis on.
func (d *Device) PasteAdd(dst, src tensor.Tensor, axis, at int) {
	y := numbers(dst)
	each(dst.Shape, src.Shape, axis, at, func(whole, part int) { y[whole] = d.stored(y[whole]+numbers(src)[part], dst.DType) })
}

// Cut fills dst from index at of an axis of src on.
func (d *Device) Cut(dst, src tensor.Tensor, axis, at int) {
	y := numbers(dst)
	each(src.Shape, dst.Shape, axis, at, func(whole, part int) { y[part] = d.stored(numbers(src)[whole], dst.DType) })
}

// each calls f with the index in a whole of each element of a part.
func each(whole, part []int, axis, at int, f func(whole, part int)) {
	if len(whole) != len(part) || axis < 0 || axis >= len(whole) || at < 0 || at+part[axis] > whole[axis] {
		panic("plain: a part lies outside the whole")
	}
	for i := range whole {
		if i != axis && whole[i] != part[i] {
			panic("plain: part and whole differ in another axis")
		}
	}
	inner := tensor.Size(whole[axis+1:])
	for i := range tensor.Size(part) {
		outer, run, rest := i/(part[axis]*inner), i/inner%part[axis], i%inner
		f((outer*whole[axis]+at+run)*inner+rest, i)
	}
}
