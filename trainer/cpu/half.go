package cpu

import "math"

// toBF16 rounds to the nearest bfloat16, ties to even; a NaN stays one.
func toBF16(x float32) uint16 {
	b := math.Float32bits(x)
	if b&0x7fffffff > 0x7f800000 {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// toF16 rounds to the nearest float16, ties to even; a NaN stays one.
func toF16(x float32) uint16 {
	b := math.Float32bits(x)
	sign := uint16(b >> 16 & 0x8000)
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		return sign | 0x7e00
	case b >= 0x47800000: // 65536 and more
		return sign | 0x7c00
	case b >= 0x38800000: // normal, 2^-14 and more; rounding may carry into infinity
		b += 0xfff + b>>13&1
		return sign | uint16((b-0x38000000)>>13)
	}
	// Subnormal: adding 0.5 leaves multiples of 2^-24 in the low bits, rounded.
	return sign | uint16(math.Float32bits(math.Float32frombits(b)+0.5)-math.Float32bits(0.5))
}

// fromF16 is exact.
func fromF16(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	mag := uint32(h & 0x7fff)
	switch {
	case mag >= 0x7c00:
		return math.Float32frombits(sign | 0x7f800000 | (mag&0x3ff)<<13)
	case mag < 0x400:
		return math.Float32frombits(sign | math.Float32bits(float32(mag)*0x1p-24))
	}
	return math.Float32frombits(sign | (mag<<13 + 0x38000000))
}
