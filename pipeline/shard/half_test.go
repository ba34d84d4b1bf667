package shard

import (
	"math"
	"math/big"
	"testing"
)

// halfValue is the definition: (-1)^s * 2^(e-15) * (1 + m/1024), and 2^-14 *
// m/1024 below.
func halfValue(h uint16) float64 {
	e, m := int(h>>10&31), float64(h&1023)
	v := math.Ldexp(1+m/1024, e-15)
	switch {
	case e == 0:
		v = math.Ldexp(m/1024, -14)
	case e == 31 && m == 0:
		v = math.Inf(1)
	case e == 31:
		return math.NaN()
	}
	if h>>15 == 1 {
		v = math.Copysign(v, -1)
	}
	return v
}

func TestFloatOfEveryHalf(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		got, want := Float(h), halfValue(h)
		if math.IsNaN(want) {
			if got == got {
				t.Fatalf("Float(%#04x) = %g, want NaN", h, got)
			}
			continue
		}
		if float64(got) != want || math.Signbit(float64(got)) != math.Signbit(want) {
			t.Fatalf("Float(%#04x) = %g, want %g", h, got, want)
		}
		if back := Half(got); back != h {
			t.Fatalf("Half(Float(%#04x)) = %#04x", h, back)
		}
	}
}

// TestHalfRounds holds Half against exact arithmetic around every float16 and
// every midpoint between two neighbours.
func TestHalfRounds(t *testing.T) {
	for i := range 0x7c00 {
		lo := uint16(i)
		a, b := halfValue(lo), halfValue(lo+1)
		if lo == 0x7bff {
			b = 65536 // where the next one would be
		}
		mid := float32((a + b) / 2) // exact
		even := lo + lo&1
		for _, c := range []struct {
			f    float32
			want uint16
		}{
			{float32(a), lo},
			{mid, even},
			{math.Nextafter32(mid, 0), lo},
			{math.Nextafter32(mid, float32(math.Inf(1))), lo + 1},
			{math.Nextafter32(float32(a), float32(math.Inf(1))), lo},
		} {
			if got := Half(c.f); got != c.want {
				t.Fatalf("Half(%g) = %#04x, want %#04x", c.f, got, c.want)
			}
			if got := Half(-c.f); got != c.want|0x8000 {
				t.Fatalf("Half(%g) = %#04x, want %#04x", -c.f, got, c.want|0x8000)
			}
		}
		if x := new(big.Float).SetFloat64((a + b) / 2); x.MinPrec() > 24 {
			t.Fatalf("midpoint above %#04x is no float32: the test is wrong", lo)
		}
	}
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		f    float32
		want uint16
	}{
		{inf, 0x7c00},
		{-inf, 0xfc00},
		{65519.996, 0x7bff},
		{65520, 0x7c00},
		{1e38, 0x7c00},
		{math.SmallestNonzeroFloat32, 0},
		{0x1p-25, 0},
		{0x1.000002p-25, 1},
		{float32(math.Copysign(0, -1)), 0x8000},
	} {
		if got := Half(c.f); got != c.want {
			t.Errorf("Half(%g) = %#04x, want %#04x", c.f, got, c.want)
		}
	}
	for _, bits := range []uint32{0x7f800001, 0x7fc00000, 0xffffffff, 0x7fbfffff} {
		h := Half(math.Float32frombits(bits))
		if h&0x7c00 != 0x7c00 || h&0x3ff == 0 || uint32(h&0x8000)<<16 != bits&0x80000000 {
			t.Errorf("Half of NaN %#x = %#04x, want a NaN of its sign", bits, h)
		}
	}
}

func BenchmarkFloats(b *testing.B) {
	src := make([]byte, 2*49*2048)
	dst := make([]float32, 49*2048)
	for i := range dst {
		h := Half(float32(i%100) / 7)
		src[2*i], src[2*i+1] = byte(h), byte(h>>8)
	}
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		floats(dst, src)
	}
}
