// Command finish generates what follows a convolution.
package main

import (
	"espalier/trainer/kernel/_asm/asm"

	. "github.com/mmcloughlin/avo/build"
)

type vec = asm.Vec

func main() {
	ConstraintExpr("!purego")
	for _, i := range []asm.ISA{asm.AVX512, asm.AVX2} {
		x := []string{"x"}
		(&asm.Loop{Name: "relu", Doc: "replaces x by max(0, x + bias).", Out: x, In: []string{"x", "bias"}}).Map(i, func(in, _ []vec) []vec {
			return []vec{i.Max(i.Zero(), i.Add(in[0], in[1]))}
		})
		(&asm.Loop{Name: "addReLU", Doc: "replaces x by max(0, x + bias + residual).", Out: x, In: []string{"x", "bias", "residual"}}).Map(i, func(in, _ []vec) []vec {
			return []vec{i.Max(i.Zero(), i.Add(i.Add(in[0], in[1]), in[2]))}
		})
		tile(i, false)
		tile(i, true)
		tileHalf(i, false, false)
		tileHalf(i, false, true)
		half(i, false)
	}
	tileHalf(asm.AVX512, true, false)
	tileHalf(asm.AVX512, true, true)
	half(asm.AVX512, true)
	Generate()
}
