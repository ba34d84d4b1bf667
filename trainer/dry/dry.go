// Package dry is a device that computes nothing and counts the memory that
// computing would take.
//
// A step run on a [Device] makes the tensors that it makes on another device, so
// that their peak is known before the step runs. What is read from it is 0.
// Scratch memory that a device keeps for its operations is not counted. It is
// used from one goroutine at a time.
package dry

import (
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

var _ op.Device = (*Device)(nil)

// line is the unit of allocations in bytes, as the processor's device has it.
const line = 64

// A Device counts bytes.
type Device struct {
	arena, kept, peak int64
}

// New returns a device that holds nothing.
func New() *Device { return &Device{} }

// A store is the size of what it would hold.
type store int64

func (s store) Bytes() int { return int(s) }

func (d *Device) tensor(dt tensor.DType, shape []int, unit int64) tensor.Tensor {
	bytes := (int64(tensor.Size(shape)*dt.Bytes()) + unit - 1) / unit * unit
	return tensor.Tensor{Shape: append([]int(nil), shape...), DType: dt, Store: store(bytes)}
}

// Alloc counts a tensor of the step.
func (d *Device) Alloc(dt tensor.DType, shape ...int) tensor.Tensor {
	t := d.tensor(dt, shape, line)
	d.arena += int64(t.Store.Bytes())
	d.peak = max(d.peak, d.kept+d.arena)
	return t
}

// Release takes a tensor of the step from the count.
func (d *Device) Release(t tensor.Tensor) {
	if !t.IsZero() {
		d.arena -= int64(t.Store.Bytes())
	}
}

// Reset ends a step.
func (d *Device) Reset() { d.arena = 0 }

// Keep counts a long-lived tensor.
func (d *Device) Keep(dt tensor.DType, shape ...int) tensor.Tensor {
	t := d.tensor(dt, shape, 4)
	d.kept += int64(t.Store.Bytes())
	d.peak = max(d.peak, d.kept+d.arena)
	return t
}

// Free takes a kept or packed tensor from the count.
func (d *Device) Free(t tensor.Tensor) {
	if !t.IsZero() {
		d.kept -= int64(t.Store.Bytes())
	}
}

// PeakBytes returns the most bytes that tensors took at once.
func (d *Device) PeakBytes() int64 { return d.peak }

// Pack counts what a packed matrix takes: panels of 32 columns.
func (d *Device) Pack(b tensor.Tensor, trans bool) tensor.Tensor {
	const panel = 32
	k, n := b.Shape[0], b.Shape[1]
	if trans {
		k, n = n, k
	}
	t := d.Keep(b.DType, k, (n+panel-1)/panel*panel)
	t.Shape = append([]int(nil), b.Shape...)
	return t
}

// PackRounding is Pack.
func (d *Device) PackRounding(b tensor.Tensor, trans bool) tensor.Tensor { return d.Pack(b, trans) }

// PackConv counts filters as Pack does.
func (d *Device) PackConv(w tensor.Tensor) tensor.Tensor {
	t := d.Pack(w.View(w.Len()/w.Dim(-1), w.Dim(-1)), false)
	t.Shape = append([]int(nil), w.Shape...)
	return t
}

// PackConvRounding is PackConv in bfloat16.
func (d *Device) PackConvRounding(w tensor.Tensor) tensor.Tensor {
	w.DType = tensor.BFloat16
	return d.PackConv(w)
}

// Name returns "dry".
func (d *Device) Name() string { return "dry" }

// Numerics returns "dry".
func (d *Device) Numerics() string { return "dry" }

// Err returns nil.
func (d *Device) Err() error { return nil }

// Close returns nil.
func (d *Device) Close() error { return nil }

// Read fills dst with 0.
func (d *Device) Read(dst []float32, _ tensor.Tensor) { clear(dst) }

// ReadInts fills dst with 0.
func (d *Device) ReadInts(dst []int32, _ tensor.Tensor) { clear(dst) }
