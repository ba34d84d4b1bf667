// Package stats gives scores their uncertainty: bootstrap intervals, paired
// tests and the spread over seeds.
//
// All resampling works on a [Matrix] of statistics that add up: a metric's
// score of a set of examples is a function of the sum of their rows. Random
// numbers are those that NumPy draws from the seed, in the order in which
// sacrebleu draws them; results are the same on any number of workers.
package stats

import (
	"context"
	"slices"
	"sync"

	"espalier/evaluate/draw"
)

// A Matrix holds one row of statistics an example, row after row.
type Matrix struct {
	Width int
	Data  []float64
}

// Rows returns the number of rows.
func (m *Matrix) Rows() int {
	if m.Width == 0 {
		return 0
	}
	return len(m.Data) / m.Width
}

// Row returns row i.
func (m *Matrix) Row(i int) []float64 { return m.Data[i*m.Width : (i+1)*m.Width] }

// A Total computes scores from summed rows.
type Total func(sum, scores []float64)

// Bootstrap draws n resamples of the rows of m, each of as many rows with
// replacement, and returns the scores of each.
func Bootstrap(ctx context.Context, m *Matrix, total Total, scores, n int, seed uint64, workers int) ([][]float64, error) {
	rows := m.Rows()
	if rows == 0 {
		return nil, errNone
	}
	out := make([][]float64, n)
	err := resample(ctx, rows, n, seed, workers, func() func(int, []int) {
		sum := make([]float64, m.Width)
		return func(b int, places []int) {
			clear(sum)
			for _, i := range places {
				for j, v := range m.Row(i) {
					sum[j] += v
				}
			}
			out[b] = make([]float64, scores)
			total(sum, out[b])
		}
	})
	return out, err
}

// BootstrapPlaces is Bootstrap for scores that do not follow from sums: of
// makes one goroutine's function, which computes the scores of the rows at
// some places.
func BootstrapPlaces(ctx context.Context, rows int, of func() Places, scores, n int, seed uint64, workers int) ([][]float64, error) {
	if rows == 0 {
		return nil, errNone
	}
	out := make([][]float64, n)
	err := resample(ctx, rows, n, seed, workers, func() func(int, []int) {
		f := of()
		return func(b int, places []int) {
			out[b] = make([]float64, scores)
			f(places, out[b])
		}
	})
	return out, err
}

// resample draws n resamples of rows, NumPy's choice(rows, size=(n, rows)), and
// hands each to one of the workers.
func resample(ctx context.Context, rows, n int, seed uint64, workers int, work func() func(b int, places []int)) error {
	p := draw.NewPCG64(seed)
	return deal(ctx, rows, n, workers, func(places []int) {
		for i := range places {
			places[i] = int(p.Below(uint32(rows)))
		}
	}, work)
}

// A hand is what one worker gets: the number of a resample and its draws.
type hand[T any] struct {
	number int
	draws  []T
}

// deal draws n times rows values, one draw after the other, and hands them to
// workers, each with a function of its own.
func deal[T any](ctx context.Context, rows, n, workers int, draw func([]T), work func() func(number int, draws []T)) error {
	workers = max(1, min(workers, n))
	full, empty := make(chan hand[T], workers), make(chan []T, 2*workers)
	for range cap(empty) {
		empty <- make([]T, rows)
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			f := work()
			for h := range full {
				f(h.number, h.draws)
				empty <- h.draws
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		draws := <-empty
		draw(draws)
		full <- hand[T]{i, draws}
	}
	close(full)
	wg.Wait()
	return ctx.Err()
}

// Interval returns the bounds of the middle share (such as 0.95) of a score
// over resamples: with n of them, sorted, those at n*(1-share)/2 rounded down
// and the same from the end.
func Interval(samples [][]float64, score int, share float64) (low, high float64) {
	x := make([]float64, len(samples))
	for i, s := range samples {
		x[i] = s[score]
	}
	slices.Sort(x)
	k := int(float64(len(x))*(1-share)/2 + 1e-9)
	return x[k], x[len(x)-1-k]
}
