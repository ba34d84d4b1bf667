// Command angle generates the sine and cosine of many angles. Constants and the
// order of operations are those of package angle's plain twin.
package main

import (
	"fmt"
	"math"

	"espalier/trainer/kernel/_asm/asm"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

type vec = asm.Vec

var (
	sinSeries = []float64{-1. / 1307674368000, 1. / 6227020800, -1. / 39916800, 1. / 362880, -1. / 5040, 1. / 120, -1. / 6}
	cosSeries = []float64{1. / 20922789888000, -1. / 87178291200, 1. / 479001600, -1. / 3628800, 1. / 40320, -1. / 720, 1. / 24}
)

const (
	twoOverPi  = 0x1.45f306dc9c883p-1
	halfPiHigh = 0x1.921fb544p+0
	halfPiMid  = 0x1.0b4611a6p-34
	halfPiLow  = 0x1.3198a2e037073p-69
	rounder    = 0x1.8p52
)

// block is how many angles are taken at a time.
const block = 8

func main() {
	ConstraintExpr("!purego")
	for _, i := range []asm.ISA{asm.AVX512, asm.AVX2} {
		sincos(i)
	}
	Generate()
}

var consts = map[uint64]Mem{}

// word is a constant of 8 equal 64-bit words.
func word(w uint64) Mem {
	m, ok := consts[w]
	if !ok {
		m = GLOBL(fmt.Sprintf("d%016x", w), RODATA|NOPTR)
		for i := range 8 {
			DATA(8*i, U64(w))
		}
		consts[w] = m
	}
	return m
}

func number(v float64) Mem { return word(math.Float64bits(v)) }

func sincos(i asm.ISA) {
	TEXT("sincos"+i.Suffix, NOSPLIT, "func(sin, cos *float32, x *float64, n int)")
	Pragma("noescape")
	Doc("sincos" + i.Suffix + " fills sin and cos with the sines and cosines of n angles, a multiple of 8.")
	sin, cos, x, n := Load(Param("sin"), GP64()), Load(Param("cos"), GP64()), Load(Param("x"), GP64()), Load(Param("n"), GP64())
	lanes := i.Lanes / 2
	two := func(f func(ops ...Op), a vec, b Op) vec { d := i.Vec(); f(b, a, d); return d }
	add := func(a vec, b Op) vec { return two(VADDPD, a, b) }
	sub := func(a vec, b Op) vec { return two(VSUBPD, a, b) }
	mul := func(a vec, b Op) vec { return two(VMULPD, a, b) }
	left := func(a vec, by uint8) vec { d := i.Vec(); VPSLLQ(U8(by), a, d); return d }

	Label("loop")
	for at := 0; at < block; at += lanes {
		v := i.Copy(Mem{Base: x, Disp: 8 * at})
		whole := add(mul(v, number(twoOverPi)), number(rounder))
		m := sub(whole, number(rounder))
		r := v
		for _, part := range []float64{halfPiHigh, halfPiMid, halfPiLow} {
			r = sub(r, mul(m, number(part)))
		}
		z := mul(r, r)
		p, q := i.Copy(number(sinSeries[0])), i.Copy(number(cosSeries[0]))
		for k := 1; k < len(sinSeries); k++ {
			p = add(mul(p, z), number(sinSeries[k]))
			q = add(mul(q, z), number(cosSeries[k]))
		}
		s := add(mul(mul(r, z), p), r)
		c := add(sub(i.Copy(number(1)), mul(z, number(0.5))), mul(mul(z, z), q))
		s, c = swap(i, left(whole, 63), s, c)
		sign := word(1 << 63)
		next := i.Vec()
		VPADDQ(word(1), whole, next)
		for _, o := range []struct {
			v, n vec
			to   reg.Register
		}{{s, whole, sin}, {c, next, cos}} {
			d := two(VXORPD, o.v, two(VANDPD, left(o.n, 62), sign))
			to := Mem{Base: o.to, Disp: 4 * at}
			if i.Lanes == 16 {
				VCVTPD2PS(d, d.AsY())
				VMOVUPS(d.AsY(), to)
			} else {
				VCVTPD2PSY(d, d.AsX())
				VMOVUPS(d.AsX(), to)
			}
		}
	}
	ADDQ(U8(8*block), x)
	ADDQ(U8(4*block), sin)
	ADDQ(U8(4*block), cos)
	SUBQ(U8(block), n)
	JNE(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// swap exchanges lanes of s and c where the highest bit of by is set.
func swap(i asm.ISA, by, s, c vec) (vec, vec) {
	a, b := i.Vec(), i.Vec()
	if i.Lanes == 16 {
		k := K()
		VPMOVQ2M(by, k)
		VBLENDMPD(c, s, k, a)
		VBLENDMPD(s, c, k, b)
	} else {
		VBLENDVPD(by, c, s, a)
		VBLENDVPD(by, s, c, b)
	}
	return a, b
}
