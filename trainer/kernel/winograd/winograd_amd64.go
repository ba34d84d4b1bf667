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
