package cpu

import (
	"fmt"
	"math"
	"testing"

	"espalier/trainer/kernel/cpuinfo"
	"espalier/trainer/op"
	"espalier/trainer/op/optest"
	"espalier/trainer/tensor"
)

func TestDevice(t *testing.T) {
	for _, l := range cpuinfo.Levels() {
		for _, threads := range []int{1, 7} {
			if threads == 1 && l != cpuinfo.Best() {
				continue // TestBits compares numbers of threads
			}
			t.Run(fmt.Sprintf("%v/threads=%d", l, threads), func(t *testing.T) {
				defer cpuinfo.Limit(l)()
				optest.Run(t, func() op.Device { return New(threads) })
			})
		}
	}
}

// TestBits checks that a numerics class has one set of bits, whatever the
// number of threads and the instruction set.
func TestBits(t *testing.T) {
	first := map[string][]optest.Digest{}
	for _, l := range cpuinfo.Levels() {
		for _, threads := range []int{1, 2, 7} {
			t.Run(fmt.Sprintf("%v/threads=%d", l, threads), func(t *testing.T) {
				defer cpuinfo.Limit(l)()
				d := New(threads)
				defer d.Close()
				got := optest.Digests(d)
				if first[d.Numerics()] == nil {
					first[d.Numerics()] = got
				}
				optest.Same(t, got, first[d.Numerics()])
			})
		}
	}
}

func TestStdNormEqualsORT(t *testing.T) {
	d := New(1)
	defer d.Close()
	x, y := d.Alloc(tensor.Float32, 1, 4), d.Alloc(tensor.Float32, 1, 4)
	gain := d.Keep(tensor.Float32, 4)
	d.Write(gain, []float32{1, 1, 1, 1})
	d.Write(x, []float32{1, 2, 3, 4})
	d.Norm(y, tensor.Tensor{}, x, gain, tensor.Tensor{}, op.Norm{Kind: op.StdNorm, Eps: 1e-6})
	for i, want := range []float32{-1.161894, -0.387298, 0.387298, 1.161894} {
		if got := Floats(y)[i]; math.Abs(float64(got-want)) > 1e-6 {
			t.Errorf("element %d: %g, want %g", i, got, want)
		}
	}
}

func TestHalfRoundTrip(t *testing.T) {
	for h := range 1 << 16 {
		x := fromF16(uint16(h))
		if x != x {
			continue
		}
		if got := toF16(x); got != uint16(h) {
			t.Fatalf("float16 %#04x becomes %g, then %#04x", h, x, got)
		}
		if h == 0x7bff || h&0x7fff >= 0x7c00 {
			continue
		}
		// Half way to the next one in magnitude goes to the even one, a bit more goes up.
		next := fromF16(uint16(h) + 1)
		half := x + (next-x)/2
		want := uint16(h) + uint16(h)&1
		if got := toF16(half); got != want {
			t.Fatalf("%g between %#04x and the next becomes %#04x, want %#04x", half, h, got, want)
		}
	}
	for _, c := range []struct {
		x    float32
		want uint16
	}{{1, 0x3f80}, {1.00390625, 0x3f80}, {1.01171875, 0x3f82}, {float32(math.Inf(1)), 0x7f80}, {3.4e38, 0x7f80}} {
		if got := toBF16(c.x); got != c.want {
			t.Errorf("bfloat16 of %g is %#04x, want %#04x", c.x, got, c.want)
		}
	}
	if got := toBF16(float32(math.NaN())); got&0x7fff <= 0x7f80 {
		t.Errorf("bfloat16 of NaN is %#04x", got)
	}
}
