// Package peak measures what a core can do: fused multiply-adds a second and
// bytes read a second. It is what the rates of kernels are set against.
package peak

import (
	"math"
	"sync"
	"time"
)

// FMA returns the most floating-point operations a second that threads cores do
// at once, in 1e9, where a fused multiply-add is two. Each runs for about d.
func FMA(threads int, d time.Duration) float64 {
	return best(threads, d, func(int) float64 { return multiplyAdd(1 << 14) })
}

// Read returns the most bytes a second that threads cores read at once from one
// slice each, in 1e9. Each runs for about d.
func Read(threads, bytes int, d time.Duration) float64 {
	bytes = max(bytes/512*512, 512)
	x := make([][]float32, threads)
	for i := range x {
		x[i] = make([]float32, bytes/4)
		for j := range x[i] { // touch it: untouched pages are all one
			x[i][j] = float32(j & 3)
		}
	}
	return best(threads, d, func(thread int) float64 {
		read(x[thread])
		return float64(bytes)
	})
}

// best runs work on every thread for about d and returns the sum of their best
// rates, in 1e9.
func best(threads int, d time.Duration, work func(thread int) float64) float64 {
	rates := make([]float64, threads)
	var wg sync.WaitGroup
	for i := range rates {
		wg.Go(func() {
			for begin := time.Now(); ; {
				t := time.Now()
				n := work(i)
				now := time.Now()
				rates[i] = math.Max(rates[i], n/now.Sub(t).Seconds()/1e9)
				if now.Sub(begin) >= d {
					return
				}
			}
		})
	}
	wg.Wait()
	sum := 0.0
	for _, r := range rates {
		sum += r
	}
	return sum
}

// multiplyAddGeneric does n steps of eight chains and returns the operations.
func multiplyAddGeneric(n int) float64 {
	var a [8]float32
	for range n {
		for i := range a {
			a[i] = a[i]*0.999 + 1e-3
		}
	}
	if a[0] < 0 {
		panic("peak: numbers have changed")
	}
	return float64(16 * n)
}

func readGeneric(x []float32) {
	var s [4]float32
	for ; len(x) >= 4; x = x[4:] {
		s[0] = max(s[0], x[0])
		s[1] = max(s[1], x[1])
		s[2] = max(s[2], x[2])
		s[3] = max(s[3], x[3])
	}
	if s[0]+s[1]+s[2]+s[3] < 0 {
		panic("peak: numbers have changed")
	}
}
