package norm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"espalier/trainer/kernel/cpuinfo"
)

// run calls every function at many lengths and offsets and returns all that
// they write and return.
func run(l cpuinfo.Level) []float32 {
	defer cpuinfo.Limit(l)()
	r := rand.New(rand.NewPCG(1, 2))
	var all []float32
	for n := range 140 {
		for _, front := range []int{0, 3} {
			bufs := make([][]float32, 6)
			for i := range bufs {
				bufs[i] = make([]float32, front+3*(n+2)+40)
				for j := range bufs[i] {
					bufs[i][j] = float32(r.NormFloat64())
				}
			}
			cut := func(i int) []float32 { return bufs[i][front:][:n:n] }
			x, y, z, out, more := cut(0), cut(1), cut(2), cut(3), cut(4)
			top := Largest(x)
			s, d := Slopes(x, y, z, 0.1)
			all = append(all, top, Sum(x), Squares(x), Dot(x, y), Deviations(x, 0.3), ExpSum(out, x, 5), ExpTotal(x, 5), Surprise(x, 5, 1), s, d)
			all = append(all, bufs[3]...)
			a1, b1 := Sums(x, y)
			a2, b2 := BothDeviations(x, y, 0.3, -0.2)
			for k, pair := range [][2]float32{{a1, Sum(x)}, {b1, Sum(y)}, {a2, Deviations(x, 0.3)}, {b2, Deviations(y, -0.2)}} {
				if math.Float32bits(pair[0]) != math.Float32bits(pair[1]) {
					panic(fmt.Sprintf("%v, n=%d: number %d of two rows at once is %g, of one %g", l, n, k, pair[0], pair[1]))
				}
			}
			Apply(out, x, y, z, 0.1, 2)
			all = append(all, bufs[3]...)
			ApplyBare(out, x, y, 0.1, 2)
			all = append(all, bufs[3]...)
			Back(out, x, y, z, 0.1, 2, 0.3, 0.4)
			all = append(all, bufs[3]...)
			Less(out, x, 1, 2)
			all = append(all, bufs[3]...)
			Share(out, x, 4, 0.3, 0.1)
			all = append(all, bufs[3]...)
			ld, a, b := n+2, bufs[0][front:], bufs[1][front:]
			SumRows(out, a, ld, 3)
			Gains(out, a, b, bufs[2], ld, 3)
			GainsAndShifts(out, more, a, b, bufs[2], ld, 3)
			all = append(append(all, bufs[3]...), bufs[4]...)
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

// TestAgainstFloat64 holds each reduction to a float64 loop.
func TestAgainstFloat64(t *testing.T) {
	for _, l := range cpuinfo.Levels() {
		t.Run(l.String(), func(t *testing.T) {
			defer cpuinfo.Limit(l)()
			r := rand.New(rand.NewPCG(3, 3))
			for n := range 300 {
				x, y := make([]float32, n), make([]float32, n)
				var sum, squares, dot, dev, exps, surprise float64
				top := math.Inf(-1)
				for i := range x {
					x[i], y[i] = float32(r.NormFloat64()), float32(r.NormFloat64())
					v := float64(x[i])
					sum += v
					squares += v * v
					dot += v * float64(y[i])
					dev += (v - 0.25) * (v - 0.25)
					exps += math.Exp(v - 6)
					surprise += 2 - (v - 6)
					top = math.Max(top, v)
				}
				for _, c := range []struct {
					name string
					got  float32
					want float64
				}{
					{"Sum", Sum(x), sum},
					{"Squares", Squares(x), squares},
					{"Dot", Dot(x, y), dot},
					{"Deviations", Deviations(x, 0.25), dev},
					{"ExpTotal", ExpTotal(x, 6), exps},
					{"Surprise", Surprise(x, 6, 2), surprise},
				} {
					if math.Abs(float64(c.got)-c.want) > 1e-6*(1+squares+math.Abs(c.want)) {
						t.Errorf("%s(n=%d) = %g, want %g", c.name, n, c.got, c.want)
					}
				}
				if got := Largest(x); float64(got) != top {
					t.Errorf("Largest(n=%d) = %g, want %g", n, got, top)
				}
			}
		})
	}
}

// TestExp holds the bound that the generator states.
func TestExp(t *testing.T) {
	var x []float32
	for v := float32(0); v > -106; v -= 1.0 / 4096 {
		x = append(x, v)
	}
	for v := float32(-1e-20); v > -1; v *= 1.01 {
		x = append(x, v)
	}
	x = append(x, float32(math.Inf(-1)), -1e30, -104, -87.33654, float32(math.NaN()), 1e-7)
	for _, l := range cpuinfo.Levels() {
		t.Run(l.String(), func(t *testing.T) {
			defer cpuinfo.Limit(l)()
			y := make([]float32, len(x))
			ExpSum(y, x, 0)
			worst := 0.0
			for i, v := range x {
				w := math.Exp(float64(v))
				switch {
				case v != v:
					if y[i] == y[i] {
						t.Errorf("%v: exp of NaN is %g", l, y[i])
					}
				default:
					_, e := math.Frexp(w)
					if u := math.Abs(float64(y[i])-w) / math.Ldexp(1, max(e-24, -149)); u > worst {
						worst = u
					}
				}
			}
			t.Logf("%v: %.2f ulp", l, worst)
			if worst > 1.02 {
				t.Errorf("%v: %.3f ulp, want at most 1.02", l, worst)
			}
		})
	}
}

func TestSpecials(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, l := range cpuinfo.Levels() {
		t.Run(l.String(), func(t *testing.T) {
			defer cpuinfo.Limit(l)()
			for n := 1; n < 70; n++ {
				x := make([]float32, n)
				for i := range x {
					x[i] = -inf
				}
				if got := Largest(x); got != -inf {
					t.Errorf("%v: maximum of -Inf is %g", l, got)
				}
				x[n/2] = nan
				if got := Largest(x); got != -inf {
					t.Errorf("%v: maximum beside NaN is %g", l, got)
				}
				if got := Sum(x); got == got {
					t.Errorf("%v: sum with NaN is %g", l, got)
				}
				x[n-1] = 3
				if got := Largest(x); got != 3 {
					t.Errorf("%v: n=%d: maximum is %g, want 3", l, n, got)
				}
			}
		})
	}
}

func BenchmarkNorm(b *testing.B) {
	for _, n := range []int{64, 512, 4096} {
		x, y, out := make([]float32, n), make([]float32, n), make([]float32, n)
		for _, l := range cpuinfo.Levels() {
			for _, c := range []struct {
				name string
				run  func()
			}{
				{"sum", func() { Sum(x) }},
				{"expSum", func() { ExpSum(out, x, 0) }},
				{"dot", func() { Dot(x, y) }},
				{"apply", func() { Apply(out, x, y, y, 0, 1) }},
			} {
				b.Run(fmt.Sprintf("%s/%v/n=%d", c.name, l, n), func(b *testing.B) {
					defer cpuinfo.Limit(l)()
					b.SetBytes(int64(4 * n))
					for b.Loop() {
						c.run()
					}
				})
			}
		}
	}
}
