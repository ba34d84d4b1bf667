package winograd

import "math"

// InputHalf is [Input] of bfloat16 pixels: sums are float32 ones, and each
// result is rounded to the nearest bfloat16 once, denormals to zero.
func InputHalf(out []uint16, step int, in []uint16, row, pixel, n int) {
	if n == 0 {
		return
	}
	if step < 0 || row < 0 || pixel < 0 {
		panic("winograd: negative stride")
	}
	_, _ = out[15*step+n-1], in[3*row+3*pixel+n-1]
	done := inputHalf(out, step, in, row, pixel, n)
	inputHalfGeneric(out[done:], step, in[done:], row, pixel, n-done)
}

func inputHalfGeneric(out []uint16, step int, in []uint16, row, pixel, n int) {
	for c := range n {
		var d, v [16]float32
		for i := range 4 {
			for j := range 4 {
				d[4*i+j] = widen(in[i*row+j*pixel+c])
			}
		}
		inputGeneric(v[:], 1, d[:], 4, 1, 1)
		for p, x := range v {
			out[p*step+c] = half(x)
		}
	}
}

// OutputHalf is [Output] with max(0, pixel + bias), rounded to the nearest
// bfloat16, denormals to zero. A NaN stays one.
func OutputHalf(out []uint16, row, pixel int, in []float32, step int, bias []float32, n int) {
	if n == 0 {
		return
	}
	if step < 0 || row < 0 || pixel < 0 {
		panic("winograd: negative stride")
	}
	_, _, _ = out[row+pixel+n-1], in[15*step+n-1], bias[n-1]
	done := outputHalf(out, row, pixel, in, step, bias, n)
	outputHalfGeneric(out[done:], row, pixel, in[done:], step, bias[done:], n-done)
}

func outputHalfGeneric(out []uint16, row, pixel int, in []float32, step int, bias []float32, n int) {
	for c := range n {
		var y [4]float32
		outputGeneric(y[:], 2, 1, in[c:], step, 1)
		for p, x := range y {
			x += bias[c]
			if x < 0 {
				x = 0
			}
			out[p/2*row+p%2*pixel+c] = half(x)
		}
	}
}

func widen(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// half rounds to the nearest bfloat16, ties to even.
func half(v float32) uint16 {
	switch b := math.Float32bits(v); {
	case b&0x7fffffff > 0x7f800000:
		return uint16(b>>16) | 0x40
	case b&0x7f800000 == 0:
		return uint16(b >> 16 & 0x8000)
	default:
		return uint16((b + 0x7fff + b>>16&1) >> 16)
	}
}
