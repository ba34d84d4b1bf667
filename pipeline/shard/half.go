package shard

import "math"

// Half returns the float16 nearest to f, ties to even: IEEE 754's
// convertFormat. Values beyond 65,504 by half a step become infinite; a NaN
// keeps its sign and the top of its payload and becomes quiet.
func Half(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b >> 16 & 0x8000)
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		return sign | 0x7e00 | uint16(b>>13&0x1ff)
	case b >= 0x477ff000: // 65,520 and more, infinity
		return sign | 0x7c00
	case b >= 0x38800000: // normal in float16: 2^-14 and more
		b -= 112 << 23
		return sign | uint16((b+0xfff+b>>13&1)>>13)
	case b <= 0x33000000: // 2^-25 and less round to zero
		return sign
	}
	// Subnormal: the significand in units of 2^-24.
	shift := 126 - b>>23
	m := b&0x7fffff | 0x800000
	half, rest := m>>shift, m<<(32-shift)
	if rest > 1<<31 || rest == 1<<31 && half&1 == 1 {
		half++
	}
	return sign | uint16(half)
}

// Float returns the value of a float16, exactly.
func Float(h uint16) float32 {
	sign, rest := uint32(h&0x8000)<<16, uint32(h&0x7fff)
	switch {
	case rest >= 0x7c00:
		return math.Float32frombits(sign | rest<<13 | 0x7f800000)
	case rest >= 0x400:
		return math.Float32frombits(sign | (rest<<13 + 112<<23))
	}
	f := float32(rest) * 0x1p-24
	return math.Float32frombits(sign | math.Float32bits(f))
}

func floats(dst []float32, src []byte) {
	src = src[:2*len(dst)]
	for i := range dst {
		dst[i] = Float(uint16(src[2*i]) | uint16(src[2*i+1])<<8)
	}
}
