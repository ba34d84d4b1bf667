package cpu

import (
	"unsafe"

	"espalier/trainer/tensor"
)

// Adopt returns a tensor over memory of the caller; see op.Adopter. The memory
// must start at a multiple of 4 bytes.
func (d *Device) Adopt(dt tensor.DType, memory []byte, shape ...int) (tensor.Tensor, bool) {
	n := tensor.Size(shape)
	if len(memory) != n*dt.Bytes() {
		panic("cpu: adopted memory of another length")
	}
	one := uint16(1)
	little := *(*byte)(unsafe.Pointer(&one)) == 1
	p := unsafe.SliceData(memory)
	if !little || n == 0 || len(memory)%4 != 0 || uintptr(unsafe.Pointer(p))%4 != 0 {
		return tensor.Tensor{}, false
	}
	s := &slab{words: unsafe.Slice((*float32)(unsafe.Pointer(p)), len(memory)/4), foreign: true}
	return tensor.Tensor{Shape: append([]int(nil), shape...), DType: dt, Store: s}, true
}
