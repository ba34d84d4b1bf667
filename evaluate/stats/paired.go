package stats

import (
	"context"
	"errors"
	"math"
	"slices"

	"espalier/evaluate/draw"
	"espalier/evaluate/numeric"
)

// A Difference compares two systems on the same examples.
type Difference struct {
	First     float64 // score of the first system
	Second    float64
	Observed  float64 // score of the first less that of the second
	Low, High float64 // 95 % bootstrap interval of the difference; 0 from Randomise
	P         float64 // two-sided
}

var errUnpaired = errors.New("stats: the systems were not scored on the same number of examples")

func paired(a, b *Matrix) (int, error) {
	if a.Rows() != b.Rows() || a.Width != b.Width {
		return 0, errUnpaired
	}
	if a.Rows() == 0 {
		return 0, errNone
	}
	return a.Rows(), nil
}

// Sums adds up all rows, exactly.
func (m *Matrix) Sums() []float64 {
	out, sums := make([]float64, m.Width), make([]numeric.Sum, m.Width)
	for i := range m.Rows() {
		for j, v := range m.Row(i) {
			sums[j].Add(v)
		}
	}
	for j := range out {
		out[j] = sums[j].Value()
	}
	return out
}

func observed(a, b *Matrix, total Total, scores int) ([]float64, []float64) {
	x, y := make([]float64, scores), make([]float64, scores)
	total(a.Sums(), x)
	total(b.Sums(), y)
	return x, y
}

// Bootstrapped compares two systems by paired bootstrap: both are scored on
// the same n resamples; the p-value is the share of resamples whose difference,
// less the mean of all differences, is larger in size than the observed one,
// with one added above and below (the convention of multeval and sacrebleu).
func Bootstrapped(ctx context.Context, a, b *Matrix, total Total, scores, n int, seed uint64, workers int) ([]Difference, error) {
	if _, err := paired(a, b); err != nil {
		return nil, err
	}
	x, err := Bootstrap(ctx, a, total, scores, n, seed, workers)
	if err != nil {
		return nil, err
	}
	y, err := Bootstrap(ctx, b, total, scores, n, seed, workers)
	if err != nil {
		return nil, err
	}
	xs, ys := observed(a, b, total, scores)
	return bootstrapped(x, y, xs, ys), nil
}

// bootstrapped sums up the scores of two systems' resamples.
func bootstrapped(x, y [][]float64, xs, ys []float64) []Difference {
	n := len(x)
	out := make([]Difference, len(xs))
	for k := range out {
		d := make([]float64, n)
		mean := 0.0
		for i := range d {
			d[i] = x[i][k] - y[i][k]
			mean += math.Abs(d[i])
		}
		mean /= float64(n)
		out[k].First, out[k].Second, out[k].Observed = xs[k], ys[k], xs[k]-ys[k]
		c := 0
		for _, v := range d {
			if math.Abs(v)-mean > math.Abs(out[k].Observed) {
				c++
			}
		}
		out[k].P = float64(c+1) / float64(n+1)
		slices.Sort(d)
		cut := n / 40
		out[k].Low, out[k].High = d[cut], d[n-1-cut]
	}
	return out
}

// Randomise compares two systems by approximate randomisation: in each of n
// trials the two systems' outputs are swapped with probability 1/2, example by
// example; the p-value is the share of trials whose difference is larger in
// size than the observed one, with one added above and below.
func Randomise(ctx context.Context, a, b *Matrix, total Total, scores, n int, seed uint64, workers int) ([]Difference, error) {
	rows, err := paired(a, b)
	if err != nil {
		return nil, err
	}
	xs, ys := observed(a, b, total, scores)
	diffs := make([][]float64, n)
	err = swaps(ctx, rows, n, seed, workers, func() func(int, []bool) {
		x, y := make([]float64, a.Width), make([]float64, a.Width)
		sx, sy := make([]float64, scores), make([]float64, scores)
		return func(t int, keep []bool) {
			clear(x)
			clear(y)
			for i, k := range keep {
				p, q := a.Row(i), b.Row(i)
				if !k {
					p, q = q, p
				}
				for j := range p {
					x[j] += p[j]
					y[j] += q[j]
				}
			}
			total(x, sx)
			total(y, sy)
			diffs[t] = subtract(sx, sy)
		}
	})
	if err != nil {
		return nil, err
	}
	return randomised(diffs, xs, ys), nil
}

// swaps draws n trials, NumPy's integers(2, size=(n, rows), dtype=bool), and
// hands each to one of the workers: whether an example's outputs stay.
func swaps(ctx context.Context, rows, n int, seed uint64, workers int, work func() func(trial int, keep []bool)) error {
	p := draw.NewPCG64(seed)
	return deal(ctx, rows, n, workers, func(keep []bool) {
		for i := range keep {
			keep[i] = p.Bool()
		}
	}, work)
}

// randomised sums up the differences of trials.
func randomised(diffs [][]float64, xs, ys []float64) []Difference {
	out := make([]Difference, len(xs))
	for k := range out {
		out[k].First, out[k].Second, out[k].Observed = xs[k], ys[k], xs[k]-ys[k]
		c := 0
		for _, d := range diffs {
			if math.Abs(d[k]) > math.Abs(out[k].Observed) {
				c++
			}
		}
		out[k].P = float64(c+1) / float64(len(diffs)+1)
	}
	return out
}
