package main

import (
	"espalier/trainer/kernel/_asm/asm"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// columns is the width of a tile.
const columns = 32

// tile emits a loop over rows of columns numbers: y = max(floor, x + bias), or
// y = max(floor, x + bias + residual). The residual of the next tile, which lies
// beside this one, is fetched ahead.
func tile(i asm.ISA, add bool) {
	name, args := "tile", "y *float32, ldy int, x *float32, bias *float32, floor float32, rows int"
	if add {
		name, args = "tileAdd", "y *float32, ldy int, x *float32, bias *float32, residual *float32, floor float32, rows int"
	}
	name += i.Suffix
	TEXT(name, NOSPLIT, "func("+args+")")
	Pragma("noescape")
	Doc(name + " finishes rows of 32 numbers; ldy is in bytes.")
	y, x, bias := arg("y"), arg("x"), arg("bias")
	ldy, rows := arg("ldy"), arg("rows")
	var residual reg.GPVirtual
	if add {
		residual = arg("residual")
	}
	floor := i.Scalar("floor")
	vectors := columns / i.Lanes
	var b []vec
	for v := range vectors {
		b = append(b, i.Copy(Mem{Base: bias, Disp: 4 * v * i.Lanes}))
	}
	Label("loop")
	for v := range vectors {
		off := 4 * v * i.Lanes
		s := i.Add(b[v], Mem{Base: x, Disp: off})
		if add {
			s = i.Add(s, Mem{Base: residual, Disp: off})
		}
		VMOVUPS(i.Max(floor, s), Mem{Base: y, Disp: off})
	}
	if add {
		PREFETCHT1(Mem{Base: residual, Disp: 4 * columns})
		PREFETCHT1(Mem{Base: residual, Disp: 4*columns + 64})
		ADDQ(ldy, residual)
	}
	PREFETCHT1(Mem{Base: y, Disp: 4 * columns})
	PREFETCHT1(Mem{Base: y, Disp: 4*columns + 64})
	ADDQ(U32(4*columns), x)
	ADDQ(ldy, y)
	DECQ(rows)
	JNE(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// tileHalf emits tile that rounds to bfloat16; a residual is bfloat16 too.
func tileHalf(i asm.ISA, native, add bool) {
	name, args := "tileHalf", "y *uint16, ldy int, x *float32, bias *float32, floor float32, rows int"
	if add {
		name, args = "tileHalfAdd", "y *uint16, ldy int, x *float32, bias *float32, residual *uint16, floor float32, rows int"
	}
	if native {
		name += "BF16"
	} else {
		name += i.Suffix
	}
	TEXT(name, NOSPLIT, "func("+args+")")
	Pragma("noescape")
	Doc(name + " finishes rows of 32 numbers and rounds them; ldy is in bytes.")
	y, x, bias := arg("y"), arg("x"), arg("bias")
	ldy, rows := arg("ldy"), arg("rows")
	var residual reg.GPVirtual
	if add {
		residual = arg("residual")
	}
	floor := i.Scalar("floor")
	vectors := columns / i.Lanes
	var b []vec
	for v := range vectors {
		b = append(b, i.Copy(Mem{Base: bias, Disp: 4 * v * i.Lanes}))
	}
	Label("loop")
	for v := range vectors {
		s := i.Add(b[v], Mem{Base: x, Disp: 4 * v * i.Lanes})
		if add {
			s = i.Add(s, i.Widen(Mem{Base: residual, Disp: 2 * v * i.Lanes}))
		}
		to := Mem{Base: y, Disp: 2 * v * i.Lanes}
		if native {
			VMAXPS(s, floor, reg.Z31)
			asm.StoreHalfNative(to)
		} else {
			i.StoreHalf(i.Max(floor, s), to)
		}
	}
	if add {
		PREFETCHT1(Mem{Base: residual, Disp: 2 * columns})
		PREFETCHT1(Mem{Base: y, Disp: 2 * columns})
		ADDQ(ldy, residual)
	}
	ADDQ(U32(4*columns), x)
	ADDQ(ldy, y)
	DECQ(rows)
	JNE(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// half emits the rounding of n numbers, a multiple of a vector.
func half(i asm.ISA, native bool) {
	name := "half" + i.Suffix
	if native {
		name = "halfBF16"
	}
	TEXT(name, NOSPLIT, "func(y *uint16, x *float32, n int)")
	Pragma("noescape")
	Doc(name + " rounds whole vectors.")
	y, x, n := arg("y"), arg("x"), arg("n")
	Label("loop")
	if native {
		VMOVUPS(Mem{Base: x}, reg.Z31)
		asm.StoreHalfNative(Mem{Base: y})
	} else {
		i.StoreHalf(i.Copy(Mem{Base: x}), Mem{Base: y})
	}
	ADDQ(U8(uint8(4*i.Lanes)), x)
	ADDQ(U8(uint8(2*i.Lanes)), y)
	SUBQ(U8(uint8(i.Lanes)), n)
	JNE(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

func arg(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }
