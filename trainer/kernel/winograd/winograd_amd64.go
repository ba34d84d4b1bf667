//go:build !purego

package winograd

import "espalier/trainer/kernel/cpuinfo"

//go:generate go -C ../_asm run ./winograd -pkg winograd -out ../winograd/winograd_amd64.s -stubs ../winograd/winograd_asm_amd64.go

func input(out []float32, step int, in []float32, row, pixel, n int) {
	switch {
	case cpuinfo.AVX512:
		inputAVX512(&out[0], step, &in[0], row, pixel, n)
	case cpuinfo.AVX2:
		inputAVX2(&out[0], step, &in[0], row, pixel, n)
	default:
		inputGeneric(out, step, in, row, pixel, n)
	}
}

func output(out []float32, row, pixel int, in []float32, step, n int) {
	switch {
	case cpuinfo.AVX512:
		outputAVX512(&out[0], row, pixel, &in[0], step, n)
	case cpuinfo.AVX2:
		outputAVX2(&out[0], row, pixel, &in[0], step, n)
	default:
		outputGeneric(out, row, pixel, in, step, n)
	}
}

// inputHalf transforms whole vectors of channels and returns how many that were.
func inputHalf(out []uint16, step int, in []uint16, row, pixel, n int) int {
	switch {
	case cpuinfo.BF16 && n >= 16:
		inputHalfBF16(&out[0], step, &in[0], row, pixel, n&^15)
		return n &^ 15
	case cpuinfo.AVX512 && n >= 16:
		inputHalfAVX512(&out[0], step, &in[0], row, pixel, n&^15)
		return n &^ 15
	case cpuinfo.AVX2 && n >= 8:
		inputHalfAVX2(&out[0], step, &in[0], row, pixel, n&^7)
		return n &^ 7
	}
	return 0
}

func outputHalf(out []uint16, row, pixel int, in []float32, step int, bias []float32, n int) int {
	switch {
	case cpuinfo.BF16 && n >= 16:
		outputHalfBF16(&out[0], row, pixel, &in[0], step, &bias[0], n&^15)
		return n &^ 15
	case cpuinfo.AVX512 && n >= 16:
		outputHalfAVX512(&out[0], row, pixel, &in[0], step, &bias[0], n&^15)
		return n &^ 15
	case cpuinfo.AVX2 && n >= 8:
		outputHalfAVX2(&out[0], row, pixel, &in[0], step, &bias[0], n&^7)
		return n &^ 7
	}
	return 0
}
