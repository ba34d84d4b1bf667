package asm

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
)

// Coefficients: minimax polynomials fitted with mpmath.chebyfit, highest power
// first.
var (
	// (exp(r) - 1 - r)/r² for |r| <= ln(2)/2, within 7e-8.
	expTail = []float64{0.001392625083, 0.008363232884, 0.04166655421, 0.1666657667, 0.5}
	// (log(1+f) - f + f²/2)/f³ for sqrt(1/2) <= 1+f <= sqrt(2), within 3e-8.
	logTail = []float64{0.06971611471, -0.1147973385, 0.1168541992, -0.1242568733, 0.1424905765, -0.1666780232, 0.2000071575, -0.2499999696, 0.3333333118}
)

const (
	log2e = 1.44269504088896341
	ln2Hi = 0.693359375           // 9 bits: its products with whole numbers are exact
	ln2Lo = -0.000212194440054690 // ln 2 - ln2Hi
)

var posInf, negInf = math.Inf(1), math.Inf(-1)

// reduce returns n = round(x/ln 2) and s = exp(x - n ln 2) - 1.
func (i ISA) reduce(x Vec) (n, s Vec) {
	n = i.Round(i.Mul(x, F(log2e)))
	r := i.Copy(x)
	i.FmaSub(r, n, F(ln2Hi))
	i.FmaSub(r, n, F(ln2Lo))
	s = i.Poly(r, expTail...)
	return n, i.Fma(s, i.Mul(r, r), r) // s*r² + r
}

// PinExp pins most of what Exp takes.
func (i ISA) PinExp() {
	words := []uint32{math.Float32bits(log2e)}
	for _, v := range expTail {
		words = append(words, math.Float32bits(float32(v)))
	}
	i.Pin(words...)
}

// power returns 2^n for whole n from -126 to 127, as a shift of the exponent.
func (i ISA) power(n Vec) Vec {
	return i.ShiftLeft(i.AddInt(n, Bits(127)), 23)
}

// Exp returns exp(x), within 1.02 ulp, rounded once where the result is denormal;
// NaN for NaN.
func (i ISA) Exp(x Vec) Vec {
	return i.expAbove(i.Min(i.Copy(F(100)), x)) // x where it is NaN
}

// ExpNeg is Exp of numbers that are not above 100: of differences from a
// maximum.
func (i ISA) ExpNeg(x Vec) Vec { return i.expAbove(x) }

// expAbove is Exp of numbers up to 100; below -104 the result is 0.
func (i ISA) expAbove(x Vec) Vec {
	n, s := i.reduce(i.Max(i.Copy(F(-104)), x)) // x where it is NaN
	p := i.Add(s, F(1))
	if i.Lanes == 16 {
		VSCALEFPS(n, p, p)
		return p
	}
	// 2^n in two factors, of which the first is exact.
	whole := i.ToInt(n)
	half := i.ShiftSigned(whole, 1)
	p = i.Mul(p, i.power(half))
	return i.Mul(p, i.power(i.SubInt(whole, half)))
}

// Log returns log(x), within 1 ulp: -Inf for 0, NaN below 0.
func (i ISA) Log(x Vec) Vec {
	// Denormals are scaled up by 2^24.
	small := i.Cmp(LT, x, F(0x1p-126))
	y := i.Blend(small, x, i.Mul(x, F(0x1p24)))
	shift := i.Blend(small, i.Zero(), F(-24))
	// y = m*2^e with sqrt(1/2) <= m < sqrt(2).
	t := i.SubInt(y, Bits(0x3f3504f3))
	e := i.ShiftSigned(t, 23)
	m := i.SubInt(y, i.ShiftLeft(e, 23))
	f := i.Sub(m, F(1))
	n := i.Add(i.FromInt(e), shift)
	p := i.Poly(f, logTail...)
	f2 := i.Mul(f, f)
	q := i.Mul(i.Mul(p, f), f2) // f³ P(f)
	i.FmaAdd(q, n, F(ln2Lo))
	i.FmaSub(q, f2, F(0.5))
	r := i.Add(f, q)
	i.FmaAdd(r, n, F(ln2Hi))
	r = i.Blend(i.Cmp(EQ, x, F(0)), r, F(negInf))
	r = i.Blend(i.Cmp(EQ, x, F(posInf)), r, F(posInf))
	bad := i.Cmp(0x19, x, F(0)) // not x >= 0: below 0, or NaN
	return i.Blend(bad, r, Bits(0x7fc00000))
}

// Tanh returns tanh(x), within 2 ulp, as s/(s+2) with s = exp(2|x|) - 1.
func (i ISA) Tanh(x Vec) Vec {
	a := i.And(x, Bits(0x7fffffff))
	n, s := i.reduce(i.Min(i.Copy(F(20)), i.Add(a, a)))
	scale := i.power(i.ToInt(n))
	s = i.Fma(s, scale, i.Sub(scale, F(1)))
	r := i.Div(s, i.Add(s, F(2)))
	return i.Or(r, i.And(x, Bits(0x80000000)))
}

// Sigmoid returns 1/(1+exp(-x)).
func (i ISA) Sigmoid(x Vec) Vec {
	return i.Div(i.Copy(F(1)), i.Add(i.Exp(i.Xor(x, Bits(0x80000000))), F(1)))
}
