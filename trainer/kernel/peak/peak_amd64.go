//go:build !purego

package peak

import "espalier/trainer/kernel/cpuinfo"

//go:generate go -C ../_asm run ./peak -pkg peak -out ../peak/peak_amd64.s -stubs ../peak/peak_asm_amd64.go

func multiplyAdd(n int) float64 {
	switch {
	case cpuinfo.AVX512:
		multiplyAddAVX512(n)
		return float64(n * 12 * 16 * 2)
	case cpuinfo.AVX2:
		multiplyAddAVX2(n)
		return float64(n * 12 * 8 * 2)
	}
	return multiplyAddGeneric(n)
}

func read(x []float32) {
	switch {
	case cpuinfo.AVX512:
		readAVX512(&x[0], len(x)/128)
	case cpuinfo.AVX2:
		readAVX2(&x[0], len(x)/128)
	default:
		readGeneric(x)
	}
}
