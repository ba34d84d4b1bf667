//go:build !purego

package angle

import "espalier/trainer/kernel/cpuinfo"

//go:generate go -C ../_asm run ./angle -pkg angle -out ../angle/angle_amd64.s -stubs ../angle/angle_asm_amd64.go

// sincos is Sincos of a multiple of block angles.
func sincos(sin, cos []float32, x []float64) {
	switch {
	case cpuinfo.AVX512:
		sincosAVX512(&sin[0], &cos[0], &x[0], len(x))
	case cpuinfo.AVX2:
		sincosAVX2(&sin[0], &cos[0], &x[0], len(x))
	default:
		sincosGeneric(sin, cos, x)
	}
}
