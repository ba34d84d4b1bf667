package optest

import (
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

var _ op.Device = (*Idle)(nil)

// Idle is a device that computes nothing and allocates nothing: what is
// measured on it is its caller's. Values read from it are zeros. A method that
// it does not have panics.
type Idle struct {
	op.Device
	shapes []int
	at     int
}

// NewIdle returns an idle device with room for a step's shapes.
func NewIdle() *Idle { return &Idle{shapes: make([]int, 1<<16)} }

type nowhere struct{}

func (nowhere) Bytes() int { return 0 }

// Alloc returns a tensor without memory.
func (d *Idle) Alloc(dt tensor.DType, shape ...int) tensor.Tensor {
	s := d.shapes[d.at : d.at+len(shape) : d.at+len(shape)]
	copy(s, shape)
	d.at += len(shape)
	return tensor.Tensor{Shape: s, DType: dt, Store: nowhere{}}
}

// Keep returns a tensor without memory.
func (d *Idle) Keep(dt tensor.DType, shape ...int) tensor.Tensor {
	return tensor.Tensor{Shape: append([]int(nil), shape...), DType: dt, Store: nowhere{}}
}

// The rest does nothing.

func (d *Idle) Reset()                                                   { d.at = 0 }
func (d *Idle) Release(tensor.Tensor)                                    {}
func (d *Idle) Signs(_, _ tensor.Tensor)                                 {}
func (d *Idle) Err() error                                               { return nil }
func (d *Idle) Close() error                                             { return nil }
func (d *Idle) Free(tensor.Tensor)                                       {}
func (d *Idle) Write(tensor.Tensor, []float32)                           {}
func (d *Idle) WriteInts(tensor.Tensor, []int32)                         {}
func (d *Idle) Read(dst []float32, _ tensor.Tensor)                      { clear(dst) }
func (d *Idle) Copy(_, _ tensor.Tensor)                                  {}
func (d *Idle) Zero(tensor.Tensor)                                       {}
func (d *Idle) Gemm(_, _, _ tensor.Tensor, _ op.Gemm)                    {}
func (d *Idle) Attend(_, _, _, _, _ tensor.Tensor, _ op.Attention)       {}
func (d *Idle) Norm(_, _, _, _, _ tensor.Tensor, _ op.Norm)              {}
func (d *Idle) NormBack(_, _, _, _, _, _, _ tensor.Tensor, _ op.Norm)    {}
func (d *Idle) LogSoftmax(_, _ tensor.Tensor)                            {}
func (d *Idle) Activate(_, _ tensor.Tensor, _ op.Act)                    {}
func (d *Idle) ActivateBack(_, _, _ tensor.Tensor, _ op.Act)             {}
func (d *Idle) Add(_, _, _ tensor.Tensor)                                {}
func (d *Idle) Mul(_, _, _ tensor.Tensor)                                {}
func (d *Idle) Axpy(_, _ tensor.Tensor, _ float32)                       {}
func (d *Idle) Scale(_, _ tensor.Tensor, _ float64)                      {}
func (d *Idle) LogFloor(_, _ tensor.Tensor, _ float32)                   {}
func (d *Idle) LogFloorBack(_, _, _ tensor.Tensor, _ float32)            {}
func (d *Idle) Drop(_, _ tensor.Tensor, _ op.Dropout)                    {}
func (d *Idle) Permute(_, _ tensor.Tensor, _ []int)                      {}
func (d *Idle) Gather(_, _, _ tensor.Tensor, _ float32)                  {}
func (d *Idle) ScatterAdd(_, _, _ tensor.Tensor, _ float32)              {}
func (d *Idle) CrossEntropy(_, _, _, _ tensor.Tensor, _ op.CrossEntropy) {}
func (d *Idle) Sum(_, _ tensor.Tensor)                                   {}
func (d *Idle) SumRows(_, _ tensor.Tensor)                               {}
func (d *Idle) SumSquares(_, _ tensor.Tensor)                            {}
func (d *Idle) Adam(_, _, _, _ tensor.Tensor, _ op.Adam)                 {}
func (d *Idle) AttendBack(_, _, _, _, _, _, _, _, _, _ tensor.Tensor, _ op.Attention) {
}

// FinishBack does nothing.
func (d *Idle) FinishBack(_, _, _ tensor.Tensor, _ op.Act, _ op.Dropout) {}

// CrossEntropyBack does nothing.
func (d *Idle) CrossEntropyBack(_, _, _, _, _ tensor.Tensor, _ op.CrossEntropy) {}

// ProjectLoss does nothing.
func (d *Idle) ProjectLoss(_, _, _ tensor.Tensor, _ op.Projection, _ tensor.Tensor, _ op.CrossEntropy) {
}

// ProjectLossBack does nothing.
func (d *Idle) ProjectLossBack(_, _, _, _, _, _ tensor.Tensor, _ op.Projection, _ tensor.Tensor, _ op.CrossEntropy) {
}
