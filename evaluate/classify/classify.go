// Package classify has the metrics of classification and regression that GLUE
// and SuperGLUE use, as scikit-learn 1.9 and SciPy 1.17 compute them: accuracy,
// F1 in its averages, Matthews' correlation; Pearson's and Spearman's.
package classify

import (
	"errors"
	"math"
	"slices"

	"espalier/evaluate/numeric"
)

// A Confusion counts pairs of labels that are numbers from 0. It adds up: the
// counts of two halves are those of the whole.
type Confusion struct {
	Labels int
	Counts []float64 // gold*Labels + predicted
}

// NewConfusion returns an empty table of n labels.
func NewConfusion(n int) *Confusion { return &Confusion{n, make([]float64, n*n)} }

// Add counts one pair.
func (c *Confusion) Add(gold, predicted int) { c.Counts[gold*c.Labels+predicted]++ }

// sums returns the matches, gold and predicted labels of each kind, and all.
func (c *Confusion) sums() (hits, gold, predicted []float64, n float64) {
	hits, gold, predicted = make([]float64, c.Labels), make([]float64, c.Labels), make([]float64, c.Labels)
	for g := range c.Labels {
		for p := range c.Labels {
			v := c.Counts[g*c.Labels+p]
			gold[g] += v
			predicted[p] += v
			n += v
			if g == p {
				hits[g] = v
			}
		}
	}
	return hits, gold, predicted, n
}

// Accuracy returns the share of equal pairs.
func (c *Confusion) Accuracy() float64 {
	hits, _, _, n := c.sums()
	total := 0.0
	for _, h := range hits {
		total += h
	}
	if n == 0 {
		return 0
	}
	return total / n
}

// An F1 is precision, recall and their F1.
type F1 struct{ P, R, F float64 }

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func f1(hits, gold, predicted float64) F1 {
	return F1{P: ratio(hits, predicted), R: ratio(hits, gold), F: ratio(2*hits, gold+predicted)}
}

// Label returns precision, recall and F1 of one label, 0 where there is none.
func (c *Confusion) Label(label int) F1 {
	hits, gold, predicted, _ := c.sums()
	return f1(hits[label], gold[label], predicted[label])
}

// Macro returns the mean F1 of the labels that occur in gold or predictions,
// or of all labels if all is true.
func (c *Confusion) Macro(all bool) float64 {
	hits, gold, predicted, _ := c.sums()
	sum, n := 0.0, 0.0
	for k := range hits {
		if all || gold[k]+predicted[k] > 0 {
			sum += f1(hits[k], gold[k], predicted[k]).F
			n++
		}
	}
	return ratio(sum, n)
}

// Weighted returns the mean F1 of the labels, weighted by their number in gold.
func (c *Confusion) Weighted() float64 {
	hits, gold, predicted, n := c.sums()
	sum := 0.0
	for k := range hits {
		sum += float64(f1(hits[k], gold[k], predicted[k]).F * gold[k])
	}
	return ratio(sum, n)
}

// Matthews returns the correlation of Matthews in its form for any number of
// labels (Gorodkin 2004), 0 where it is not defined.
func (c *Confusion) Matthews() float64 {
	hits, gold, predicted, n := c.sums()
	var correct, cross, gg, pp float64
	for k := range hits {
		correct += hits[k]
		cross += float64(gold[k] * predicted[k])
		gg += float64(gold[k] * gold[k])
		pp += float64(predicted[k] * predicted[k])
	}
	d := float64((float64(n*n) - gg) * (float64(n*n) - pp))
	if d == 0 {
		return 0
	}
	return (float64(correct*n) - cross) / math.Sqrt(d)
}

// ErrFew says that a correlation needs two pairs.
var ErrFew = errors.New("a correlation needs at least two pairs")

// Pearson returns the correlation of x and y, which must be of one length; NaN
// if either is constant.
func Pearson(x, y []float64) (float64, error) { return pearson(x, y, false) }

// Pearson32 is Pearson of numbers in single precision, whose means and
// distances from them SciPy rounds to it.
func Pearson32(x, y []float64) (float64, error) { return pearson(x, y, true) }

func pearson(x, y []float64, single bool) (float64, error) {
	if len(x) < 2 {
		return math.NaN(), ErrFew
	}
	if constant(x) || constant(y) {
		return math.NaN(), nil
	}
	if len(x) == 2 {
		if (x[1] > x[0]) == (y[1] > y[0]) {
			return 1, nil
		}
		return -1, nil
	}
	xm, xn := centred(x, single)
	ym, yn := centred(y, single)
	r := 0.0
	for i := range xm {
		r += float64((xm[i] / xn) * (ym[i] / yn))
	}
	return max(-1, min(1, r)), nil
}

func constant(x []float64) bool {
	for _, v := range x {
		if v != x[0] {
			return false
		}
	}
	return true
}

// centred returns x less its mean, and the norm of that, scaled against
// overflow.
func centred(x []float64, single bool) (out []float64, norm float64) {
	out = make([]float64, len(x))
	if single {
		short := make([]float32, len(x))
		for i, v := range x {
			short[i] = float32(v)
		}
		m := numeric.Mean(short)
		for i, v := range short {
			out[i] = float64(v - m)
		}
	} else {
		m := numeric.Mean(x)
		for i, v := range x {
			out[i] = v - m
		}
	}
	largest := 0.0
	for i := range out {
		largest = max(largest, math.Abs(out[i]))
	}
	if largest == 0 {
		return out, 0
	}
	sum := 0.0
	for _, v := range out {
		s := v / largest
		sum += float64(s * s)
	}
	return out, float64(largest * math.Sqrt(sum))
}

// Spearman returns the correlation of the ranks of x and y, equal values
// sharing the mean of theirs; NaN if either is constant or there is one pair.
func Spearman(x, y []float64) float64 {
	if len(x) < 2 {
		return math.NaN()
	}
	rx, ry := Ranks(x), Ranks(y)
	if constant(rx) || constant(ry) {
		return math.NaN()
	}
	// The covariance matrix, divided by deviations one after the other.
	xm, _ := centred(rx, false)
	ym, _ := centred(ry, false)
	var xx, yy, xy float64
	for i := range xm {
		xx += float64(xm[i] * xm[i])
		yy += float64(ym[i] * ym[i])
		xy += float64(xm[i] * ym[i])
	}
	n := float64(len(x) - 1)
	r := xy / n / math.Sqrt(xx/n) / math.Sqrt(yy/n)
	return max(-1, min(1, r))
}

// Ranks returns the ranks of values from 1, equal values sharing the mean of
// theirs.
func Ranks(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case x[a] < x[b]:
			return -1
		case x[a] > x[b]:
			return 1
		}
		return 0
	})
	ranks := make([]float64, len(x))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && x[order[j]] == x[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			ranks[k] = float64(i+1+j) / 2
		}
		i = j
	}
	return ranks
}
