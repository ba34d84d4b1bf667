// Package stats gives scores their uncertainty: bootstrap intervals, paired
// tests and the spread over seeds.
//
// All resampling works on a [Matrix] of statistics that add up: a metric's
// score of a set of examples is a function of the sum of their rows. Random
// numbers are a hash of (seed, resample, draw), so results are the same on any
// number of workers and a resample can be made again alone.
package stats

import (
	"context"
	"errors"
	"math/bits"
	"slices"
	"sync"
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

// random returns the number of a resample's draw (the finaliser of splitmix64
// over a Weyl sequence of its three arguments).
func random(seed uint64, resample, draw int) uint64 {
	z := seed*0x9e3779b97f4a7c15 + uint64(resample+1)*0xbf58476d1ce4e5b9 + uint64(draw+1)*0x94d049bb133111eb
	for range 2 {
		z ^= z >> 30
		z *= 0xbf58476d1ce4e5b9
		z ^= z >> 27
		z *= 0x94d049bb133111eb
		z ^= z >> 31
	}
	return z
}

// Draw returns the index in [0, n) of a resample's draw.
func Draw(seed uint64, resample, draw, n int) int {
	hi, _ := bits.Mul64(random(seed, resample, draw), uint64(n))
	return int(hi)
}

// Bootstrap draws n resamples of the rows of m, each of as many rows with
// replacement, and returns the scores of each.
func Bootstrap(ctx context.Context, m *Matrix, total Total, scores, n int, seed uint64, workers int) ([][]float64, error) {
	rows := m.Rows()
	if rows == 0 {
		return nil, errors.New("stats: no examples to resample")
	}
	out := make([][]float64, n)
	err := each(ctx, n, workers, func() func(int) {
		sum := make([]float64, m.Width)
		return func(b int) {
			clear(sum)
			for i := range rows {
				for j, v := range m.Row(Draw(seed, b, i, rows)) {
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
		return nil, errors.New("stats: no examples to resample")
	}
	out := make([][]float64, n)
	err := each(ctx, n, workers, func() func(int) {
		f, places := of(), make([]int, rows)
		return func(b int) {
			for i := range places {
				places[i] = Draw(seed, b, i, rows)
			}
			out[b] = make([]float64, scores)
			f(places, out[b])
		}
	})
	return out, err
}

// each calls a function for 0 to n-1 on several goroutines, each with a
// function of its own.
func each(ctx context.Context, n, workers int, work func() func(int)) error {
	workers = max(1, min(workers, n))
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			f := work()
			for i := w; i < n && ctx.Err() == nil; i += workers {
				f(i)
			}
		})
	}
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
