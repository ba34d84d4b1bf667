package asm

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Widen loads a vector of bfloat16 numbers as float32.
func (i ISA) Widen(m Mem) Vec {
	d := i.Vec()
	VPMOVZXWD(m, d)
	VPSLLD(U8(16), d, d)
	return d
}

// StoreHalf rounds lanes to the nearest bfloat16, ties to even, and stores
// them. Denormals become zeros of their sign, a NaN becomes a quiet one.
func (i ISA) StoreHalf(v Vec, m Mem) {
	sign, quiet, up := i.And(v, Bits(0x80000000)), i.Or(v, Bits(0x400000)), i.ShiftRight(v, 16)
	small, nan := i.Cmp(EQ, i.And(v, Bits(0x7f800000)), Bits(0)), i.Cmp(NaN, v, v)
	if i.Lanes == 16 {
		VPANDD(Bits(1), up, up)
		y := i.AddInt(i.AddInt(v, Bits(0x7fff)), up)
		VMOVAPS(sign, small.k, y) // VBLENDMPS would read its destination, for all that avo knows
		VMOVAPS(quiet, nan.k, y)
		VPMOVDW(i.ShiftRight(y, 16), m)
		return
	}
	VPAND(Bits(1), up, up)
	y := i.AddInt(i.AddInt(v, Bits(0x7fff)), up)
	y = i.ShiftRight(i.Blend(nan, i.Blend(small, y, sign), quiet), 16)
	lo, hi := XMM(), XMM()
	VMOVUPS(y.AsX(), lo)
	VEXTRACTI128(U8(1), y, hi)
	VPACKUSDW(hi, lo, lo)
	VMOVDQU(lo, m)
}

// StoreHalfNative is StoreHalf by VCVTNEPS2BF16, which Go's assembler does not
// know. The numbers are in Z31.
func StoreHalfNative(m Mem) {
	for _, v := range []byte{0x62, 0x02, 0x7e, 0x48, 0x72, 0xff} { // VCVTNEPS2BF16 Z31, Y31
		Instruction(&ir.Instruction{Opcode: "BYTE", Operands: []Op{Imm(uint64(v))}, ISA: []string{"AVX512BF16"}})
	}
	VMOVDQU16(reg.Y31, m)
}
