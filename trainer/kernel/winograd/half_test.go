package winograd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"espalier/trainer/kernel/cpuinfo"
)

// hard draws numbers of all sizes, denormals, infinities and NaN among them.
func hard(r *rand.Rand) float32 {
	switch r.IntN(8) {
	case 0:
		return math.Float32frombits(r.Uint32())
	case 1:
		return math.Float32frombits(r.Uint32() & 0x80ffffff) // small or denormal
	case 2:
		return 0
	}
	return float32(r.NormFloat64())
}

// runHalf is run for the transforms of bfloat16 numbers.
func runHalf(draw func(*rand.Rand) float32) map[string][]uint16 {
	r := rand.New(rand.NewPCG(7, 8))
	got := map[string][]uint16{}
	room := func(n int) (room, all []uint16) {
		all = make([]uint16, guard+n+guard)
		for i := range all {
			all[i] = 1234
		}
		return all[guard : guard+n : guard+n], all
	}
	for n := 1; n < 70; n++ {
		for _, more := range []int{0, 3} {
			pixel, row, step := n+more, 4*(n+more)+more, n+2*more
			in := make([]uint16, 3*row+3*pixel+n)
			for i := range in {
				in[i] = uint16(math.Float32bits(draw(r)) >> 16)
			}
			out, all := room(15*step + n)
			InputHalf(out, step, in, row, pixel, n)
			got[fmt.Sprintf("InputHalf %d+%d", n, more)] = all
			wide, bias := make([]float32, 15*step+n), make([]float32, n)
			for i := range wide {
				wide[i] = draw(r)
			}
			for i := range bias {
				bias[i] = draw(r)
			}
			out, all = room(row + pixel + n)
			OutputHalf(out, row, pixel, wide, step, bias, n)
			got[fmt.Sprintf("OutputHalf %d+%d", n, more)] = all
		}
	}
	return got
}

// nan reports a bfloat16 NaN. Which of two NaNs a sum passes on is not said.
func nan(h uint16) bool { return h&0x7fff > 0x7f80 }

func TestHalfBits(t *testing.T) {
	for _, draw := range []func(*rand.Rand) float32{hard, func(r *rand.Rand) float32 { return float32(r.NormFloat64()) }} {
		restore := cpuinfo.Limit(cpuinfo.Portable)
		want := runHalf(draw)
		restore()
		check := func(name string) {
			for what, x := range runHalf(draw) {
				for i, v := range x {
					if w := want[what][i]; v != w && !(nan(v) && nan(w)) {
						t.Fatalf("%s: %s: number %d is %04x, portable %04x", name, what, i, v, w)
					}
					if (i < guard || i >= len(x)-guard) && v != 1234 {
						t.Fatalf("%s: %s writes beyond its room", name, what)
					}
				}
			}
		}
		for _, l := range cpuinfo.Levels() {
			restore := cpuinfo.Limit(l)
			check(l.String())
			if cpuinfo.BF16 {
				cpuinfo.BF16 = false
				check(l.String() + " without bfloat16")
				cpuinfo.BF16 = true
			}
			restore()
		}
	}
}

// Transforms of bfloat16 numbers are those of float32 ones, rounded.
func TestHalfRounds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const n = 21
	in, wide := make([]uint16, 16*n), make([]float32, 16*n)
	for i := range in {
		in[i] = half(float32(r.NormFloat64()))
		wide[i] = widen(in[i])
	}
	var got [16 * n]uint16
	var want [16 * n]float32
	InputHalf(got[:], n, in, 4*n, n, n)
	Input(want[:], n, wide, 4*n, n, n)
	for i, v := range want {
		if got[i] != half(v) {
			t.Fatalf("InputHalf: number %d is %04x, want %g rounded", i, got[i], v)
		}
	}
	bias := randn(r, n)
	var half4 [4 * n]uint16
	var want4 [4 * n]float32
	OutputHalf(half4[:], 2*n, n, wide, n, bias, n)
	Output(want4[:], 2*n, n, wide, n, n)
	for i, v := range want4 {
		if w := half(max(v+bias[i%n], 0)); half4[i] != w {
			t.Fatalf("OutputHalf: number %d is %04x, want %04x", i, half4[i], w)
		}
	}
	if slices.Max(half4[:]) == 0 {
		t.Error("OutputHalf gives zeros only")
	}
}

func BenchmarkHalf(b *testing.B) {
	const n = 256
	in, out, wide, bias := make([]uint16, 16*n), make([]uint16, 16*n), make([]float32, 16*n), make([]float32, n)
	b.Run("input", func(b *testing.B) {
		for b.Loop() {
			InputHalf(out, n, in, 4*n, n, n)
		}
	})
	b.Run("output", func(b *testing.B) {
		for b.Loop() {
			OutputHalf(out, 2*n, n, wide, n, bias, n)
		}
	})
}
