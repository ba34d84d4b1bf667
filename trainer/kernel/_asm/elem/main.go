// Command elem generates elementwise kernels.
package main

import (
	"espalier/trainer/kernel/_asm/asm"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

type vec = asm.Vec

var one = []string{"out"}

func main() {
	ConstraintExpr("!purego")
	for _, i := range []asm.ISA{asm.AVX512, asm.AVX2} {
		arithmetic(i)
		activations(i)
		logarithm(i)
		drop(i)
		signs(i)
	}
	Generate()
}

func arithmetic(i asm.ISA) {
	xy := []string{"x", "y"}
	(&asm.Loop{Name: "add", Doc: "fills out with x + y.", Out: one, In: xy}).Map(i, func(in, _ []vec) []vec {
		return []vec{i.Add(in[0], in[1])}
	})
	(&asm.Loop{Name: "mul", Doc: "fills out with x*y.", Out: one, In: xy}).Map(i, func(in, _ []vec) []vec {
		return []vec{i.Mul(in[0], in[1])}
	})
	(&asm.Loop{Name: "axpy", Doc: "adds alpha*x to y, rounding once.", Out: []string{"y"}, In: []string{"x", "y"}, Scalars: []string{"alpha"}}).Map(i, func(in, s []vec) []vec {
		return []vec{i.FmaAdd(in[1], in[0], s[0])}
	})
	(&asm.Loop{Name: "scale", Doc: "fills out with alpha*x.", Out: one, In: []string{"x"}, Scalars: []string{"alpha"}}).Map(i, func(in, s []vec) []vec {
		return []vec{i.Mul(in[0], s[0])}
	})
}

// An activation is its value and slope at x.
type activation struct {
	name  string
	value func(i asm.ISA, x vec) vec
	slope func(i asm.ISA, x vec) vec
}

var table = []activation{
	{
		"relu",
		func(i asm.ISA, x vec) vec { return i.Max(i.Zero(), x) },
		func(i asm.ISA, x vec) vec { return i.Keep(i.Cmp(asm.GT, x, asm.F(0)), i.Copy(asm.F(1))) },
	},
	{
		"geluTanh", // x/(1+exp(-2u)), u = sqrt(2/pi)*(x + 0.044715x³)
		func(i asm.ISA, x vec) vec {
			return i.Mul(x, geluSigmoid(i, x, i.Mul(x, x)))
		},
		func(i asm.ISA, x vec) vec {
			x2 := i.Mul(x, x)
			s := geluSigmoid(i, x, x2)
			// s + x*2u'*s*(1-s)
			du := i.Fma(x2, i.Copy(asm.F(3*2*geluCube*sqrt2OverPi)), asm.F(2*sqrt2OverPi))
			return logistic(i, s, i.Mul(x, du))
		},
	},
	{
		"geluErf",
		func(i asm.ISA, x vec) vec { return i.Mul(x, i.Normal(x)) },
		func(i asm.ISA, x vec) vec { return i.NormalSlope(x) },
	},
	{
		"quickGELU",
		func(i asm.ISA, x vec) vec { return i.Mul(x, i.Sigmoid(i.Mul(x, asm.F(1.702)))) },
		func(i asm.ISA, x vec) vec {
			y := i.Mul(x, asm.F(1.702))
			return logistic(i, i.Sigmoid(y), y)
		},
	},
	{
		"silu",
		func(i asm.ISA, x vec) vec { return i.Mul(x, i.Sigmoid(x)) },
		func(i asm.ISA, x vec) vec { return logistic(i, i.Sigmoid(x), x) },
	},
	{
		"tanh",
		func(i asm.ISA, x vec) vec { return i.Tanh(x) },
		func(i asm.ISA, x vec) vec {
			t := i.Tanh(x)
			return i.FmaSub(i.Copy(asm.F(1)), t, t)
		},
	},
	{
		"sigmoid",
		func(i asm.ISA, x vec) vec { return i.Sigmoid(x) },
		func(i asm.ISA, x vec) vec {
			s := i.Sigmoid(x)
			return i.FmaSub(s, i.Copy(s), s)
		},
	},
}

const (
	sqrt2OverPi = 0.7978845608028654
	geluCube    = 0.044715
)

// geluSigmoid is 1/(1+exp(-2u)).
func geluSigmoid(i asm.ISA, x, x2 vec) vec {
	u := i.Fma(i.Copy(x2), i.Copy(asm.F(2*geluCube*sqrt2OverPi)), asm.F(2*sqrt2OverPi))
	return i.Sigmoid(i.Mul(u, x))
}

// logistic is s + y*s*(1-s).
func logistic(i asm.ISA, s, y vec) vec {
	t := i.FmaSub(i.Copy(s), s, s)
	return i.FmaAdd(s, y, t)
}

func activations(i asm.ISA) {
	for _, a := range table {
		(&asm.Loop{Name: a.name, Doc: "applies the activation to x.", Out: one, In: []string{"x"}}).Map(i, func(in, _ []vec) []vec {
			return []vec{a.value(i, in[0])}
		})
		(&asm.Loop{Name: a.name + "Back", Doc: "fills out with dy times the activation's slope at x.", Out: one, In: []string{"dy", "x"}}).Map(i, func(in, _ []vec) []vec {
			return []vec{i.Mul(a.slope(i, in[1]), in[0])}
		})
	}
}

func logarithm(i asm.ISA) {
	(&asm.Loop{Name: "logFloor", Doc: "fills out with log(max(x, floor)).", Out: one, In: []string{"x"}, Scalars: []string{"floor"}}).Map(i, func(in, s []vec) []vec {
		return []vec{i.Log(i.Max(s[0], in[0]))}
	})
	(&asm.Loop{Name: "logFloorBack", Doc: "fills out with dy/x where x is above the floor, else 0.", Out: one, In: []string{"dy", "x"}, Scalars: []string{"floor"}}).Map(i, func(in, s []vec) []vec {
		return []vec{i.Keep(i.Cmp(asm.GT, in[1], s[0]), i.Div(in[0], in[1]))}
	})
}

// drop follows op.Hash: two rounds of the mixer with a key before each.
func drop(i asm.ISA) {
	l := &asm.Loop{
		Name: "drop", Doc: "fills out with scale*x where the hash of the element number is at least below, else 0.",
		Out: one, In: []string{"x"}, Words: []string{"from", "k0", "k1", "below"}, Scalars: []string{"scale"}, Lazy: true,
	}
	l.MapIndexed(i, func(n vec, in, _ []vec) []vec {
		word := func(name string) vec {
			b, err := Param(name).Resolve()
			if err != nil {
				panic(err)
			}
			d := i.Vec()
			VPBROADCASTD(b.Addr, d)
			return d
		}
		h := mix(i, i.Xor(n, word("k0")))
		h = mix(i, i.Xor(h, word("k1")))
		return []vec{i.Keep(i.AtLeast(h, word("below")), i.Mul(in[0], i.Scalar("scale")))}
	}, true)
}

func mix(i asm.ISA, x vec) vec {
	x = i.Xor(x, i.ShiftRight(x, 16))
	x = i.MulInt(x, asm.Bits(0x7feb352d))
	x = i.Xor(x, i.ShiftRight(x, 15))
	x = i.MulInt(x, asm.Bits(0x846ca68b))
	return i.Xor(x, i.ShiftRight(x, 16))
}

// signs emits the two functions of signs, a word of 32 bits at a time.
func signs(i asm.ISA) {
	groups := 32 / i.Lanes
	open := func(name, signature, doc string) (n, at reg.GPVirtual) {
		TEXT(name+i.Suffix, NOSPLIT, signature)
		Pragma("noescape")
		Doc(name + i.Suffix + " " + doc)
		at = GP64()
		XORQ(at, at)
		return Load(Param("words"), GP64()).(reg.GPVirtual), at
	}
	close := func(n, at reg.GPVirtual) {
		INCQ(at)
		CMPQ(at, n)
		JL(LabelRef("loop"))
		VZEROUPPER()
		RET()
	}
	part := func(p reg.Register, at reg.GPVirtual, g int) Mem { // numbers g of word at
		return Mem{Base: p, Disp: 4 * g * i.Lanes}
	}

	n, at := open("signs", "func(bits *uint32, x *float32, words int)", "sets the bits of the numbers above 0.")
	bits, x := Load(Param("bits"), GP64()), Load(Param("x"), GP64()).(reg.GPVirtual)
	zero := i.Zero()
	Label("loop")
	for g := range groups {
		v := i.Copy(part(x, at, g))
		if i.Lanes == 16 {
			k := K()
			VCMPPS(U8(asm.GT), zero, v, k)
			KMOVW(k, Mem{Base: bits, Index: at, Scale: 4, Disp: 2 * g})
			continue
		}
		m, b := YMM(), GP32()
		VCMPPS(U8(asm.GT), zero, v, m)
		VMOVMSKPS(m, b)
		MOVB(b.As8(), Mem{Base: bits, Index: at, Scale: 4, Disp: g})
	}
	ADDQ(U8(128), x)
	close(n, at)

	n, at = open("keepSigns", "func(out, dy *float32, bits *uint32, words int)", "fills out with dy times 1 where the bit is set, else times 0.")
	out, dy := Load(Param("out"), GP64()).(reg.GPVirtual), Load(Param("dy"), GP64()).(reg.GPVirtual)
	bits = Load(Param("bits"), GP64())
	one := i.Copy(asm.F(1))
	lane := YMM() // bit l in lane l
	if i.Lanes == 8 {
		VMOVDQU(lanes(), lane)
	}
	Label("loop")
	for g := range groups {
		v := i.Copy(part(dy, at, g))
		var slope vec
		if i.Lanes == 16 {
			k := K()
			KMOVW(Mem{Base: bits, Index: at, Scale: 4, Disp: 2 * g}, k)
			slope = i.Vec()
			VMOVAPS_Z(one, k, slope)
		} else {
			b := GP32()
			MOVBLZX(Mem{Base: bits, Index: at, Scale: 4, Disp: g}, b)
			word := XMM()
			VMOVD(b, word)
			y := YMM()
			VPBROADCASTD(word, y)
			VPAND(lane, y, y)
			VPCMPEQD(lane, y, y)
			slope = i.And(one, y)
		}
		VMOVUPS(i.Mul(slope, v), part(out, at, g))
	}
	ADDQ(U8(128), dy)
	ADDQ(U8(128), out)
	close(n, at)
}

// lanes is the words 1<<l.
func lanes() Mem {
	m := GLOBL("lanes", RODATA|NOPTR)
	for l := range 8 {
		DATA(4*l, U32(1<<l))
	}
	return m
}
