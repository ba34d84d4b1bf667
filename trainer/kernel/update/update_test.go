package update

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"espalier/trainer/kernel/cpuinfo"
)

// run calls every function at many lengths and offsets, with change made to
// their operands, and returns all that they write and return.
func run(l cpuinfo.Level, change func(i int, x []float32)) []float32 {
	defer cpuinfo.Limit(l)()
	r := rand.New(rand.NewPCG(1, 2))
	var all []float32
	for n := range 70 {
		for _, front := range []int{0, 1, 7} {
			bufs := make([][]float32, 5)
			cut := func(i int) []float32 { return bufs[i][front:][:n:n] }
			each := func(f func(p, g, m, v []float32)) {
				for i := range bufs {
					bufs[i] = make([]float32, front+n+20)
					for j := range bufs[i] {
						bufs[i][j] = float32(r.NormFloat64())
					}
				}
				for i, v := range bufs[3] {
					bufs[3][i] = v * v
				}
				for i := range bufs {
					change(i, cut(i))
				}
				f(cut(0), cut(1), cut(2), cut(3))
				for i := range bufs {
					all = append(all, bufs[i]...)
				}
			}
			a := Adam{Scale: 0.9, Clip: 0.5, Beta1: 0.9, Rest1: 0.1, Beta2: 0.99, Rest2: 0.01, Rate: 0.1, Root: 1.5, Eps: 1e-8, Decay: 0.99}
			each(a.Update)
			a.L2 = 0.1
			each(a.Update)
			s := SGD{Scale: 0.9, Clip: 0.5, Rate: 0.1, L2: 0.1, Momentum: 0.9, Rest: 0.7}
			each(func(p, g, m, _ []float32) { s.Update(p, g, nil) })
			each(func(p, g, m, _ []float32) { s.Update(p, g, m) })
			s.Ahead = 0.9
			each(func(p, g, m, _ []float32) { s.Update(p, g, m) })
			each(func(p, g, m, v []float32) { all = append(all, Means(v, g, 0.5, 1e-30, 0.9), ProductSquares(p, g)) })
			for _, root := range []bool{false, true} {
				each(func(p, g, m, v []float32) { Adafactor(p, g, v, nil, root, 0.1, 0.99, 0) })
				each(func(p, g, m, v []float32) { Adafactor(p, g, v, m, root, 0.1, 0.99, 0.9) })
			}
			ld := n/3 + 2
			each(func(p, _, _, _ []float32) {
				if w := n / 3; w > 0 {
					SumSquares(p[:w], bufs[4], ld, 3)
				}
			})
		}
	}
	return all
}

func TestBits(t *testing.T) {
	plain := func(int, []float32) {}
	odd := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 1e-40, -1e-45, 0, 1e18}
	for name, change := range map[string]func(i int, x []float32){
		"numbers": plain,
		"specials": func(i int, x []float32) {
			for j := range x {
				if (i+j)%4 == 0 {
					x[j] = odd[(i+j/4)%len(odd)]
				}
			}
		},
	} {
		want := run(cpuinfo.Portable, change)
		var first []float32
		for _, l := range cpuinfo.Levels() {
			got := run(l, change)
			if l == cpuinfo.LevelAVX2 {
				first = got
			}
			for i, w := range want {
				if first != nil && math.Float32bits(got[i]) != math.Float32bits(first[i]) {
					t.Fatalf("%s: %v: number %d is %x, with AVX2 %x", name, l, i, got[i], first[i])
				}
				if name == "numbers" && !(math.Abs(float64(got[i]-w)) <= 3e-5*math.Max(1, math.Abs(float64(w)))) {
					t.Fatalf("%v: number %d is %g, portable %g", l, i, got[i], w)
				}
				if (got[i] != got[i]) != (w != w) {
					t.Fatalf("%s: %v: number %d is %g, portable %g", name, l, i, got[i], w)
				}
			}
		}
	}
}

// TestGuards checks that nothing is written outside the operands.
func TestGuards(t *testing.T) {
	const guard = -12345
	for _, l := range cpuinfo.Levels() {
		t.Run(l.String(), func(t *testing.T) {
			defer cpuinfo.Limit(l)()
			for n := range 70 {
				bufs := make([][]float32, 4)
				for i := range bufs {
					bufs[i] = make([]float32, n+40)
					for j := range bufs[i] {
						bufs[i][j] = guard
					}
					for j := range n {
						bufs[i][7+j] = 1
					}
				}
				cut := func(i int) []float32 { return bufs[i][7:][:n:n] }
				Adam{Scale: 1, Clip: 1, Beta1: 0.9, Rest1: 0.1, Beta2: 0.9, Rest2: 0.1, Rate: 0.1, Root: 1, Decay: 1}.Update(cut(0), cut(1), cut(2), cut(3))
				SGD{Scale: 1, Clip: 1, Rate: 0.1}.Update(cut(0), cut(1), nil)
				SGD{Scale: 1, Clip: 1, Rate: 0.1, Ahead: 1}.Update(cut(0), cut(1), cut(2))
				Means(cut(3), cut(1), 1, 1, 0.5)
				Adafactor(cut(0), cut(1), cut(3), cut(2), true, 1, 1, 0.5)
				SumSquares(cut(0), cut(1), n, 1)
				for i := range bufs {
					for j, v := range bufs[i] {
						if (j < 7 || j >= 7+n) && v != guard {
							t.Fatalf("%v: n=%d: element %d outside operand %d was written", l, n, j-7, i)
						}
					}
				}
			}
		})
	}
}

func BenchmarkUpdate(b *testing.B) {
	const n = 1 << 14
	p, g, m, v := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range p {
		g[i], v[i] = float32(i), 1
	}
	for _, l := range cpuinfo.Levels() {
		for _, c := range []struct {
			name  string
			bytes int64
			run   func()
		}{
			{"adam", 28, func() { Adam{1, 1, .9, .1, .99, .01, .1, 1, 1e-8, 1, 0}.Update(p, g, m, v) }},
			{"sgd", 20, func() { SGD{1, 1, .1, 0, .9, 1, 0}.Update(p, g, m) }},
			{"adafactor", 16, func() { Adafactor(p, g, v, nil, false, .1, 1, 0) }},
		} {
			b.Run(fmt.Sprintf("%s/%v/n=%d", c.name, l, n), func(b *testing.B) {
				defer cpuinfo.Limit(l)()
				b.SetBytes(c.bytes * n)
				for b.Loop() {
					c.run()
				}
			})
		}
	}
}
