package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"espalier/trainer/kernel/cpuinfo"
)

// instructions are the ways to compute a Rounded: each level, and the best
// without VDPBF16PS.
func instructions(f func(name string)) {
	for _, l := range cpuinfo.Levels() {
		restore := cpuinfo.Limit(l)
		f(l.String())
		if cpuinfo.BF16 {
			cpuinfo.BF16 = false
			f(l.String() + " without VDPBF16PS")
			cpuinfo.BF16 = true
		}
		restore()
	}
}

// A roundedCase is a product with guards around c.
type roundedCase struct {
	p        Rounded
	whole    []float32
	a, b, c0 []float32
}

func newRounded(r *rand.Rand, m, n, k int, load bool, draw func() float32) *roundedCase {
	pairs := (k + 1) / 2
	rc := &roundedCase{p: Rounded{M: m, N: n, K: k, RowA: 2*pairs + 2*r.IntN(3), LDC: n + r.IntN(4), Load: load}}
	p := &rc.p
	p.A = make([]uint16, m*p.RowA+2)
	for i := range m {
		row := make([]float32, k)
		for l := range row {
			row[l] = draw()
		}
		RoundHalf(p.A[i*p.RowA:], row)
		for l := range row {
			rc.a = append(rc.a, widen(p.A[i*p.RowA+l]))
		}
	}
	half := make([]uint16, k*n)
	for i := range half {
		half[i] = half1(draw())
		rc.b = append(rc.b, widen(half[i]))
	}
	p.B = make([]uint16, PairsLen(k, n))
	PackPairs(p.B, half, n, 1, k, n, 0, (n+Panel-1)/Panel)
	rc.whole = make([]float32, m*p.LDC+40)
	for i := range rc.whole {
		rc.whole[i] = -12345
	}
	p.C = rc.whole[11:][:m*p.LDC]
	for i := range m {
		for j := range n {
			p.C[i*p.LDC+j] = draw()
			rc.c0 = append(rc.c0, p.C[i*p.LDC+j])
		}
	}
	return rc
}

func half1(v float32) uint16 {
	var h [1]uint16
	RoundHalf(h[:], []float32{v})
	return h[0]
}

func TestRounded(t *testing.T) {
	odd := []float32{float32(math.Inf(1)), float32(math.NaN()), 1e-39, -1e-40, 1e38, -1e38, 1e-20, -1e-19, 0, 3e-38, float32(math.Inf(-1))}
	for name, special := range map[string]int{"numbers": 0, "denormals": 2, "specials": 1} {
		for _, s := range [][3]int{
			{0, 1, 1}, {1, 1, 0}, {1, 1, 1}, {1, 32, 2}, {2, 33, 3}, {3, 31, 4}, {4, 16, 5}, {5, 17, 7}, {6, 64, 8}, {7, 65, 9}, {8, 1, 100}, {9, 47, 33}, {17, 100, 64}, {23, 40, 2*pairDepth + 10}, {pairHeight + 9, 33, 70},
		} {
			for _, load := range []bool{false, true} {
				m, n, k := s[0], s[1], s[2]
				what := fmt.Sprintf("%s %v load=%v", name, s, load)
				var first []float32
				instructions(func(way string) {
					r := rand.New(rand.NewPCG(uint64(n), uint64(k)))
					rc := newRounded(r, m, n, k, load, func() float32 {
						switch {
						case special == 1 && r.IntN(40) == 0:
							return odd[r.IntN(len(odd))]
						case special == 2: // products about the least normal number
							return float32(math.Ldexp(r.NormFloat64(), -63-r.IntN(3)))
						}
						return float32(r.NormFloat64())
					})
					for at := 0; at < n; at += 64 {
						rc.p.Block(0, m, at, min(at+64, n))
					}
					for i, v := range rc.whole {
						at := i - 11
						if (at < 0 || at >= m*rc.p.LDC || at%rc.p.LDC >= n) && v != -12345 {
							t.Fatalf("%s: %s: element %d outside c was written", way, what, at)
						}
					}
					for i := range m * n {
						got := rc.p.C[i/n*rc.p.LDC+i%n]
						want, size := 0.0, 0.0
						if load {
							want = float64(rc.c0[i])
						}
						for l := range k {
							p := float64(rc.a[i/n*k+l]) * float64(rc.b[l*n+i%n])
							want, size = want+p, size+math.Abs(p)
						}
						if special == 0 && !(math.Abs(float64(got)-want) <= 1e-6*(size+1)) {
							t.Fatalf("%s: %s: element %d is %g, want %g", way, what, i, got, want)
						}
					}
					if way == cpuinfo.Portable.String() {
						return
					}
					if first == nil {
						first = rc.whole
					}
					for i, v := range rc.whole {
						if math.Float32bits(v) != math.Float32bits(first[i]) {
							t.Fatalf("%s: %s: number %d is %x, with AVX2 %x", way, what, i, math.Float32bits(v), math.Float32bits(first[i]))
						}
					}
				})
			}
		}
	}
}

func TestRoundHalf(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	x := []float32{0, 1, float32(math.NaN()), float32(math.Inf(1)), 1.00390625, 1.01171875, 3.4e38, 1e-40}
	for len(x) < 5000 {
		x = append(x, math.Float32frombits(r.Uint32()))
	}
	x = append(x, math.Float32frombits(0x7f800001), math.Float32frombits(0xffc12345))
	instructions(func(way string) {
		for _, n := range []int{0, 1, 7, 8, 9, 15, 16, 17, 33, len(x)} {
			got := make([]uint16, n+1)
			RoundHalf(got, x[len(x)-n:])
			for i, v := range x[len(x)-n:] {
				if want := half(v); got[i] != want {
					t.Fatalf("%s: n=%d: %x becomes %x, want %x", way, n, math.Float32bits(v), got[i], want)
				}
			}
			if got[n] != 0 {
				t.Fatalf("%s: n=%d: wrote past the end", way, n)
			}
		}
	})
}

func BenchmarkRounded(b *testing.B) {
	instructions(func(way string) {
		for _, s := range [][3]int{{8, 256, 512}, {256, 256, 512}, {1024, 256, 3072}} {
			b.Run(fmt.Sprintf("%s/%dx%dx%d", way, s[0], s[1], s[2]), func(b *testing.B) {
				rc := newRounded(rand.New(rand.NewPCG(1, 1)), s[0], s[1], s[2], false, func() float32 { return 1 })
				for b.Loop() {
					rc.p.Block(0, s[0], 0, s[1])
				}
				b.ReportMetric(2*float64(s[0]*s[1]*s[2])*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	})
}
