package finish

import (
	"math"
	"math/rand/v2"
	"testing"

	"espalier/trainer/kernel/cpuinfo"
)

var nan, inf = float32(math.NaN()), float32(math.Inf(1))

// run calls both functions at many lengths and returns all that they write,
// guard numbers included.
func run(l cpuinfo.Level) (all []float32) {
	defer cpuinfo.Limit(l)()
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 140 {
		take := func() []float32 {
			x := make([]float32, n+40)
			for i := range x {
				x[i] = float32(r.NormFloat64())
				switch r.IntN(30) {
				case 0:
					x[i] = nan
				case 1:
					x[i] = inf
				case 2:
					x[i] = -inf
				case 3:
					x[i] = 0
				}
			}
			return x
		}
		x, bias, residual := take(), take(), take()
		ReLU(x[:n], bias)
		all = append(all, x...)
		x = take()
		AddReLU(x[:n], bias, residual)
		all = append(all, x...)
	}
	return all
}

func TestBits(t *testing.T) {
	want := run(cpuinfo.Portable)
	for _, l := range cpuinfo.Levels() {
		for i, v := range run(l) {
			if w := want[i]; math.Float32bits(v) != math.Float32bits(w) && (v == v || w == w) {
				t.Fatalf("%v: number %d is %g, portable %g", l, i, v, w)
			}
		}
	}
}

func TestValues(t *testing.T) {
	x := []float32{1, -3, 2, nan}
	AddReLU(x, []float32{1, 1, -4, 1}, []float32{-0.5, 1, 3, 1})
	if x[0] != 1.5 || x[1] != 0 || x[2] != 1 || x[3] == x[3] {
		t.Errorf("AddReLU gives %v", x)
	}
	y := []float32{1, -3, -inf}
	ReLU(y, []float32{1, 1, inf})
	if y[0] != 2 || y[1] != 0 || y[2] == y[2] {
		t.Errorf("ReLU gives %v", y)
	}
}

func BenchmarkAddReLU(b *testing.B) {
	for _, l := range cpuinfo.Levels() {
		b.Run(l.String(), func(b *testing.B) {
			defer cpuinfo.Limit(l)()
			x, bias, residual := make([]float32, 1024), make([]float32, 1024), make([]float32, 1024)
			b.SetBytes(3 * 4096)
			for b.Loop() {
				AddReLU(x, bias, residual)
			}
		})
	}
}
