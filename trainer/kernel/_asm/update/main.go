// Command update generates the kernels of optimisers.
package main

import (
	"espalier/trainer/kernel/_asm/asm"

	. "github.com/mmcloughlin/avo/build"
)

type vec = asm.Vec

func main() {
	ConstraintExpr("!purego")
	for _, i := range []asm.ISA{asm.AVX512, asm.AVX2} {
		adam(i, "adam", false)
		adam(i, "adamL2", true)
		sgd(i, "sgd", "updates p; see SGD.", 0)
		sgd(i, "sgdMomentum", "updates p and m; see SGD.", 1)
		sgd(i, "sgdNesterov", "updates p and m; see SGD, Nesterov.", 2)
		adafactor(i)
	}
	Generate()
}

// clipped is the gradient, scaled and kept within ±clip.
func clipped(i asm.ISA, x vec) vec {
	x = i.Mul(x, i.Scalar("scale"))
	clip := i.Scalar("clip")
	return i.Max(i.Xor(clip, asm.Bits(0x80000000)), i.Min(clip, x))
}

func adam(i asm.ISA, name string, l2 bool) {
	l := &asm.Loop{
		Name: name, Doc: "updates p, m and v; see Adam.",
		Out: []string{"p", "m", "v"}, In: []string{"p", "grad", "m", "v"},
		Scalars: []string{"scale", "clip", "beta1", "rest1", "beta2", "rest2", "rate", "root", "eps", "decay"}, Lazy: true,
	}
	if l2 {
		l.Scalars = append(l.Scalars, "l2")
	}
	l.Map(i, func(in, _ []vec) []vec {
		p, g, m, v := in[0], in[1], in[2], in[3]
		g = clipped(i, g)
		if l2 {
			i.FmaAdd(g, p, i.Scalar("l2"))
		}
		m = i.Mul(m, i.Scalar("beta1"))
		i.FmaAdd(m, g, i.Scalar("rest1"))
		v = i.Mul(v, i.Scalar("beta2"))
		i.FmaAdd(v, i.Mul(g, g), i.Scalar("rest2"))
		div := i.Fma(i.Sqrt(v), i.Scalar("root"), i.Scalar("eps"))
		step := i.Div(i.Mul(m, i.Scalar("rate")), div)
		p = i.Sub(i.Mul(p, i.Scalar("decay")), step)
		return []vec{p, m, v}
	})
}

func sgd(i asm.ISA, name, doc string, kind int) {
	l := &asm.Loop{
		Name: name, Doc: doc,
		Out: []string{"p"}, In: []string{"p", "grad"}, Scalars: []string{"scale", "clip", "rate", "l2"}, Lazy: true,
	}
	if kind > 0 {
		l.Out, l.In = append(l.Out, "m"), append(l.In, "m")
		l.Scalars = append(l.Scalars, "momentum", "rest")
	}
	if kind > 1 {
		l.Scalars = append(l.Scalars, "ahead")
	}
	l.Map(i, func(in, _ []vec) []vec {
		p, g := in[0], clipped(i, in[1])
		i.FmaAdd(g, p, i.Scalar("l2"))
		out := []vec{p}
		if kind > 0 {
			m := i.Mul(in[2], i.Scalar("momentum"))
			i.FmaAdd(m, g, i.Scalar("rest"))
			out = append(out, m)
			if kind == 1 {
				g = m
			} else {
				i.FmaAdd(g, m, i.Scalar("ahead"))
			}
		}
		i.FmaSub(p, g, i.Scalar("rate"))
		return out
	})
}

func adafactor(i asm.ISA) {
	sum := asm.Reduction{Start: asm.F(0), Results: 1}
	sum.Join = func(i asm.ISA, a, b vec) vec { return i.Add(a, b) }
	sum.Term = func(in, _, acc []vec, _ func(vec) vec) []vec {
		x := i.Mul(in[0], in[1])
		i.FmaAdd(acc[0], x, x)
		return nil
	}
	(&asm.Loop{Name: "productSquares", Doc: "adds up (x*y)².", In: []string{"x", "y"}}).Reduce(i, sum)

	sum.Term = func(in, s, acc []vec, pad func(vec) vec) []vec {
		g := i.Mul(in[1], s[0])
		g = i.Mul(g, g)
		v := i.Mul(in[0], s[2])
		i.FmaAdd(v, i.Add(g, s[1]), s[3])
		VADDPS(pad(i.Div(g, v)), acc[0], acc[0])
		return []vec{v}
	}
	(&asm.Loop{
		Name: "means", Doc: "moves v towards (scale*grad)² + eps and adds up (scale*grad)²/v.",
		Out: []string{"v"}, In: []string{"v", "grad"}, Scalars: []string{"scale", "eps", "beta", "rest"},
	}).Reduce(i, sum)

	(&asm.Loop{Name: "sumSquares", Doc: "adds the squares of the rows of x to out.", Out: []string{"out"}, In: []string{"x"}}).Columns(i, "", func(in, _, acc []vec) {
		i.FmaAdd(acc[0], in[0], in[0])
	})

	for _, root := range []bool{false, true} {
		for _, momentum := range []bool{false, true} {
			l := &asm.Loop{
				Name: "adafactor", Doc: "moves p by grad*y; see Adafactor.",
				Out: []string{"p"}, In: []string{"p", "grad", "y"}, Scalars: []string{"alpha", "decay"},
			}
			if root {
				l.Name, l.Doc = l.Name+"Root", "moves p by grad/sqrt(y); see Adafactor."
			}
			if momentum {
				l.Name += "Momentum"
				l.Out, l.In, l.Scalars = append(l.Out, "m"), append(l.In, "m"), append(l.Scalars, "beta")
			}
			l.Map(i, func(in, s []vec) []vec {
				u := in[1]
				if root {
					u = i.Div(u, i.Sqrt(in[2]))
				} else {
					u = i.Mul(u, in[2])
				}
				p := i.Mul(in[0], s[1])
				if !momentum {
					i.FmaSub(p, u, s[0])
					return []vec{p}
				}
				m := i.Mul(in[3], s[2])
				i.FmaAdd(m, u, s[0])
				return []vec{i.Sub(p, m), m}
			})
		}
	}
}
