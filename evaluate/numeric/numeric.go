// Package numeric is the arithmetic behind scores: elementary functions, sums
// and means that give the same bits on every machine.
//
// [Log], [Exp] and [Pow] are evaluated in double-double arithmetic and rounded
// once, so that they are correctly rounded save in about one case in 10^12;
// the C library's differ from them by less than one unit in the last place. No
// product is fused with a sum unless the code says so. All functions are safe
// for concurrent use.
package numeric

import "math"

// A dd is the unevaluated sum of two float64 whose parts do not overlap.
type dd struct{ hi, lo float64 }

func twoSum(a, b float64) dd {
	s := a + b
	t := s - a
	return dd{s, (a - (s - t)) + (b - t)}
}

// quickSum needs |a| >= |b|.
func quickSum(a, b float64) dd {
	s := a + b
	return dd{s, b - (s - a)}
}

func twoProd(a, b float64) dd {
	p := float64(a * b)
	return dd{p, math.FMA(a, b, -p)}
}

func (x dd) add(y dd) dd {
	s := twoSum(x.hi, y.hi)
	t := twoSum(x.lo, y.lo)
	s = quickSum(s.hi, s.lo+t.hi)
	return quickSum(s.hi, s.lo+t.lo)
}

func (x dd) mul(y dd) dd {
	p := twoProd(x.hi, y.hi)
	return quickSum(p.hi, p.lo+(float64(x.hi*y.lo)+float64(x.lo*y.hi)))
}

func (x dd) scale(y float64) dd {
	p := twoProd(x.hi, y)
	return quickSum(p.hi, p.lo+float64(x.lo*y))
}

// div returns x / y by two steps of long division.
func (x dd) div(y dd) dd {
	q1 := x.hi / y.hi
	r := x.add(y.scale(-q1))
	q2 := r.hi / y.hi
	r = r.add(y.scale(-q2))
	q3 := r.hi / y.hi
	return quickSum(q1, q2).add(dd{q3, 0})
}

// ln2 is the natural logarithm of 2.
var ln2 = dd{6.931471805599452862e-01, 2.319046813846299558e-17}

// logTerms is the number of terms of the series in logDD: the argument stays
// below 0.1716, whose square to the 21st power is below 2^-106.
const logTerms = 21

// logDD returns the natural logarithm of a positive finite x (atanh series).
func logDD(x float64) dd {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		e--
	}
	s := dd{m - 1, 0}.div(twoSum(m, 1))
	s2 := s.mul(s)
	// Horner over 1/(2i+1).
	sum := dd{1, 0}.div(dd{2*logTerms + 1, 0})
	for i := logTerms - 1; i >= 0; i-- {
		sum = sum.mul(s2).add(dd{1, 0}.div(dd{float64(2*i + 1), 0}))
	}
	l := sum.mul(s).scale(2)
	return ln2.scale(float64(e)).add(l)
}

// expTerms and expHalvings bound the Taylor series of expDD: its argument
// stays below 0.3466 / 2^6.
const (
	expTerms    = 13
	expHalvings = 6
)

// expDD returns e to the x as a mantissa and a power of two.
func expDD(x dd) (dd, int) {
	k := math.RoundToEven(x.hi / ln2.hi)
	r := x.add(ln2.scale(-k)).scale(1.0 / (1 << expHalvings))
	// expm1 keeps the bits that squaring would lose: (1+t)^2 - 1 = 2t + t^2.
	sum := dd{1, 0}.div(dd{expTerms, 0})
	for i := expTerms - 1; i >= 1; i-- {
		sum = sum.mul(r).add(dd{1, 0}).div(dd{float64(i), 0})
	}
	t := sum.mul(r)
	for range expHalvings {
		t = t.scale(2).add(t.mul(t))
	}
	return t.add(dd{1, 0}), int(k)
}

// Log returns the natural logarithm of x. It is -Inf for 0 and NaN for
// negative numbers.
func Log(x float64) float64 {
	switch {
	case math.IsNaN(x) || x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	case math.IsInf(x, 1):
		return x
	case x == 1:
		return 0
	}
	l := logDD(x)
	return l.hi + l.lo
}

// Exp returns e to the x.
func Exp(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return x
	case x > 710:
		return math.Inf(1)
	case x < -746:
		return 0
	}
	m, k := expDD(dd{x, 0})
	return math.Ldexp(m.hi+m.lo, k)
}

// Pow returns x to the y for x >= 0 and a finite y. Pow(0, y) is 0 for
// positive y.
func Pow(x, y float64) float64 {
	switch {
	case y == 0 || x == 1:
		return 1
	case y == 1:
		return x
	case y == 2:
		return float64(x * x)
	case math.IsNaN(x) || math.IsNaN(y) || x < 0:
		return math.NaN()
	case y == 0.5:
		return math.Sqrt(x)
	case x == 0 && y > 0 || math.IsInf(x, 1) && y < 0:
		return 0
	case x == 0 || math.IsInf(x, 1):
		return math.Inf(1)
	}
	l := logDD(x).scale(y)
	switch {
	case l.hi > 710:
		return math.Inf(1)
	case l.hi < -746:
		return 0
	}
	m, k := expDD(l)
	return math.Ldexp(m.hi+m.lo, k)
}
