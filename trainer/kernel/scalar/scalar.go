// Package scalar is the few functions that kernels need of single numbers,
// with the same bits everywhere.
//
// Those of package math differ by architecture, by processor (Exp uses FMA
// where there is one) and by GOAMD64, as the compiler may fuse a product with a
// sum. Here each product that is added to something is rounded first. All are
// within 1e-8 of the value, relative to it, which is enough for a float32, and
// give NaN for NaN.
package scalar

import "math"

const (
	log2e = 1.44269504088896341
	ln2Hi = 0x1.62e42feep-1 // 29 bits: its products with exponents are exact
	ln2Lo = 0x1.a39ef35793c76p-33
)

// Exp returns exp(x).
func Exp(x float64) float64 {
	switch {
	case x > 710:
		return math.Inf(1)
	case x < -746:
		return 0
	case x != x:
		return x
	}
	n := math.Floor(float64(x*log2e) + 0.5)
	r := x - float64(n*ln2Hi) - float64(n*ln2Lo)
	p := 1.0 // Taylor's series
	for k := 13.0; k > 0; k-- {
		p = 1 + float64(p*r)/k
	}
	return math.Ldexp(p, int(n))
}

// Log returns log(x): -Inf for 0, NaN below 0.
func Log(x float64) float64 {
	switch {
	case x < 0 || x != x:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	case math.IsInf(x, 1):
		return x
	}
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		e--
	}
	// log m = 2 artanh f = 2(f + f³/3 + f⁵/5 + ...)
	f := (m - 1) / (m + 1)
	ff := float64(f * f)
	s := 0.0
	for k := 21.0; k > 0; k -= 2 {
		s = 1/k + float64(s*ff)
	}
	n := float64(e)
	return float64(n*ln2Hi) + (float64(n*ln2Lo) + float64(2*f*s))
}

// Sigmoid returns 1/(1+exp(-x)).
func Sigmoid(x float64) float64 { return 1 / (1 + Exp(-x)) }

// Tanh returns tanh(x).
func Tanh(x float64) float64 {
	if math.Abs(x) < 1e-3 {
		return x - float64(x*x*x)/3
	}
	e := Exp(2 * math.Abs(x))
	return math.Copysign(1-2/(e+1), x)
}

// erfcTail is a minimax polynomial of erfc(z)*exp(z²)/t, t = 1/(1+0.4z), for z
// from 0 to 9.4, highest power first, fitted with mpmath.chebyfit.
var erfcTail = [...]float64{
	-0.03449023065, 0.2243905423, -0.5602898662, 0.6286224237, -0.351167133,
	0.3075040539, 0.117582458, 0.2174770553, 0.2246483815, 0.225722316,
}

// Normal returns the normal distribution function at x, and its density times
// sqrt(2 pi).
func Normal(x float64) (below, density float64) {
	z := math.Abs(x) / math.Sqrt2
	density = Exp(-float64(z * z))
	t := 1 / (1 + float64(0.4*z))
	p := 0.0
	for _, c := range erfcTail {
		p = c + float64(p*t)
	}
	below = p * t * density / 2
	if x > 0 {
		below = 1 - below
	}
	return below, density
}

// Pow returns x to the power of n, n at least 0.
func Pow(x float64, n int) float64 {
	p := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			p *= x
		}
		x *= x
	}
	return p
}
