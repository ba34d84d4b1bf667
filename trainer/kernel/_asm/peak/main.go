// Command peak generates the loops that measure a core.
package main

import (
	"espalier/trainer/kernel/_asm/asm"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("!purego")
	for _, i := range []asm.ISA{asm.AVX512, asm.AVX2} {
		multiplyAdd(i)
		read(i)
	}
	Generate()
}

// Chains is how many fused multiply-adds are in flight.
const chains = 12

func multiplyAdd(i asm.ISA) {
	TEXT("multiplyAdd"+i.Suffix, NOSPLIT, "func(n int) float32")
	Doc("multiplyAdd" + i.Suffix + " does 12 independent fused multiply-adds of vectors n times.")
	n := Load(Param("n"), GP64())
	x, y := i.Copy(asm.F(0.999)), i.Copy(asm.F(1e-3))
	var acc []asm.Vec
	for range chains {
		acc = append(acc, i.Copy(asm.F(1)))
	}
	Label("loop")
	for _, a := range acc {
		VFMADD213PS(y, x, a)
	}
	DECQ(n)
	JNE(LabelRef("loop"))
	finish(i, acc)
}

// finish returns the sum of accumulators, so that none is idle.
func finish(i asm.ISA, acc []asm.Vec) {
	for _, a := range acc[1:] {
		VADDPS(a, acc[0], acc[0])
	}
	ret, err := ReturnIndex(0).Resolve()
	if err != nil {
		panic(err)
	}
	VMOVSS(acc[0].AsX(), ret.Addr)
	VZEROUPPER()
	RET()
}

func read(i asm.ISA) {
	TEXT("read"+i.Suffix, NOSPLIT, "func(x *float32, n int) float32")
	Pragma("noescape")
	Doc("read" + i.Suffix + " reads n blocks of 512 bytes.")
	p, n := Load(Param("x"), GP64()).(reg.GPVirtual), Load(Param("n"), GP64())
	var acc []asm.Vec
	for range 8 {
		acc = append(acc, i.Zero())
	}
	Label("loop")
	for at, k := 0, 0; at < 512; at, k = at+4*i.Lanes, k+1 {
		VMAXPS(Mem{Base: p, Disp: at}, acc[k%8], acc[k%8])
	}
	ADDQ(U32(512), p)
	DECQ(n)
	JNE(LabelRef("loop"))
	finish(i, acc)
}
