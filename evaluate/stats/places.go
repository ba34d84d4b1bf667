package stats

import (
	"context"
	"errors"
)

// A Places computes the scores of the examples at some places.
type Places func(places []int, scores []float64)

// BootstrappedPlaces is Bootstrapped for scores that do not follow from sums.
// Of makes one goroutine's function; the second system's example i has place
// rows+i.
func BootstrappedPlaces(ctx context.Context, rows int, of func() Places, scores, n int, seed uint64, workers int) ([]Difference, error) {
	if rows == 0 {
		return nil, errNone
	}
	x, y := make([][]float64, n), make([][]float64, n)
	err := resample(ctx, rows, n, seed, workers, func() func(int, []int) {
		f := of()
		return func(b int, places []int) {
			x[b], y[b] = make([]float64, scores), make([]float64, scores)
			f(places, x[b])
			for i := range places {
				places[i] += rows
			}
			f(places, y[b])
		}
	})
	if err != nil {
		return nil, err
	}
	xs, ys := observedPlaces(rows, of, scores)
	return bootstrapped(x, y, xs, ys), nil
}

// RandomisePlaces is Randomise for scores that do not follow from sums, with
// places as in BootstrappedPlaces.
func RandomisePlaces(ctx context.Context, rows int, of func() Places, scores, n int, seed uint64, workers int) ([]Difference, error) {
	if rows == 0 {
		return nil, errNone
	}
	diffs := make([][]float64, n)
	err := swaps(ctx, rows, n, seed, workers, func() func(int, []bool) {
		f := of()
		a, b := make([]int, rows), make([]int, rows)
		x, y := make([]float64, scores), make([]float64, scores)
		return func(t int, keep []bool) {
			for i, k := range keep {
				if a[i], b[i] = i, rows+i; !k {
					a[i], b[i] = b[i], a[i]
				}
			}
			f(a, x)
			f(b, y)
			diffs[t] = subtract(x, y)
		}
	})
	if err != nil {
		return nil, err
	}
	xs, ys := observedPlaces(rows, of, scores)
	return randomised(diffs, xs, ys), nil
}

var errNone = errors.New("stats: no examples to compare")

func subtract(x, y []float64) []float64 {
	d := make([]float64, len(x))
	for k := range d {
		d[k] = x[k] - y[k]
	}
	return d
}

func observedPlaces(rows int, of func() Places, scores int) (xs, ys []float64) {
	f, places := of(), make([]int, rows)
	for i := range places {
		places[i] = i
	}
	xs, ys = make([]float64, scores), make([]float64, scores)
	f(places, xs)
	for i := range places {
		places[i] += rows
	}
	f(places, ys)
	return xs, ys
}
