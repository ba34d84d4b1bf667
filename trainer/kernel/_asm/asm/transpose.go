package asm

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// Transpose turns the rows of a square of 32-bit words into columns: 8 YMM or
// 16 ZMM registers. It returns the registers that hold the columns.
func Transpose(i ISA, r []reg.VecVirtual) []reg.VecVirtual {
	if i.Lanes == 8 {
		return transpose8(r)
	}
	return transpose16(r)
}

// quads turns each 4 by 4 block of words inside 128-bit lanes: word c of the
// rows 4g..4g+3 goes to register 4g+c.
func quads(i ISA, r []reg.VecVirtual) []reg.VecVirtual {
	out := make([]reg.VecVirtual, len(r))
	for g := 0; g < len(r); g += 4 {
		lo0, hi0, lo1, hi1 := i.Vec(), i.Vec(), i.Vec(), i.Vec()
		VUNPCKLPS(r[g+1], r[g], lo0)
		VUNPCKHPS(r[g+1], r[g], hi0)
		VUNPCKLPS(r[g+3], r[g+2], lo1)
		VUNPCKHPS(r[g+3], r[g+2], hi1)
		for c, p := range [][2]reg.VecVirtual{{lo0, lo1}, {hi0, hi1}} {
			out[g+2*c], out[g+2*c+1] = i.Vec(), i.Vec()
			VUNPCKLPD(p[1], p[0], out[g+2*c])
			VUNPCKHPD(p[1], p[0], out[g+2*c+1])
		}
	}
	return out
}

func transpose8(r []reg.VecVirtual) []reg.VecVirtual {
	q, out := quads(AVX2, r), make([]reg.VecVirtual, 8)
	for c := range 4 {
		out[c], out[4+c] = YMM(), YMM()
		VPERM2F128(U(0x20), q[4+c], q[c], out[c])
		VPERM2F128(U(0x31), q[4+c], q[c], out[4+c])
	}
	return out
}

func transpose16(r []reg.VecVirtual) []reg.VecVirtual {
	q, out := quads(AVX512, r), make([]reg.VecVirtual, 16)
	for c := range 4 {
		even0, odd0, even1, odd1 := ZMM(), ZMM(), ZMM(), ZMM()
		VSHUFF32X4(U(0x88), q[4+c], q[c], even0) // lanes 0 and 2 of both
		VSHUFF32X4(U(0xdd), q[4+c], q[c], odd0)  // lanes 1 and 3
		VSHUFF32X4(U(0x88), q[12+c], q[8+c], even1)
		VSHUFF32X4(U(0xdd), q[12+c], q[8+c], odd1)
		for n, p := range [][2]reg.VecVirtual{{even0, even1}, {odd0, odd1}} {
			out[4*n+c], out[8+4*n+c] = ZMM(), ZMM()
			VSHUFF32X4(U(0x88), p[1], p[0], out[4*n+c])
			VSHUFF32X4(U(0xdd), p[1], p[0], out[8+4*n+c])
		}
	}
	return out
}
