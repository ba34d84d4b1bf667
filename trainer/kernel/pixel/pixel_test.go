package pixel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"espalier/trainer/kernel/cpuinfo"
)

// lengths are every small one, and some around whole vectors.
var lengths = func() []int {
	var all []int
	for n := 2; n < 140; n++ {
		all = append(all, n)
	}
	return append(all, 319, 320, 321, 640)
}()

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
		if r.IntN(8) == 0 {
			b[i] = byte(255 * r.IntN(2))
		}
	}
	return b
}

// guarded returns room for n bytes between guard bytes, and all of it.
func guarded(n int) (room, all []byte) {
	const guard = 40
	all = make([]byte, guard+n+guard)
	for i := range all {
		all[i] = 0xa5
	}
	return all[guard : guard+n : guard+n], all
}

// run calls every function on the same numbers and returns all that they
// write, guard bytes included.
func run(l cpuinfo.Level) map[string][]byte {
	defer cpuinfo.Limit(l)()
	r := rand.New(rand.NewPCG(1, 2))
	got := map[string][]byte{}
	for _, n := range lengths {
		a, b, c := randomBytes(r, n), randomBytes(r, n), randomBytes(r, n)
		note := func(name string, room int, f func(out []byte)) {
			out, all := guarded(room)
			f(out)
			got[fmt.Sprintf("%s of %d", name, n)] = all
		}
		note("DoubleRow", 2*n, func(out []byte) { DoubleRow(out, a) })
		note("DoubleRows", 2*n, func(out []byte) { DoubleRows(out, a, b) })
		note("Colours", 3*n, func(out []byte) { Colours(out, a, b, c) })
		taps := 1 + r.IntN(12)
		weight := make([]int32, taps)
		for i := range weight {
			weight[i] = int32(r.IntN(2<<22)) - 1<<21
		}
		in := randomBytes(r, (taps-1)*(n+5)+n)
		note("Down", n, func(out []byte) { Down(out, in, n+5, weight) })
		first, weights := make([]int32, n), make([]int32, n*taps)
		for i := range first {
			first[i] = int32(r.IntN(50))
			for j := range taps - r.IntN(taps) {
				weights[i*taps+j] = int32(r.IntN(2<<22)) - 1<<21
			}
		}
		row := randomBytes(r, 3*(50+taps)+40)
		t := NewTaps(first, weights, taps)
		note("Across", 3*n, func(out []byte) { Across(out, row, t) })
		short := row[: 3*(50+taps) : 3*(50+taps)]
		note("Across to the end", 3*n, func(out []byte) { Across(out, short, t) })
	}
	for i := range 4000 {
		var co, q [64]int16
		for range 1 + r.IntN(30) {
			at := r.IntN(64)
			if i%5 == 0 {
				at &= 7
			}
			co[at] = int16(r.IntN(801) - 400)
			if i%3 == 0 {
				co[at] = int16(r.Uint32()) // far more than a picture gives
			}
		}
		for at := range q {
			q[at] = int16(1 + r.IntN(3))
			if i%7 == 0 {
				q[at] = int16(r.Uint32())
			}
		}
		out, all := guarded(7*11 + 8)
		Inverse(out, 11, &co, &q)
		if co != [64]int16{} {
			panic("the block was not cleared")
		}
		got[fmt.Sprintf("block %d", i)] = all
	}
	return got
}

func TestBits(t *testing.T) {
	want := run(cpuinfo.Portable)
	for name, b := range want {
		if !slices.Equal(b[:40], slices.Repeat([]byte{0xa5}, 40)) || !slices.Equal(b[len(b)-40:], slices.Repeat([]byte{0xa5}, 40)) {
			t.Fatalf("%s writes beyond its room", name)
		}
	}
	for _, l := range cpuinfo.Levels() {
		got := run(l)
		for name, b := range want {
			if !slices.Equal(got[name], b) {
				t.Fatalf("%v: %s differs from the plain loop: %v, want %v", l, name, got[name], b)
			}
		}
	}
}

// A flat block is what the whole transform makes of it.
func TestFlat(t *testing.T) {
	q := [64]int16{1}
	for v := -32768; v < 32768; v += 7 {
		co := [64]int16{int16(v)}
		var got, want [64]byte
		Flat(got[:], 8, int16(v))
		Inverse(want[:], 8, &co, &q)
		if got != want {
			t.Fatalf("flat block of %d is %d, the transform gives %d", v, got[0], want[0])
		}
	}
}

// The transform that leaves out zeros agrees with the one that wraps and
// saturates, wherever nothing does.
func TestNarrowBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	q := [64]int16{}
	for i := range q {
		q[i] = 1
	}
	for range 2000 {
		var co [64]int16
		var wide [64]int32
		total := int32(0)
		for range 1 + r.IntN(20) {
			i, v := r.IntN(64), int16(r.IntN(801)-400)
			total += abs(int32(v)) - abs(int32(co[i]))
			co[i], wide[i] = v, int32(v)
		}
		if total > narrow {
			continue
		}
		var x, y [64]byte
		inverseGeneric(x[:], 8, &co, &q)
		inverseWide(&wide, false, y[:], 8)
		if x != y {
			t.Fatalf("samples differ: %v, %v", x, y)
		}
	}
}

// Colours of the corners and of grey.
func TestColours(t *testing.T) {
	for _, c := range []struct{ y, b, r, red, green, blue byte }{
		{0, 128, 128, 0, 0, 0}, {255, 128, 128, 255, 255, 255}, {76, 85, 255, 254, 0, 0}, {150, 44, 21, 0, 255, 1}, {29, 255, 107, 0, 0, 254},
	} {
		if r, g, b := Colour(c.y, c.b, c.r); r != c.red || g != c.green || b != c.blue {
			t.Errorf("Colour(%d, %d, %d) = %d, %d, %d, want %d, %d, %d", c.y, c.b, c.r, r, g, b, c.red, c.green, c.blue)
		}
	}
}

func BenchmarkInverse(b *testing.B) {
	for _, l := range cpuinfo.Levels() {
		b.Run(l.String(), func(b *testing.B) {
			defer cpuinfo.Limit(l)()
			var co, q [64]int16
			for i := range q {
				q[i] = 3
			}
			var out [64]byte
			b.SetBytes(64)
			for b.Loop() {
				co[0], co[1], co[8], co[9], co[2] = 100, 20, -30, 4, 2
				Inverse(out[:], 8, &co, &q)
			}
		})
	}
}

func BenchmarkColours(b *testing.B) {
	for _, l := range cpuinfo.Levels() {
		b.Run(l.String(), func(b *testing.B) {
			defer cpuinfo.Limit(l)()
			r := rand.New(rand.NewPCG(1, 2))
			y, u, v := randomBytes(r, 640), randomBytes(r, 640), randomBytes(r, 640)
			out := make([]byte, 3*640)
			b.SetBytes(640)
			for b.Loop() {
				Colours(out, y, u, v)
			}
		})
	}
}
