// Package asm holds what the generators share.
package asm

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// ISA is an instruction set of the kernels.
type ISA struct {
	Suffix string // of function names
	Lanes  int    // float32 in a vector
}

// The two instruction sets.
var (
	AVX2   = ISA{"AVX2", 8}
	AVX512 = ISA{"AVX512", 16}
)

// Vec returns a new vector register.
func (i ISA) Vec() reg.VecVirtual {
	if i.Lanes == 16 {
		return ZMM()
	}
	return YMM()
}

// Const adds a float32 to the data section and returns its place.
func Const(name string, v float32) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	DATA(0, U32(math.Float32bits(v)))
	return m
}

// Words adds 32-bit words to the data section and returns their place.
func Words(name string, w ...uint32) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i, v := range w {
		DATA(4*i, U32(v))
	}
	return m
}

// U is an 8-bit immediate.
func U(v uint8) Constant { return U8(v) }
