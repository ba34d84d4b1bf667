package op

import "espalier/trainer/tensor"

// An Adopter is a device that can compute on memory of the host where it lies,
// such as a mapped file, without a copy.
type Adopter interface {
	// Adopt returns a tensor over memory of the caller, little endian, which must
	// outlive it and not change; ok is false if the memory cannot be used as it
	// lies. The tensor is never written to; Free leaves the memory alone.
	Adopt(dt tensor.DType, memory []byte, shape ...int) (x tensor.Tensor, ok bool)
}
