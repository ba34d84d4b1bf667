package attend

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"espalier/trainer/kernel/cpuinfo"
)

// run calls every function in every form and returns all that they write,
// guards included.
func run(l cpuinfo.Level) []float32 {
	defer cpuinfo.Limit(l)()
	r := rand.New(rand.NewPCG(1, 1))
	var all []float32
	for n := range 100 {
		for bits := range 12 {
			const m = 3
			front, ld := 1+r.IntN(9), n+r.IntN(5)
			bufs := make([][]float32, 7)
			for i := range bufs {
				bufs[i] = make([]float32, front+m*(ld+1)+40)
				for j := range bufs[i] {
					bufs[i][j] = float32(r.NormFloat64())
				}
			}
			cut := func(i int) []float32 { return bufs[i][front:][: m*(ld+1) : m*(ld+1)] }
			rows := Rows{X: cut(0), LD: ld, M: m, N: n, See: n + 1, Scale: 0.3, Hidden: -7}
			if bits&1 != 0 {
				rows.See, rows.SeeStep = []int{n/2 - 1, n - 1}[r.IntN(2)], 1
			}
			if bits&2 != 0 {
				rows.Mask = make([]float32, n)
				for i := range rows.Mask {
					rows.Mask[i] = float32(r.IntN(2))
				}
			}
			var dbias []float32
			if bits >= 4 {
				rows.Bias, rows.BiasStep = cut(1), bits&1*ld
			}
			if bits >= 8 {
				dbias = cut(2)
			}
			top, sum := cut(3)[:m], cut(4)[:m]
			back := append([]float32(nil), bufs[0]...)
			rows.Softmax(top, sum)
			for _, b := range bufs {
				all = append(all, b...)
			}
			copy(bufs[0], back)
			rows.Gradient(cut(5), top, sum, dbias)
			Scale(cut(6), sum, ld, n)
			for _, b := range bufs {
				all = append(all, b...)
			}
			Dot(top, cut(5), cut(6), ld, n)
			all = append(all, bufs[3]...)
			part := rows.Slice(1, m)
			part.Softmax(top[1:], sum[1:])
			Copy(cut(5), cut(6), ld, n, m, n)
			all = append(append(append(all, bufs[0]...), bufs[3]...), bufs[5]...)
		}
	}
	return all
}

func TestBits(t *testing.T) {
	want := run(cpuinfo.Portable)
	var first []float32
	for _, l := range cpuinfo.Levels() {
		got := run(l)
		if l == cpuinfo.LevelAVX2 {
			first = got
		}
		for i, w := range want {
			if math.Abs(float64(got[i]-w)) > 3e-5*math.Max(1, math.Abs(float64(w))) {
				t.Fatalf("%v: number %d is %g, portable %g", l, i, got[i], w)
			}
			if first != nil && math.Float32bits(got[i]) != math.Float32bits(first[i]) {
				t.Fatalf("%v: number %d is %x, with AVX2 %x", l, i, got[i], first[i])
			}
		}
	}
}

func TestCopy(t *testing.T) {
	for _, l := range cpuinfo.Levels() {
		t.Run(l.String(), func(t *testing.T) {
			defer cpuinfo.Limit(l)()
			for n := range 70 {
				const rows, guard = 3, 99
				dst, src := make([]float32, rows*(n+2)), make([]float32, rows*(n+1)+1)
				for i := range dst {
					dst[i] = guard
				}
				for i := range src {
					src[i] = float32(i)
				}
				Copy(dst, src, n+2, n+1, rows, n)
				for i, got := range dst {
					want := float32(i/(n+2)*(n+1) + i%(n+2))
					if i%(n+2) >= n {
						want = guard
					}
					if got != want {
						t.Fatalf("%v n=%d: number %d is %g, want %g", l, n, i, got, want)
					}
				}
			}
		})
	}
}

func TestSoftmaxSpecials(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, l := range cpuinfo.Levels() {
		t.Run(l.String(), func(t *testing.T) {
			defer cpuinfo.Limit(l)()
			for _, n := range []int{1, 7, 32, 45} {
				x := make([]float32, 3*n)
				for i := range x {
					x[i] = -inf
				}
				x[n] = nan
				x[2*n+n/2] = 5
				r := Rows{X: x, LD: n, M: 3, N: n, See: n, Scale: 1, Hidden: -1e9}
				top, sum := make([]float32, 3), make([]float32, 3)
				r.Softmax(top, sum)
				for i, v := range x[:n] {
					if v != 0 {
						t.Errorf("%v n=%d: element %d of a row of -Inf is %g", l, n, i, v)
					}
				}
				if sum[0] != 0 || sum[1] == sum[1] || sum[2] != 1 || top[2] != 5 {
					t.Errorf("%v n=%d: sums %v, maxima %v", l, n, sum, top)
				}
			}
		})
	}
}

func BenchmarkRows(b *testing.B) {
	for _, n := range []int{26, 128, 512} {
		const m = 56
		x, y, bias, top, sum := make([]float32, m*n), make([]float32, m*n), make([]float32, m*n), make([]float32, m), make([]float32, m)
		for _, l := range cpuinfo.Levels() {
			r := Rows{X: x, LD: n, M: m, N: n, See: n, Bias: bias, BiasStep: n, Scale: 0.1, Hidden: -1e9}
			b.Run(fmt.Sprintf("softmax/%v/n=%d", l, n), func(b *testing.B) {
				defer cpuinfo.Limit(l)()
				b.SetBytes(8 * m * int64(n))
				for b.Loop() {
					r.Softmax(top, sum)
				}
			})
			b.Run(fmt.Sprintf("gradient/%v/n=%d", l, n), func(b *testing.B) {
				defer cpuinfo.Limit(l)()
				b.SetBytes(16 * m * int64(n))
				for b.Loop() {
					r.Gradient(y, top, sum, nil)
				}
			})
		}
	}
}
