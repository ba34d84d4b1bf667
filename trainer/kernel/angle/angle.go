// Package angle is the sine and the cosine of many angles.
//
// All instruction sets, the portable one too, give the same bits: products and
// sums of float64 are rounded one by one, and the results once to float32.
// Functions keep nothing and may run at the same time.
package angle

import "math"

// Sincos fills sin and cos, which do not overlap, with the sines and cosines of
// len(x) angles, which before they are rounded to float32 are within 5e-16 for
// angles up to 1e6. NaN and infinities give NaN; larger angles give what means
// nothing, the same everywhere.
func Sincos(sin, cos []float32, x []float64) {
	n := len(x)
	sin, cos = sin[:n], cos[:n]
	whole := n &^ (block - 1)
	if whole > 0 {
		sincos(sin[:whole], cos[:whole], x[:whole])
	}
	sincosGeneric(sin[whole:], cos[whole:], x[whole:])
}

// block is how many angles the vector loops take at a time.
const block = 8

const (
	twoOverPi = 0x1.45f306dc9c883p-1
	// pi/2 in three parts, of which two have 33 bits: their products with whole
	// numbers up to 2^20 are exact.
	halfPiHigh = 0x1.921fb544p+0
	halfPiMid  = 0x1.0b4611a6p-34
	halfPiLow  = 0x1.3198a2e037073p-69
	// A sum with this is rounded to a whole number, which its lowest bits hold.
	rounder = 0x1.8p52
)

// Taylor's series, highest power first: (sin(r) - r)/r³ and (cos(r) - 1 + r²/2)/r⁴
// in r². What is left out is below 1e-16 for |r| up to pi/4.
var (
	sinSeries = [...]float64{-1. / 1307674368000, 1. / 6227020800, -1. / 39916800, 1. / 362880, -1. / 5040, 1. / 120, -1. / 6}
	cosSeries = [...]float64{1. / 20922789888000, -1. / 87178291200, 1. / 479001600, -1. / 3628800, 1. / 40320, -1. / 720, 1. / 24}
)

// sincosGeneric is the plain twin.
func sincosGeneric(sin, cos []float32, x []float64) {
	for i, v := range x {
		s, c := both(v)
		sin[i], cos[i] = float32(s), float32(c)
	}
}

// both returns the sine and the cosine of one angle.
func both(x float64) (sin, cos float64) {
	whole := float64(x*twoOverPi) + rounder
	quarter := math.Float64bits(whole)
	n := whole - rounder
	r := x - float64(n*halfPiHigh) - float64(n*halfPiMid) - float64(n*halfPiLow)
	z := float64(r * r)
	p, q := sinSeries[0], cosSeries[0]
	for k := 1; k < len(sinSeries); k++ {
		p = sinSeries[k] + float64(p*z)
		q = cosSeries[k] + float64(q*z)
	}
	s := r + float64(float64(r*z)*p)
	c := 1 - float64(z*0.5) + float64(float64(z*z)*q)
	if quarter&1 != 0 {
		s, c = c, s
	}
	return flip(s, quarter), flip(c, quarter+1)
}

// flip changes x's sign if bit 1 of n is set.
func flip(x float64, n uint64) float64 {
	return math.Float64frombits(math.Float64bits(x) ^ n>>1<<63)
}
