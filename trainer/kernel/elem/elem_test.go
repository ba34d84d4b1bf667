package elem

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"espalier/trainer/kernel/cpuinfo"
)

func eachLevel(t *testing.T, f func(t *testing.T)) {
	for _, l := range cpuinfo.Levels() {
		t.Run(l.String(), func(t *testing.T) {
			defer cpuinfo.Limit(l)()
			f(t)
		})
	}
}

// sample is float32 over all exponents, both signs, and the special ones.
func sample(n int) []float32 {
	r := rand.New(rand.NewPCG(5, 6))
	x := []float32{
		0, float32(math.Copysign(0, -1)), float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()),
		1, -1, 1e-45, -1e-45, 1.1754944e-38, 3.4028235e38, -3.4028235e38, 88.72284, 88.7228, -87.33654, -87.4, -103.9, -104.1,
	}
	for len(x) < n {
		if len(x)%2 == 0 {
			x = append(x, math.Float32frombits(r.Uint32()))
		} else {
			x = append(x, float32(r.NormFloat64()*8))
		}
	}
	return x
}

// ulps is how far got is from want in units of want's last place.
func ulps(got float32, want float64) float64 {
	w := float32(want)
	if got == w || got != got && want != want {
		return 0
	}
	if math.IsInf(float64(w), 0) || got != got || want != want || math.IsInf(float64(got), 0) {
		return math.Inf(1)
	}
	_, e := math.Frexp(want)
	return math.Abs(float64(got)-want) / math.Ldexp(1, max(e-24, -149))
}

// TestApply holds the bounds of the package doc.
func TestApply(t *testing.T) {
	x := sample(1 << 20)
	eachLevel(t, func(t *testing.T) {
		y := make([]float32, len(x))
		for _, c := range []struct {
			name string
			f    Func
			ulps float64 // 0: absolute bound
		}{
			{"ReLU", ReLU, 0},
			{"Tanh", Tanh, 3},
			{"Sigmoid", Sigmoid, 3},
			{"SiLU", SiLU, 0},
			{"QuickGELU", QuickGELU, 0},
			{"GELUTanh", GELUTanh, 0},
			{"GELUErf", GELUErf, 0},
		} {
			Apply(c.f, y, x)
			worst, at := 0.0, float32(0)
			for i, v := range x {
				w := exact(c.f, float64(v))
				var e float64
				switch {
				case w != w:
					if y[i] == y[i] {
						t.Errorf("%s(%g) = %g, want NaN", c.name, v, y[i])
					}
				case math.IsInf(float64(float32(w)), 0):
					if y[i] != float32(w) {
						t.Errorf("%s(%g) = %g, want %g", c.name, v, y[i], w)
					}
				case c.ulps == 0:
					e = math.Abs(float64(y[i])-w) / math.Max(1, math.Abs(w))
				case math.Abs(w) > 0x1p-126 || w == 0:
					e = ulps(y[i], w)
				}
				if e != e || e > worst {
					worst, at = e, v
				}
			}
			t.Logf("%s: %.2g at %g", c.name, worst, at)
			if bound := max(c.ulps, 4e-7); !(worst <= bound) {
				t.Errorf("%s: error %.2g at %g, want at most %g", c.name, worst, at, bound)
			}
		}
	})
}

func logistic1(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// exact is f in float64.
func exact(f Func, x float64) float64 {
	switch f {
	case ReLU:
		return math.Max(x, 0)
	case GELUTanh:
		return x * logistic1(2*math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))
	case GELUErf:
		return x * math.Erfc(-x/math.Sqrt2) / 2
	case QuickGELU:
		return x * logistic1(float64(float32(1.702))*x)
	case SiLU:
		return x * logistic1(x)
	case Tanh:
		return math.Tanh(x)
	case Sigmoid:
		return logistic1(x)
	}
	return math.NaN()
}

func TestLogFloor(t *testing.T) {
	x := sample(1 << 20)
	eachLevel(t, func(t *testing.T) {
		y := make([]float32, len(x))
		LogFloor(y, x, float32(math.Inf(-1)))
		worst := 0.0
		for i, v := range x {
			w := math.Log(float64(v))
			if u := ulps(y[i], w); u > 1 {
				t.Fatalf("log(%g) = %g, want %g", v, y[i], w)
			} else {
				worst = max(worst, u)
			}
		}
		t.Logf("%.2f ulp", worst)
	})
}

// TestBits checks that every instruction set of class amd64 gives the same bits
// at every length and offset and writes nothing else.
func TestBits(t *testing.T) {
	if !cpuinfo.AVX2 {
		t.Skip("one instruction set")
	}
	run := func(l cpuinfo.Level) []float32 {
		defer cpuinfo.Limit(l)()
		r := rand.New(rand.NewPCG(1, 2))
		var all []float32
		for n := range 70 {
			for _, front := range []int{0, 1, 7} {
				args := make([][]float32, 3)
				for i := range args {
					args[i] = make([]float32, front+n+20)
					for j := range args[i] {
						args[i][j] = float32(r.NormFloat64())
					}
				}
				cut := func(i int) []float32 { return args[i][front:][:n:n] }
				x, y, out := cut(0), cut(1), cut(2)
				Add(out, x, y)
				Mul(out, out, y)
				Axpy(out, x, 0.3)
				Scale(out, out, 1.1)
				all = append(all, args[2]...)
				for f := ReLU; f <= Sigmoid; f++ {
					Apply(f, out, x)
					all = append(all, args[2]...)
					ApplyBack(f, out, y, x)
					all = append(all, args[2]...)
				}
				LogFloor(out, x, 0.01)
				all = append(all, args[2]...)
				LogFloorBack(out, y, x, 0.01)
				all = append(all, args[2]...)
				Drop(out, x, 1<<32-20, Mask{K0: 1, K1: 2, Below: 1 << 31, Scale: 2})
				all = append(all, args[2]...)
			}
		}
		return all
	}
	want := run(cpuinfo.LevelAVX2)
	for _, l := range cpuinfo.Levels() {
		got := run(l)
		for i, w := range want {
			if l != cpuinfo.Portable && math.Float32bits(got[i]) != math.Float32bits(w) {
				t.Fatalf("%v: number %d is %x, with AVX2 %x", l, i, got[i], w)
			}
			if math.Abs(float64(got[i]-w)) > 2e-5*math.Max(1, math.Abs(float64(w))) {
				t.Fatalf("%v: number %d is %g, with AVX2 %g", l, i, got[i], w)
			}
		}
	}
}

func TestDropCrossesWords(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		const from = 5<<32 - 37
		m := Mask{K0: 123, K1: 456, Below: 1 << 31, Scale: 2}
		x, whole, parts := make([]float32, 100), make([]float32, 100), make([]float32, 100)
		for i := range x {
			x[i] = 1
		}
		Drop(whole, x, from, m)
		for i := range x {
			Drop(parts[i:i+1], x[i:i+1], from+uint64(i), m)
		}
		kept := 0
		for i := range x {
			if whole[i] != parts[i] {
				t.Errorf("element %d depends on where the call starts", i)
			}
			kept += int(whole[i] / 2)
		}
		if kept < 30 || kept > 70 {
			t.Errorf("%d of 100 kept", kept)
		}
	})
}

func BenchmarkElem(b *testing.B) {
	const n = 1 << 14
	r := rand.New(rand.NewPCG(1, 1))
	x, y, out := make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range x {
		x[i], y[i] = float32(r.NormFloat64()), float32(r.NormFloat64())
	}
	for _, l := range cpuinfo.Levels() {
		for _, c := range []struct {
			name  string
			bytes int64
			run   func()
		}{
			{"add", 12, func() { Add(out, x, y) }},
			{"geluTanh", 8, func() { Apply(GELUTanh, out, x) }},
			{"geluErf", 8, func() { Apply(GELUErf, out, x) }},
			{"tanh", 8, func() { Apply(Tanh, out, x) }},
			{"geluTanhBack", 12, func() { ApplyBack(GELUTanh, out, y, x) }},
			{"drop", 8, func() { Drop(out, x, 0, Mask{1, 2, 1 << 31, 2}) }},
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

// TestSigns compares with the slope of ReLU at the numbers themselves, bit by
// bit, for every length around a word.
func TestSigns(t *testing.T) {
	x, dy := sample(300), sample(311)[11:]
	eachLevel(t, func(t *testing.T) {
		for n := range x {
			bits := make([]uint32, (n+31)/32+1)
			for i := range bits {
				bits[i] = 0xdeadbeef
			}
			Signs(bits, x[:n])
			if bits[len(bits)-1] != 0xdeadbeef {
				t.Fatalf("n=%d: wrote behind the bits", n)
			}
			for i, v := range x[:n] {
				if got, want := bits[i/32]>>(i%32)&1 == 1, v > 0; got != want {
					t.Errorf("n=%d: sign of %g is %v", n, v, got)
				}
			}
			got, want := make([]float32, n+1), make([]float32, n)
			got[n] = 7
			KeepSigns(got[:n], dy, bits)
			ApplyBack(ReLU, want, dy[:n], x[:n])
			for i, w := range want {
				if math.Float32bits(got[i]) != math.Float32bits(w) && (got[i] == got[i] || w == w) {
					t.Errorf("n=%d: gradient %g at %g is %g, want %g", n, dy[i], x[i], got[i], w)
				}
			}
			if got[n] != 7 {
				t.Fatalf("n=%d: wrote behind the gradient", n)
			}
		}
	})
}
