package angle

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"espalier/trainer/kernel/cpuinfo"
)

// TestSincos compares all levels with package math, whose results are within a
// unit of float64's last place, and with each other to the bit.
func TestSincos(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, most := range []float64{1e-3, 1, 10, 700, 1e6} {
		for n := range 35 {
			x := make([]float64, n+1)[1:] // not on a border of 64 bytes
			for i := range x {
				x[i] = most * (2*r.Float64() - 1)
				if i%5 == 4 { // near where a result is 0
					x[i] = math.Round(x[i]) * math.Pi / 2
				}
			}
			var first []float32
			for _, l := range cpuinfo.Levels() {
				restore := cpuinfo.Limit(l)
				got := run(t, l, x)
				restore()
				if first == nil {
					first = got
				}
				for i, v := range x {
					s, c := math.Sincos(v)
					for k, want := range []float64{s, c} {
						g := got[2*i+k]
						if math.Float32bits(g) != math.Float32bits(first[2*i+k]) {
							t.Fatalf("%v: %d of %d: %g of %g, want the portable %g", l, k, n, g, v, first[2*i+k])
						}
						if near := float32(want); math.Abs(float64(g)-want) > math.Abs(float64(near)-want)+6e-16 {
							t.Fatalf("%v: %d of %d: %g of %g, want %g", l, k, n, g, v, want)
						}
					}
				}
			}
		}
	}
}

// run returns sines and cosines in turn, and looks after what lies around them.
func run(t *testing.T, l cpuinfo.Level, x []float64) []float32 {
	t.Helper()
	const guard, before, behind = -12345, 3, 20
	sin, cos := make([]float32, before+len(x)+behind), make([]float32, before+1+len(x)+behind)
	for i := range cos {
		if cos[i] = guard; i < len(sin) {
			sin[i] = guard
		}
	}
	Sincos(sin[before:], cos[before+1:], x)
	var out []float32
	for i := range x {
		out = append(out, sin[before+i], cos[before+1+i])
	}
	for _, y := range [][]float32{sin[:before], sin[before+len(x):], cos[:before+1], cos[before+1+len(x):]} {
		for i, v := range y {
			if v != guard {
				t.Fatalf("%v: of %d angles: wrote %d around them", l, len(x), i)
			}
		}
	}
	return out
}

func TestBoth(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	worst := 0.0
	for range 1_000_000 {
		v := math.Exp(r.Float64()*20-6) * (2*r.Float64() - 1) // up to 1e6
		s, c := both(v)
		a, b := math.Sincos(v)
		worst = max(worst, math.Abs(s-a), math.Abs(c-b))
	}
	if t.Logf("worst error %g", worst); worst > 5e-16 {
		t.Errorf("an error of %g, want at most 5e-16", worst)
	}
}

func TestSincosSpecials(t *testing.T) {
	inf := math.Inf(1)
	x := []float64{math.NaN(), inf, -inf, 0, math.Copysign(0, -1), 5e-324, 1e300, -1e300, 1e19, -1e19, 1 << 52, 3 << 51, -3 << 51, math.MaxFloat64, math.Pi, math.Pi / 2}
	first := make([]float32, 0, 2*len(x))
	for _, l := range cpuinfo.Levels() {
		restore := cpuinfo.Limit(l)
		got := run(t, l, x)
		restore()
		if l == cpuinfo.Portable {
			first = got
		}
		for i, g := range got {
			v := x[i/2]
			switch bad := v != v || math.IsInf(v, 0); {
			case bad != (g != g) && math.Abs(v) < 1e6 || bad && g == g:
				t.Errorf("%v: %g of %g", l, g, v)
			case g == g && math.Float32bits(g) != math.Float32bits(first[i]), (g == g) != (first[i] == first[i]):
				t.Errorf("%v: %g of %g, portable %g", l, g, v, first[i])
			}
		}
		if got[6] != 0 || got[7] != 1 || got[8] != 0 || got[9] != 1 {
			t.Errorf("%v: sine and cosine of 0 and -0: %v", l, got[6:10])
		}
	}
}

func BenchmarkSincos(b *testing.B) {
	x := make([]float64, 32)
	for i := range x {
		x[i] = float64(i * 20)
	}
	sin, cos := make([]float32, 32), make([]float32, 32)
	for _, l := range cpuinfo.Levels() {
		b.Run(fmt.Sprintf("%v/n=32", l), func(b *testing.B) {
			defer cpuinfo.Limit(l)()
			b.SetBytes(8 * 32)
			for b.Loop() {
				Sincos(sin, cos, x)
			}
		})
	}
}
