package main

import (
	"espalier/trainer/kernel/_asm/asm"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A width is an instruction set, with or without its own rounding.
type width struct {
	asm.ISA
	native bool
}

func (w width) name(s string) string {
	if w.native {
		return s + "BF16"
	}
	return s + w.Suffix
}

// put rounds the result of a two-operand instruction and stores it.
func (w width) put(op func(ops ...Op), b Op, a vec, m Mem) {
	if w.native {
		op(b, a, reg.Z31)
		asm.StoreHalfNative(m)
		return
	}
	d := w.Vec()
	op(b, a, d)
	w.StoreHalf(d, m)
}

// halfBytes loads a number of bfloat16 as one of bytes.
func halfBytes(arg string) reg.GPVirtual {
	r := Load(Param(arg), GP64()).(reg.GPVirtual)
	SHLQ(U8(1), r)
	return r
}

// inputHalf emits the transform of a patch of 4 by 4 pixels in bfloat16.
func inputHalf(w width) {
	name := w.name("inputHalf")
	TEXT(name, NOSPLIT, "func(out *uint16, step int, in *uint16, row, pixel, n int)")
	Pragma("noescape")
	Doc(name + " transforms a patch of 4 by 4 pixels of whole vectors.")
	out := Load(Param("out"), GP64()).(reg.GPVirtual)
	in := Load(Param("in"), GP64()).(reg.GPVirtual)
	step, row, pixel := halfBytes("step"), halfBytes("row"), halfBytes("pixel")
	n := Load(Param("n"), GP64()).(reg.GPVirtual)
	pixel3, row3, to := GP64(), GP64(), GP64()
	LEAQ(Mem{Base: pixel, Index: pixel, Scale: 2}, pixel3)
	LEAQ(Mem{Base: row, Index: row, Scale: 2}, row3)
	Label("loop")
	p := GP64()
	pixels := func(r int) (v [4]vec) {
		switch r {
		case 0:
			MOVQ(in, p)
		case 3:
			LEAQ(Mem{Base: in, Index: row3, Scale: 1}, p)
		default:
			LEAQ(Mem{Base: in, Index: row, Scale: uint8(r)}, p)
		}
		v[0] = w.Widen(Mem{Base: p})
		v[1] = w.Widen(Mem{Base: p, Index: pixel, Scale: 1})
		v[2] = w.Widen(Mem{Base: p, Index: pixel, Scale: 2})
		v[3] = w.Widen(Mem{Base: p, Index: pixel3, Scale: 1})
		return v
	}
	MOVQ(out, to)
	line := func(a, b [4]vec, add bool) {
		var t [4]vec
		for c := range t {
			if add {
				t[c] = w.Add(a[c], b[c])
			} else {
				t[c] = w.Sub(a[c], b[c])
			}
		}
		w.put(VSUBPS, t[2], t[0], Mem{Base: to})
		ADDQ(step, to)
		w.put(VADDPS, t[2], t[1], Mem{Base: to})
		ADDQ(step, to)
		w.put(VSUBPS, t[1], t[2], Mem{Base: to})
		ADDQ(step, to)
		w.put(VSUBPS, t[3], t[1], Mem{Base: to})
		ADDQ(step, to)
	}
	d2 := pixels(2)
	line(pixels(0), d2, false)
	again := func(v [4]vec, r int) [4]vec {
		if w.Lanes == 16 {
			return v
		}
		return pixels(r) // 16 registers do not hold it meanwhile
	}
	d1 := pixels(1)
	d2 = again(d2, 2)
	line(d1, d2, true)
	d1, d2 = again(d1, 1), again(d2, 2)
	line(d2, d1, false)
	line(again(d1, 1), pixels(3), false)
	ADDQ(U8(uint8(2*w.Lanes)), in)
	ADDQ(U8(uint8(2*w.Lanes)), out)
	SUBQ(U8(uint8(w.Lanes)), n)
	JNE(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// outputHalf emits the transform back to 2 by 2 pixels, bias and ReLU.
func outputHalf(w width) {
	name := w.name("outputHalf")
	TEXT(name, NOSPLIT, "func(out *uint16, row, pixel int, in *float32, step int, bias *float32, n int)")
	Pragma("noescape")
	Doc(name + " transforms 16 products back to 2 by 2 pixels of whole vectors, adds bias and takes what is positive.")
	out := Load(Param("out"), GP64()).(reg.GPVirtual)
	in := Load(Param("in"), GP64()).(reg.GPVirtual)
	bias := Load(Param("bias"), GP64()).(reg.GPVirtual)
	row, pixel, step := halfBytes("row"), halfBytes("pixel"), bytes("step")
	n := Load(Param("n"), GP64()).(reg.GPVirtual)
	step4, step12, p, to := GP64(), GP64(), GP64(), GP64()
	MOVQ(step, step4)
	SHLQ(U8(2), step4)
	LEAQ(Mem{Base: step4, Index: step4, Scale: 2}, step12)
	zero := w.Zero()
	Label("loop")
	MOVQ(out, to)
	for r := range 2 {
		MOVQ(in, p)
		var s [4]vec
		for c := range s {
			m1, m2 := w.Copy(Mem{Base: p, Index: step4, Scale: 1}), Mem{Base: p, Index: step4, Scale: 2}
			if r == 0 {
				s[c] = w.Add(w.Add(m1, Mem{Base: p}), m2)
			} else {
				s[c] = w.Sub(w.Sub(m1, m2), Mem{Base: p, Index: step12, Scale: 1})
			}
			if c < 3 {
				ADDQ(step, p)
			}
		}
		v := w.Add(w.Add(s[0], s[1]), s[2])
		w.put(VMAXPS, w.Add(v, Mem{Base: bias}), zero, Mem{Base: to})
		v = w.Sub(w.Sub(s[1], s[2]), s[3])
		w.put(VMAXPS, w.Add(v, Mem{Base: bias}), zero, Mem{Base: to, Index: pixel, Scale: 1})
		if r == 0 {
			ADDQ(row, to)
		}
	}
	ADDQ(U8(uint8(4*w.Lanes)), in)
	ADDQ(U8(uint8(4*w.Lanes)), bias)
	ADDQ(U8(uint8(2*w.Lanes)), out)
	SUBQ(U8(uint8(w.Lanes)), n)
	JNE(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
