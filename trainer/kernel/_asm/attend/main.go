// Command attend generates the row loops of attention.
package main

import (
	"espalier/trainer/kernel/_asm/asm"

	. "github.com/mmcloughlin/avo/build"
)

type vec = asm.Vec

func main() {
	ConstraintExpr("!purego")
	for _, i := range []asm.ISA{asm.AVX512, asm.AVX2} {
		scores(i)
		(&asm.Loop{
			Name: "grad", Doc: "fills out with p*(dp-delta).", Out: []string{"out"}, In: []string{"p", "dp"}, Scalars: []string{"delta"},
		}).Map(i, func(in, s []vec) []vec {
			return []vec{i.Mul(in[0], i.Sub(in[1], s[0]))}
		})
		(&asm.Loop{
			Name: "hide", Doc: "fills out with alpha*x where mask is not 0, else 0.", Out: []string{"out"}, In: []string{"x", "mask"}, Scalars: []string{"alpha"},
		}).Map(i, func(in, s []vec) []vec {
			return []vec{i.Keep(i.Cmp(asm.NE, in[1], asm.F(0)), i.Mul(in[0], s[0]))}
		})
	}
	Generate()
}

// scores emits the four forms of: scale, replace what the mask hides, add the
// bias, find the maximum.
func scores(i asm.ISA) {
	for _, c := range []struct {
		name       string
		mask, bias bool
	}{{"scores", false, false}, {"scoresMask", true, false}, {"scoresBias", false, true}, {"scoresMaskBias", true, true}} {
		l := &asm.Loop{Name: c.name, Doc: "makes scores of products and finds the maximum.", Out: []string{"out"}, In: []string{"x"}, Scalars: []string{"scale"}}
		if c.mask {
			l.In, l.Scalars = append(l.In, "mask"), append(l.Scalars, "hidden")
		}
		if c.bias {
			l.In = append(l.In, "bias")
		}
		l.Reduce(i, asm.Reduction{
			Start: asm.Bits(0xff800000), Results: 1,
			Join: func(i asm.ISA, a, b vec) vec { return i.Max(a, b) },
			Term: func(in, s, acc []vec, pad func(vec) vec) []vec {
				v := i.Mul(in[0], s[0])
				if c.mask {
					v = i.Blend(i.Cmp(asm.NE, in[1], asm.F(0)), s[1], v)
				}
				if c.bias {
					v = i.Add(v, in[len(in)-1])
				}
				VMAXPS(acc[0], pad(v), acc[0])
				return []vec{v}
			},
		})
	}
}
