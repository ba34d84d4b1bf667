package numeric

import "math"

// A Sum adds float64 without rounding: its value is the correctly rounded sum
// of all that was added, so it depends neither on the order of the terms nor
// on how they were split between Sums that were merged (Shewchuk's partials,
// as Python's math.fsum). The zero Sum is empty.
type Sum struct {
	partials []float64 // ascending magnitude, none overlapping
	special  float64   // sum of the infinities and NaNs
}

// Add adds x.
func (s *Sum) Add(x float64) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		s.special += x
		return
	}
	n := 0
	for _, y := range s.partials {
		t := twoSum(x, y)
		if t.lo != 0 {
			s.partials[n] = t.lo
			n++
		}
		x = t.hi
	}
	s.partials = append(s.partials[:n], x)
}

// Merge adds all that was added to o.
func (s *Sum) Merge(o *Sum) {
	s.special += o.special
	for _, x := range o.partials {
		s.Add(x)
	}
}

// Value returns the sum, rounded to the nearest float64, ties to even.
func (s *Sum) Value() float64 {
	if s.special != 0 || math.IsNaN(s.special) {
		return s.special
	}
	n := len(s.partials)
	if n == 0 {
		return 0
	}
	n--
	hi, lo := s.partials[n], 0.0
	for n > 0 && lo == 0 {
		n--
		t := quickSum(hi, s.partials[n])
		hi, lo = t.hi, t.lo
	}
	// Half-way cases: the next partial decides the direction.
	if n > 0 && (lo < 0 && s.partials[n-1] < 0 || lo > 0 && s.partials[n-1] > 0) {
		y := lo * 2
		if x := hi + y; y == x-hi {
			hi = x
		}
	}
	return hi
}

// Mean returns the mean of x in the order of operations of NumPy's mean of a
// contiguous array (pairwise summation). It is NaN for no numbers.
func Mean[T float32 | float64](x []T) T { return pairwise(x) / T(len(x)) }

func pairwise[T float32 | float64](x []T) T {
	n := len(x)
	switch {
	case n < 8:
		// NumPy starts at -0, which only matters for the sign of an empty sum.
		s := T(0)
		for _, v := range x {
			s += v
		}
		return s
	case n <= 128:
		var r [8]T
		copy(r[:], x)
		i := 8
		for ; i < n-n%8; i += 8 {
			for j := range r {
				r[j] += x[i+j]
			}
		}
		s := ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
		for ; i < n; i++ {
			s += x[i]
		}
		return s
	}
	h := n / 2
	h -= h % 8
	return pairwise(x[:h]) + pairwise(x[h:])
}
