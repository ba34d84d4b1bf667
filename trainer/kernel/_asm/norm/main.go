// Command norm generates reductions over rows and what is made of them.
package main

import (
	"espalier/trainer/kernel/_asm/asm"

	. "github.com/mmcloughlin/avo/build"
)

type vec = asm.Vec

var out = []string{"out"}

func main() {
	ConstraintExpr("!purego")
	for _, i := range []asm.ISA{asm.AVX512, asm.AVX2} {
		reductions(i)
		rows(i)
		columns(i)
	}
	Generate()
}

func sum(i asm.ISA, a, b vec) vec { return i.Add(a, b) }

func add(acc, v vec) { VADDPS(v, acc, acc) }

func reductions(i asm.ISA) {
	total := asm.Reduction{Start: asm.F(0), Join: sum, Results: 1}
	largest := asm.Reduction{Start: asm.Bits(0xff800000), Results: 1}
	largest.Join = func(i asm.ISA, a, b vec) vec { return i.Max(a, b) }
	largest.Term = func(in, _, acc []vec, pad func(vec) vec) []vec {
		VMAXPS(acc[0], pad(in[0]), acc[0]) // acc where x is NaN
		return nil
	}
	(&asm.Loop{Name: "largest", Doc: "finds the maximum, passing over NaN.", In: []string{"x"}}).Reduce(i, largest)

	r := total
	r.Term = func(in, _, acc []vec, _ func(vec) vec) []vec {
		add(acc[0], in[0])
		return nil
	}
	(&asm.Loop{Name: "sum", Doc: "adds up x.", In: []string{"x"}}).Reduce(i, r)

	r.Term = func(in, _, acc []vec, _ func(vec) vec) []vec {
		i.FmaAdd(acc[0], in[0], in[0])
		return nil
	}
	(&asm.Loop{Name: "squares", Doc: "adds up x².", In: []string{"x"}}).Reduce(i, r)

	r.Term = func(in, _, acc []vec, _ func(vec) vec) []vec {
		i.FmaAdd(acc[0], in[0], in[1])
		return nil
	}
	(&asm.Loop{Name: "dot", Doc: "adds up x*y.", In: []string{"x", "y"}}).Reduce(i, r)

	r.Term = func(in, s, acc []vec, pad func(vec) vec) []vec {
		d := pad(i.Sub(in[0], s[0]))
		i.FmaAdd(acc[0], d, d)
		return nil
	}
	(&asm.Loop{Name: "deviations", Doc: "adds up (x-mean)².", In: []string{"x"}, Scalars: []string{"mean"}}).Reduce(i, r)

	r.Term = func(in, s, acc []vec, pad func(vec) vec) []vec {
		e := i.ExpNeg(i.Sub(in[0], s[0]))
		add(acc[0], pad(e))
		return []vec{e}
	}
	(&asm.Loop{Name: "expSum", Doc: "fills out with exp(x-top) and adds it up.", Out: out, In: []string{"x"}, Scalars: []string{"top"}, Exp: true}).Reduce(i, r)

	r.Term = func(in, s, acc []vec, pad func(vec) vec) []vec {
		add(acc[0], pad(i.ExpNeg(i.Sub(in[0], s[0]))))
		return nil
	}
	(&asm.Loop{Name: "expTotal", Doc: "adds up exp(x-top).", In: []string{"x"}, Scalars: []string{"top"}, Exp: true}).Reduce(i, r)

	r.Term = func(in, s, acc []vec, pad func(vec) vec) []vec {
		add(acc[0], pad(i.Sub(s[1], i.Sub(in[0], s[0]))))
		return nil
	}
	(&asm.Loop{Name: "surprise", Doc: "adds up l - (x-top).", In: []string{"x"}, Scalars: []string{"top", "l"}}).Reduce(i, r)

	r.Results = 2
	r.Term = func(in, _, acc []vec, _ func(vec) vec) []vec {
		add(acc[0], in[0])
		add(acc[1], in[1])
		return nil
	}
	(&asm.Loop{Name: "sums", Doc: "adds up x and y.", In: []string{"x", "y"}}).Reduce(i, r)

	r.Term = func(in, s, acc []vec, pad func(vec) vec) []vec {
		for k := range acc {
			d := pad(i.Sub(in[k], s[k]))
			i.FmaAdd(acc[k], d, d)
		}
		return nil
	}
	(&asm.Loop{Name: "bothDeviations", Doc: "adds up (x-mean)² and (y-other)².", In: []string{"x", "y"}, Scalars: []string{"mean", "other"}}).Reduce(i, r)

	r.Term = func(in, s, acc []vec, _ func(vec) vec) []vec {
		grad := i.Mul(in[0], in[1])
		add(acc[0], grad)
		i.FmaAdd(acc[1], grad, i.Sub(in[2], s[0]))
		return nil
	}
	(&asm.Loop{Name: "slopes", Doc: "adds up dy*gain and dy*gain*(x-mean).", In: []string{"dy", "gain", "x"}, Scalars: []string{"mean"}}).Reduce(i, r)
}

func rows(i asm.ISA) {
	(&asm.Loop{
		Name: "apply", Doc: "fills out with (x-mean)*inv*gain + shift.",
		Out: out, In: []string{"x", "gain", "shift"}, Scalars: []string{"mean", "inv"},
	}).Map(i, func(in, s []vec) []vec {
		return []vec{i.Fma(i.Mul(i.Sub(in[0], s[0]), s[1]), in[1], in[2])}
	})
	(&asm.Loop{
		Name: "applyBare", Doc: "fills out with (x-mean)*inv*gain.",
		Out: out, In: []string{"x", "gain"}, Scalars: []string{"mean", "inv"},
	}).Map(i, func(in, s []vec) []vec {
		return []vec{i.Mul(i.Mul(i.Sub(in[0], s[0]), s[1]), in[1])}
	})
	(&asm.Loop{
		Name: "back", Doc: "fills out with inv*(dy*gain - sum - (x-mean)*slope).",
		Out: out, In: []string{"dy", "gain", "x"}, Scalars: []string{"mean", "inv", "sum", "slope"},
	}).Map(i, func(in, s []vec) []vec {
		v := i.Sub(i.Mul(in[0], in[1]), s[2])
		i.FmaSub(v, i.Sub(in[2], s[0]), s[3])
		return []vec{i.Mul(v, s[1])}
	})
	(&asm.Loop{
		Name: "less", Doc: "fills out with x - a - b.", Out: out, In: []string{"x"}, Scalars: []string{"a", "b"},
	}).Map(i, func(in, s []vec) []vec { return []vec{i.Sub(i.Sub(in[0], s[0]), s[1])} })
	(&asm.Loop{
		Name: "share", Doc: "fills out with w*(exp(x-lse) - off).",
		Out: out, In: []string{"x"}, Scalars: []string{"lse", "w", "off"}, Exp: true,
	}).Map(i, func(in, s []vec) []vec {
		return []vec{i.Mul(i.Sub(i.ExpNeg(i.Sub(in[0], s[0])), s[2]), s[1])}
	})
}

func columns(i asm.ISA) {
	(&asm.Loop{Name: "sumRows", Doc: "adds the rows of x to out.", Out: out, In: []string{"x"}}).Columns(i, "", func(in, _, acc []vec) {
		add(acc[0], in[0])
	})
	(&asm.Loop{
		Name: "gains", Doc: "adds the rows of dy*(x-mean)*inv to dgain.", Out: []string{"dgain"}, In: []string{"dy", "x"},
	}).Columns(i, "stats", func(in, row, acc []vec) {
		i.FmaAdd(acc[0], i.Mul(i.Sub(in[1], row[0]), row[1]), in[0])
	})
	(&asm.Loop{
		Name: "gainsAndShifts", Doc: "adds the rows of dy*(x-mean)*inv to dgain and those of dy to dshift.",
		Out: []string{"dgain", "dshift"}, In: []string{"dy", "x"},
	}).Columns(i, "stats", func(in, row, acc []vec) {
		i.FmaAdd(acc[0], i.Mul(i.Sub(in[1], row[0]), row[1]), in[0])
		add(acc[1], in[0])
	})
}
