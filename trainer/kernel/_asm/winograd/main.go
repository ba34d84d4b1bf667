// Command winograd generates the transforms of Winograd's convolution.
package main

import (
	"espalier/trainer/kernel/_asm/asm"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

type vec = asm.Vec

func main() {
	ConstraintExpr("!purego")
	for _, i := range []asm.ISA{asm.AVX512, asm.AVX2} {
		input(i)
		output(i)
	}
	for _, w := range []width{{asm.AVX512, true}, {asm.AVX512, false}, {asm.AVX2, false}} {
		inputHalf(w)
		outputHalf(w)
	}
	Generate()
}

// overVectors emits body for whole vectors of n numbers and for the rest,
// masked. Offsets are in bytes.
func overVectors(i asm.ISA, n reg.GPVirtual, body func(at reg.GPVirtual, load func(Mem) vec, store func(vec, Mem))) {
	at := GP64()
	XORQ(at, at)
	Label("loop")
	CMPQ(n, U8(uint8(i.Lanes)))
	JL(LabelRef("tail"))
	body(at, func(m Mem) vec { return i.Copy(m) }, func(v vec, m Mem) { VMOVUPS(v, m) })
	ADDQ(U8(uint8(4*i.Lanes)), at)
	SUBQ(U8(uint8(i.Lanes)), n)
	JMP(LabelRef("loop"))
	Label("tail")
	TESTQ(n, n)
	JE(LabelRef("done"))
	k := i.First(i.Spread(n), 0)
	body(at, func(m Mem) vec { return i.LoadMasked(m, k) }, func(v vec, m Mem) { i.StoreMasked(v, k, m) })
	Label("done")
	VZEROUPPER()
	RET()
}

// bytes loads a number of float32 as one of bytes.
func bytes(arg string) reg.GPVirtual {
	r := Load(Param(arg), GP64()).(reg.GPVirtual)
	SHLQ(U8(2), r)
	return r
}

// input emits the transform of a patch of 4 by 4 pixels.
func input(i asm.ISA) {
	TEXT("input"+i.Suffix, NOSPLIT, "func(out *float32, step int, in *float32, row, pixel, n int)")
	Pragma("noescape")
	Doc("input" + i.Suffix + " transforms a patch of 4 by 4 pixels.")
	out := Load(Param("out"), GP64()).(reg.GPVirtual)
	in := Load(Param("in"), GP64()).(reg.GPVirtual)
	step, row, pixel := bytes("step"), bytes("row"), bytes("pixel")
	n := Load(Param("n"), GP64()).(reg.GPVirtual)
	pixel3 := GP64()
	LEAQ(Mem{Base: pixel, Index: pixel, Scale: 2}, pixel3)
	rows := [4]reg.GPVirtual{GP64(), GP64(), GP64(), GP64()}
	MOVQ(in, rows[0])
	for r := 1; r < 4; r++ {
		MOVQ(rows[r-1], rows[r])
		ADDQ(row, rows[r])
	}
	to := GP64()
	overVectors(i, n, func(at reg.GPVirtual, load func(Mem) vec, store func(vec, Mem)) {
		MOVQ(out, to)
		ADDQ(at, to)
		p := GP64()
		pixels := func(r int) (v [4]vec) {
			MOVQ(rows[r], p)
			ADDQ(at, p)
			v[0] = load(Mem{Base: p})
			v[1] = load(Mem{Base: p, Index: pixel, Scale: 1})
			v[2] = load(Mem{Base: p, Index: pixel, Scale: 2})
			v[3] = load(Mem{Base: p, Index: pixel3, Scale: 1})
			return v
		}
		for _, r := range []struct {
			a, b int
			add  bool
		}{{0, 2, false}, {1, 2, true}, {2, 1, false}, {1, 3, false}} {
			x, y := pixels(r.a), pixels(r.b)
			var t [4]vec
			for c := range t {
				if r.add {
					t[c] = i.Add(x[c], y[c])
				} else {
					t[c] = i.Sub(x[c], y[c])
				}
			}
			for _, v := range []vec{i.Sub(t[0], t[2]), i.Add(t[1], t[2]), i.Sub(t[2], t[1]), i.Sub(t[1], t[3])} {
				store(v, Mem{Base: to})
				ADDQ(step, to)
			}
		}
	})
}

// output emits the transform back to 2 by 2 pixels.
func output(i asm.ISA) {
	TEXT("output"+i.Suffix, NOSPLIT, "func(out *float32, row, pixel int, in *float32, step, n int)")
	Pragma("noescape")
	Doc("output" + i.Suffix + " transforms 16 products back to 2 by 2 pixels.")
	out := Load(Param("out"), GP64()).(reg.GPVirtual)
	in := Load(Param("in"), GP64()).(reg.GPVirtual)
	row, pixel, step := bytes("row"), bytes("pixel"), bytes("step")
	n := Load(Param("n"), GP64()).(reg.GPVirtual)
	step4, step12 := GP64(), GP64()
	MOVQ(step, step4)
	SHLQ(U8(2), step4)
	LEAQ(Mem{Base: step4, Index: step4, Scale: 2}, step12)
	overVectors(i, n, func(at reg.GPVirtual, load func(Mem) vec, store func(vec, Mem)) {
		p := GP64()
		MOVQ(in, p)
		ADDQ(at, p)
		var upper, lower [4]vec
		for c := range 4 {
			m0, m1 := load(Mem{Base: p}), load(Mem{Base: p, Index: step4, Scale: 1})
			m2, m3 := load(Mem{Base: p, Index: step4, Scale: 2}), load(Mem{Base: p, Index: step12, Scale: 1})
			upper[c] = i.Add(i.Add(m0, m1), m2)
			lower[c] = i.Sub(i.Sub(m1, m2), m3)
			if c < 3 {
				ADDQ(step, p)
			}
		}
		to := GP64()
		MOVQ(out, to)
		ADDQ(at, to)
		for r, s := range [][4]vec{upper, lower} {
			store(i.Add(i.Add(s[0], s[1]), s[2]), Mem{Base: to})
			store(i.Sub(i.Sub(s[1], s[2]), s[3]), Mem{Base: to, Index: pixel, Scale: 1})
			if r == 0 {
				ADDQ(row, to)
			}
		}
	})
}
