package winograd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"espalier/trainer/kernel/cpuinfo"
)

func randn(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

const guard = 40

// guarded returns room for n numbers between guard numbers, and all of it.
func guarded(n int) (room, all []float32) {
	all = make([]float32, guard+n+guard)
	for i := range all {
		all[i] = 1234
	}
	return all[guard : guard+n : guard+n], all
}

// run calls every transform at many lengths and strides and returns all that
// they write, guard numbers included.
func run(l cpuinfo.Level) map[string][]float32 {
	defer cpuinfo.Limit(l)()
	r := rand.New(rand.NewPCG(1, 2))
	got := map[string][]float32{}
	for n := 1; n < 70; n++ {
		for _, more := range []int{0, 3} {
			pixel, row, step := n+more, 4*(n+more)+more, n+2*more
			in := randn(r, 3*row+3*pixel+n)
			out, all := guarded(15*step + n)
			Input(out, step, in, row, pixel, n)
			got[fmt.Sprintf("Input %d+%d", n, more)] = all
			in = randn(r, 15*step+n)
			out, all = guarded(row + pixel + n)
			Output(out, row, pixel, in, step, n)
			got[fmt.Sprintf("Output %d+%d", n, more)] = all
		}
	}
	return got
}

func TestBits(t *testing.T) {
	want := run(cpuinfo.Portable)
	for _, l := range cpuinfo.Levels() {
		for name, x := range run(l) {
			for i, v := range x {
				if math.Float32bits(v) != math.Float32bits(want[name][i]) {
					t.Fatalf("%v: %s: number %d is %g, portable %g", l, name, i, v, want[name][i])
				}
				if (i < guard || i >= len(x)-guard) && v != 1234 {
					t.Fatalf("%v: %s writes beyond its room", l, name)
				}
			}
		}
	}
}

// A tile of the output is the definition's.
func TestTile(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const n = 20
	g, d := randn(r, 9*n), randn(r, 16*n)
	var u, v [Places * n]float32
	Filter(u[:], g, n, 0, 7)
	Filter(u[:], g, n, 7, n)
	Input(v[:], n, d, 4*n, n, n)
	var m [Places]float32
	for p := range m {
		for c := range n {
			m[p] += u[p*n+c] * v[p*n+c]
		}
	}
	var out [4]float32
	Output(out[:], 2, 1, m[:], 1, 1)
	for y := range 2 {
		for x := range 2 {
			want := 0.0
			for i := range 3 {
				for j := range 3 {
					for c := range n {
						want += float64(g[(3*i+j)*n+c]) * float64(d[(4*(y+i)+x+j)*n+c])
					}
				}
			}
			if got := float64(out[2*y+x]); math.Abs(got-want) > 2e-5 {
				t.Errorf("pixel %d, %d is %g, want %g", y, x, got, want)
			}
		}
	}
}

func BenchmarkInput(b *testing.B) {
	for _, l := range cpuinfo.Levels() {
		b.Run(l.String(), func(b *testing.B) {
			defer cpuinfo.Limit(l)()
			in, out := make([]float32, 16*256), make([]float32, 16*256)
			b.SetBytes(4 * 16 * 256)
			for b.Loop() {
				Input(out, 256, in, 1024, 256, 256)
			}
		})
	}
}

func BenchmarkOutput(b *testing.B) {
	for _, l := range cpuinfo.Levels() {
		b.Run(l.String(), func(b *testing.B) {
			defer cpuinfo.Limit(l)()
			in, out := make([]float32, 16*256), make([]float32, 4*256)
			b.SetBytes(4 * 16 * 256)
			for b.Loop() {
				Output(out, 512, 256, in, 256, 256)
			}
		})
	}
}
