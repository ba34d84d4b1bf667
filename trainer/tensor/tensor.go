// Package tensor is the shape, dtype and storage handle of dense arrays.
//
// It does no arithmetic. A Tensor is a small value; copying it copies the
// handle, not the data. Data are row-major and owned by a device.
package tensor

import "fmt"

// A DType is the type of an element.
type DType uint8

// Element types. Float32 is what is computed in; BFloat16 is for frozen
// weights and Float16 for stored features.
const (
	Float32 DType = iota + 1
	BFloat16
	Float16
	Int32
)

// Bytes returns the size of one element.
func (d DType) Bytes() int {
	switch d {
	case Float32, Int32:
		return 4
	case BFloat16, Float16:
		return 2
	}
	panic("tensor: unknown dtype")
}

func (d DType) String() string {
	switch d {
	case Float32:
		return "float32"
	case BFloat16:
		return "bfloat16"
	case Float16:
		return "float16"
	case Int32:
		return "int32"
	}
	return fmt.Sprintf("dtype(%d)", uint8(d))
}

// Storage is memory that belongs to a device. Only that device looks inside.
type Storage interface {
	Bytes() int // length in bytes
}

// A Tensor is a dense row-major array in a device's memory. The zero Tensor
// means "none" wherever an operand is optional.
type Tensor struct {
	Shape []int
	DType DType
	Store Storage
	Off   int // first element, counted in elements
}

// IsZero reports whether t is the zero Tensor.
func (t Tensor) IsZero() bool { return t.Store == nil }

// Len returns the number of elements.
func (t Tensor) Len() int { return Size(t.Shape) }

// Size returns the product of a shape's dimensions.
func Size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// Dim returns the size of axis i, counted from the end if negative.
func (t Tensor) Dim(i int) int {
	if i < 0 {
		i += len(t.Shape)
	}
	return t.Shape[i]
}

// Rows returns the product of all dimensions but the last.
func (t Tensor) Rows() int { return Size(t.Shape[:len(t.Shape)-1]) }

// View returns the same elements under another shape of equal size.
func (t Tensor) View(shape ...int) Tensor {
	if Size(shape) != t.Len() {
		panic("tensor: view changes the number of elements")
	}
	t.Shape = append([]int(nil), shape...)
	return t
}

// Slice returns rows lo to hi of the first axis.
func (t Tensor) Slice(lo, hi int) Tensor {
	if lo < 0 || hi < lo || hi > t.Shape[0] {
		panic("tensor: slice out of range")
	}
	t.Off += lo * Size(t.Shape[1:])
	t.Shape = append([]int{hi - lo}, t.Shape[1:]...)
	return t
}
