//go:build !purego

package finish

import "espalier/trainer/kernel/cpuinfo"

//go:generate go -C ../_asm run ./finish -pkg finish -out ../finish/finish_amd64.s -stubs ../finish/finish_asm_amd64.go

func relu(x, bias []float32) {
	switch {
	case cpuinfo.AVX512:
		reluAVX512(&x[0], &bias[0], len(x))
	case cpuinfo.AVX2:
		reluAVX2(&x[0], &bias[0], len(x))
	default:
		reluGeneric(x, bias)
	}
}

func addReLU(x, bias, residual []float32) {
	switch {
	case cpuinfo.AVX512:
		addReLUAVX512(&x[0], &bias[0], &residual[0], len(x))
	case cpuinfo.AVX2:
		addReLUAVX2(&x[0], &bias[0], &residual[0], len(x))
	default:
		addReLUGeneric(x, bias, residual)
	}
}
