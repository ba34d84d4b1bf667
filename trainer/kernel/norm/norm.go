// Package norm is what rows are normalised with: reductions, the exponentials
// of softmax and cross-entropy, layer norms and their gradients.
//
// Functions of rows work on the length of their first operand, which the others
// must have; functions of columns on rows ld apart. out may be an operand.
// Functions keep nothing and may run at the same time.
//
// A reduction keeps 32 partial results, element i going to number i mod 32, and
// joins them as a tree (i with i+16, then i+8, i+4, i+2, i+1), so that AVX2 and
// AVX-512 give the same bits; the portable twins do the same with other
// roundings. Exponentials are of numbers up to 100, within 1 unit in the last
// place; NaN gives NaN.
package norm

import "math"

// Largest returns the maximum of x, passing over NaN, or -Inf.
func Largest(x []float32) float32 {
	n := len(x)
	if n == 0 {
		return float32(math.Inf(-1))
	}
	return largest(x)
}

// Sum adds up x.
func Sum(x []float32) float32 {
	n := len(x)
	if n == 0 {
		return 0
	}
	return sum(x)
}

// Sums returns Sum of two rows, in less time than one after the other.
func Sums(x, y []float32) (a, b float32) {
	n := len(x)
	if n == 0 {
		return 0, 0
	}
	return sums(x, y[:n])
}

// BothDeviations returns Deviations of two rows, in less time than one after
// the other.
func BothDeviations(x, y []float32, mean, other float32) (a, b float32) {
	n := len(x)
	if n == 0 {
		return 0, 0
	}
	return bothDeviations(x, y[:n], mean, other)
}

// Squares adds up x².
func Squares(x []float32) float32 {
	n := len(x)
	if n == 0 {
		return 0
	}
	return squares(x)
}

// Dot adds up x*y.
func Dot(x, y []float32) float32 {
	n := len(x)
	if n == 0 {
		return 0
	}
	return dot(x, y[:n])
}

// Deviations adds up (x-mean)².
func Deviations(x []float32, mean float32) float32 {
	n := len(x)
	if n == 0 {
		return 0
	}
	return deviations(x, mean)
}

// ExpSum fills out with exp(x-top) and adds it up; x is at most about top.
func ExpSum(out, x []float32, top float32) float32 {
	n := len(out)
	if n == 0 {
		return 0
	}
	return expSum(out, x[:n], top)
}

// ExpTotal adds up exp(x-top).
func ExpTotal(x []float32, top float32) float32 {
	n := len(x)
	if n == 0 {
		return 0
	}
	return expTotal(x, top)
}

// Surprise adds up l - (x-top).
func Surprise(x []float32, top, l float32) float32 {
	n := len(x)
	if n == 0 {
		return 0
	}
	return surprise(x, top, l)
}

// Slopes adds up dy*gain, and dy*gain*(x-mean).
func Slopes(dy, gain, x []float32, mean float32) (s, d float32) {
	n := len(dy)
	if n == 0 {
		return 0, 0
	}
	return slopes(dy, gain[:n], x[:n], mean)
}

// Apply fills out with (x-mean)*inv*gain + shift.
func Apply(out, x, gain, shift []float32, mean, inv float32) {
	if n := len(out); n > 0 {
		apply(out, x[:n], gain[:n], shift[:n], mean, inv)
	}
}

// ApplyBare fills out with (x-mean)*inv*gain.
func ApplyBare(out, x, gain []float32, mean, inv float32) {
	if n := len(out); n > 0 {
		applyBare(out, x[:n], gain[:n], mean, inv)
	}
}

// Back fills out with inv*(dy*gain - sum - (x-mean)*slope).
func Back(out, dy, gain, x []float32, mean, inv, sum, slope float32) {
	if n := len(out); n > 0 {
		back(out, dy[:n], gain[:n], x[:n], mean, inv, sum, slope)
	}
}

// Less fills out with x - a - b.
func Less(out, x []float32, a, b float32) {
	if n := len(out); n > 0 {
		less(out, x[:n], a, b)
	}
}

// Share fills out with w*(exp(x-lse) - off).
func Share(out, x []float32, lse, w, off float32) {
	if n := len(out); n > 0 {
		share(out, x[:n], lse, w, off)
	}
}

// SumRows adds the rows of x to out.
func SumRows(out, x []float32, ld, rows int) {
	n := len(out)
	if n == 0 || rows == 0 {
		return
	}
	_ = x[(rows-1)*ld+n-1]
	sumRows(out, x, ld, rows)
}

// Gains adds the rows of dy*(x-mean)*inv to dgain; stats holds mean and inv of each row.
func Gains(dgain, dy, x, stats []float32, ld, rows int) {
	n := len(dgain)
	if n == 0 || rows == 0 {
		return
	}
	_ = dy[(rows-1)*ld+n-1]
	_ = x[(rows-1)*ld+n-1]
	_ = stats[2*rows-1]
	gains(dgain, dy, x, stats, ld, rows)
}

// GainsAndShifts is Gains, and adds the rows of dy to dshift.
func GainsAndShifts(dgain, dshift, dy, x, stats []float32, ld, rows int) {
	n := len(dgain)
	if n == 0 || rows == 0 {
		return
	}
	_ = dy[(rows-1)*ld+n-1]
	_ = x[(rows-1)*ld+n-1]
	_ = stats[2*rows-1]
	_ = dshift[n-1]
	gainsAndShifts(dgain, dshift, dy, x, stats, ld, rows)
}
