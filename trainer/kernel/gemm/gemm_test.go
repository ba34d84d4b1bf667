package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"espalier/trainer/kernel/cpuinfo"
)

// eachLevel runs f under every instruction set of this machine.
func eachLevel(t *testing.T, f func(t *testing.T)) {
	for _, l := range cpuinfo.Levels() {
		t.Run(l.String(), func(t *testing.T) {
			defer cpuinfo.Limit(l)()
			f(t)
		})
	}
}

func randn(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// chain is an element as the inner loops must give it on class amd64: every
// step rounded once.
func chain(p *Product, i, j int, b []float32, step, col int) float32 {
	var acc float32
	if p.Load {
		acc = p.C[i*p.LDC+j]
	}
	for l := range p.K {
		x, y := float64(p.A[i*p.RowA+l*p.StepA]), float64(b[l*step+j*col])
		acc = fma32(x, y, float64(acc))
	}
	return acc
}

// fma32 is x*y+z rounded once to float32: x*y is exact in float64, and the sum
// is rounded to odd there first.
func fma32(x, y, z float64) float32 {
	p := x * y
	s := p + z
	t := s - p
	if e := (p - (s - t)) + (z - t); e != 0 && math.Float64bits(s)&1 == 0 {
		if (e > 0) == (s > 0) {
			s = math.Float64frombits(math.Float64bits(s) + 1)
		} else {
			s = math.Float64frombits(math.Float64bits(s) - 1)
		}
	}
	return float32(s)
}

const guard = float32(1234.5)

func guarded(n, front int) (all, x []float32) {
	all = make([]float32, n+front+40)
	for i := range all {
		all[i] = guard
	}
	return all, all[front : front+n : front+n]
}

func TestBlock(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 1))
		for m := 1; m <= 30; m++ {
			for _, n := range []int{1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 63, 64, 65, 127, 128, 129, 200} {
				testBlock(t, r, m, n, r.IntN(4), layout(r.IntN(64)))
				testBlock(t, r, m, n, 5+r.IntN(40), layout(r.IntN(64)))
			}
			for l := range layout(64) {
				testBlock(t, r, m, 1+r.IntN(70), 5+r.IntN(20), l)
			}
		}
		for l := range layout(64) {
			testBlock(t, r, 17+int(l)%8, 41, Depth+9, l) // two depths
			testBlock(t, r, height+21, 10, 7, l)         // two heights
		}
	})
}

// A layout is how operands lie and whether c is added to.
type layout int

const (
	transA layout = 1 << iota
	transB
	packed
	load
	tight // no padding between rows
	copyA
)

func TestPack(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 1))
		for _, k := range []int{0, 1, 7, 8, 9, 15, 16, 17, 33, 50} {
			for _, n := range []int{1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 79} {
				for _, turned := range []bool{false, true} {
					step, col := n+3, 1
					if turned {
						step, col = 1, k+5
					}
					b := randn(r, (k+1)*step+n*col)
					all, dst := guarded(PackedLen(k, n), 7)
					Pack(dst, b, step, col, k, n, 0, (n+Panel-1)/Panel)
					for i, got := range dst {
						l, j := i/Panel%max(k, 1), i/(Panel*max(k, 1))*Panel+i%Panel
						if j >= n {
							continue
						}
						if want := b[l*step+j*col]; got != want {
							t.Fatalf("k=%d n=%d turned=%v: (%d, %d) is %g, want %g", k, n, turned, l, j, got, want)
						}
					}
					for i, v := range all {
						if (i < 7 || i >= 7+len(dst)) && v != guard {
							t.Fatalf("k=%d n=%d turned=%v: wrote %g at %d", k, n, turned, v, i-7)
						}
					}
				}
			}
		}
	})
}

func testBlock(t *testing.T, r *rand.Rand, m, n, k int, how layout) {
	t.Helper()
	pad := 3
	if how&tight != 0 {
		pad = 0
	}
	p := &Product{M: m, N: n, K: k, RowA: k + pad, StepA: 1, Packed: how&packed != 0, StepB: n + pad, ColB: 1, LDC: n + 1, Load: how&load != 0, CopyA: how&copyA != 0}
	if how&transA != 0 {
		p.RowA, p.StepA = 1, m+pad
	}
	if how&transB != 0 {
		p.StepB, p.ColB = 1, k+pad
	}
	p.A = randn(r, max(0, (m-1)*p.RowA+(k-1)*p.StepA+1))
	plain := randn(r, max(0, (k-1)*p.StepB+(n-1)*p.ColB+1))
	p.B = plain
	if p.Packed {
		p.B = make([]float32, PackedLen(k, n))
		Pack(p.B, plain, p.StepB, p.ColB, k, n, 0, (n+Panel-1)/Panel)
	}
	front := 1 + r.IntN(16)
	all, c := guarded((m-1)*p.LDC+n, front)
	for i := range m {
		copy(c[i*p.LDC:][:n], randn(r, n))
	}
	p.C = c
	want := make([]float32, m*n)
	exact := make([]float64, m*n)
	for i := range m {
		for j := range n {
			want[i*n+j] = chain(p, i, j, plain, p.StepB, p.ColB)
			if p.Load {
				exact[i*n+j] = float64(c[i*p.LDC+j])
			}
			for l := range k {
				exact[i*n+j] += float64(p.A[i*p.RowA+l*p.StepA]) * float64(plain[l*p.StepB+j*p.ColB])
			}
		}
	}
	name := fmt.Sprintf("m=%d n=%d k=%d layout=%06b", m, n, k, how)
	scratch := make([]float32, p.ScratchLen(m, n))
	cut, border := m/3, n/2/Panel*Panel // four blocks
	for _, b := range [][4]int{{0, cut, 0, border}, {cut, m, 0, border}, {0, cut, border, n}, {cut, m, border, n}} {
		p.Block(b[0], b[1], b[2], b[3], scratch)
	}
	for i := range m {
		for j := range n {
			got := c[i*p.LDC+j]
			if math.Abs(float64(got)-exact[i*n+j]) > 1e-5*math.Sqrt(float64(k+1)) {
				t.Fatalf("%s: c[%d,%d] = %g, want %g", name, i, j, got, exact[i*n+j])
			}
			if cpuinfo.AVX2 && math.Float32bits(got) != math.Float32bits(want[i*n+j]) {
				t.Fatalf("%s: c[%d,%d] = %x, want the chain's %x", name, i, j, got, want[i*n+j])
			}
			c[i*p.LDC+j] = guard
		}
	}
	for i, v := range all {
		if v != guard {
			t.Fatalf("%s: wrote %g at %d outside the block", name, v, i-front)
		}
	}
}

// TestHalf checks that bfloat16 panels give the bits of the float32 product
// with the same numbers.
func TestHalf(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 1))
		for m := 1; m <= 30; m++ {
			for _, n := range []int{1, 8, 9, 17, 32, 40, 128, 200} {
				k := r.IntN(40)
				half, full := make([]uint16, k*n), make([]float32, k*n)
				for i := range half {
					half[i] = uint16(math.Float32bits(float32(r.NormFloat64())) >> 16)
					full[i] = widen(half[i])
				}
				p := &Product{M: m, N: n, K: k, A: randn(r, m*k), RowA: k, StepA: 1, Packed: true, B: make([]float32, PackedLen(k, n)), C: make([]float32, m*n), LDC: n}
				Pack(p.B, full, n, 1, k, n, 0, (n+Panel-1)/Panel)
				p.Block(0, m, 0, n, make([]float32, p.ScratchLen(m, n)))
				all, c := guarded(m*n, 3)
				q := *p
				q.Half, q.B, q.Packed, q.C = make([]uint16, PackedLen(k, n)), nil, false, c
				PackHalf(q.Half, half, n, 1, k, n, 0, (n+Panel-1)/Panel)
				q.Block(0, m, 0, n, nil)
				for i, w := range p.C {
					if math.Float32bits(c[i]) != math.Float32bits(w) {
						t.Fatalf("m=%d n=%d k=%d: element %d is %g, want %g", m, n, k, i, c[i], w)
					}
				}
				for i, v := range all {
					if (i < 3 || i >= 3+m*n) && v != guard {
						t.Fatalf("m=%d n=%d k=%d: wrote %g at %d", m, n, k, v, i-3)
					}
				}
			}
		}
	})
}

func BenchmarkBlock(b *testing.B) {
	for _, l := range cpuinfo.Levels()[1:] {
		for _, s := range [][3]int{{14, 32, 256}, {12, 32, 256}, {168, 512, 256}, {75, 512, 512}, {512, 512, 512}, {1024, 1024, 1024}} {
			for _, packed := range []bool{false, true} {
				b.Run(fmt.Sprintf("%v/m=%d/n=%d/k=%d/packed=%v", l, s[0], s[1], s[2], packed), func(b *testing.B) {
					defer cpuinfo.Limit(l)()
					m, n, k := s[0], s[1], s[2]
					r := rand.New(rand.NewPCG(1, 1))
					p := &Product{M: m, N: n, K: k, A: randn(r, m*k), RowA: k, StepA: 1, B: randn(r, PackedLen(k, n)), Packed: packed, StepB: n, ColB: 1, C: randn(r, m*n), LDC: n}
					scratch := make([]float32, p.ScratchLen(m, n))
					for b.Loop() {
						p.Block(0, m, 0, n, scratch)
					}
					b.ReportMetric(float64(2*m*n*k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
				})
			}
		}
	}
}

func BenchmarkPack(b *testing.B) {
	const k, n = 512, 512
	src, dst := make([]float32, k*n), make([]float32, PackedLen(k, n))
	for _, l := range cpuinfo.Levels() {
		for _, turned := range []bool{false, true} {
			b.Run(fmt.Sprintf("%v/turned=%v", l, turned), func(b *testing.B) {
				defer cpuinfo.Limit(l)()
				b.SetBytes(4 * k * n)
				for b.Loop() {
					if turned {
						Pack(dst, src, 1, k, k, n, 0, n/Panel)
					} else {
						Pack(dst, src, n, 1, k, n, 0, n/Panel)
					}
				}
			})
		}
	}
}

// TestAhead fetches memory while products are computed, whose results it does
// not change.
func TestAhead(t *testing.T) {
	for _, l := range cpuinfo.Levels() {
		t.Run(l.String(), func(t *testing.T) {
			defer cpuinfo.Limit(l)()
			r := rand.New(rand.NewPCG(3, 3))
			random := func(n int) []float32 {
				x := make([]float32, n)
				for i := range x {
					x[i] = float32(r.NormFloat64())
				}
				return x
			}
			const m, n, k = 50, 70, 100
			p := Product{M: m, N: n, K: k, A: random(m * k), RowA: k, StepA: 1, B: random(PackedLen(k, n)), Packed: true, C: make([]float32, m*n), LDC: n}
			p.Block(0, m, 0, n, nil)
			want := slices.Clone(p.C)
			var a Ahead
			for _, s := range [][3]int{{7, 200, 130}, {1, 64, 64}, {3, 5, 1}, {0, 4, 4}, {4, 4, 0}} { // rows, ld, n
				a.Add(random(s[0]*s[1]), s[1], s[0], s[2])
			}
			p.Ahead = &a
			for range 20 {
				clear(p.C)
				p.Block(0, m, 0, n, nil)
				if !slices.Equal(p.C, want) {
					t.Fatalf("%v: the product is another", l)
				}
			}
			if l != cpuinfo.Portable && !a.idle() {
				t.Errorf("%v: %d of %d parts fetched", l, a.next, a.n)
			}
			for range 2 * aheadParts { // more than there are places for
				a.Add(p.A, k, m, k)
			}
			if a.Reset(); !a.idle() {
				t.Errorf("%v: Reset leaves something", l)
			}
		})
	}
}
