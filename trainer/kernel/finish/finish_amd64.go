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

// tile finishes a whole tile and reports whether it did.
func tile(y []float32, ldy int, x, bias, residual []float32, floor float32, rows int) bool {
	switch {
	case cpuinfo.AVX512 && residual == nil:
		tileAVX512(&y[0], 4*ldy, &x[0], &bias[0], floor, rows)
	case cpuinfo.AVX512:
		tileAddAVX512(&y[0], 4*ldy, &x[0], &bias[0], &residual[0], floor, rows)
	case cpuinfo.AVX2 && residual == nil:
		tileAVX2(&y[0], 4*ldy, &x[0], &bias[0], floor, rows)
	case cpuinfo.AVX2:
		tileAddAVX2(&y[0], 4*ldy, &x[0], &bias[0], &residual[0], floor, rows)
	default:
		return false
	}
	return true
}

func tileHalf(y []uint16, ldy int, x, bias []float32, residual []uint16, floor float32, rows int) bool {
	switch {
	case cpuinfo.BF16 && residual != nil:
		tileHalfAddBF16(&y[0], 2*ldy, &x[0], &bias[0], &residual[0], floor, rows)
	case cpuinfo.AVX512 && residual != nil:
		tileHalfAddAVX512(&y[0], 2*ldy, &x[0], &bias[0], &residual[0], floor, rows)
	case cpuinfo.AVX2 && residual != nil:
		tileHalfAddAVX2(&y[0], 2*ldy, &x[0], &bias[0], &residual[0], floor, rows)
	case cpuinfo.BF16:
		tileHalfBF16(&y[0], 2*ldy, &x[0], &bias[0], floor, rows)
	case cpuinfo.AVX512:
		tileHalfAVX512(&y[0], 2*ldy, &x[0], &bias[0], floor, rows)
	case cpuinfo.AVX2:
		tileHalfAVX2(&y[0], 2*ldy, &x[0], &bias[0], floor, rows)
	default:
		return false
	}
	return true
}

// half rounds whole vectors and returns how many numbers that were.
func half(y []uint16, x []float32) int {
	switch n := len(x); {
	case cpuinfo.BF16 && n >= 16:
		halfBF16(&y[0], &x[0], n&^15)
		return n &^ 15
	case cpuinfo.AVX512 && n >= 16:
		halfAVX512(&y[0], &x[0], n&^15)
		return n &^ 15
	case cpuinfo.AVX2 && n >= 8:
		halfAVX2(&y[0], &x[0], n&^7)
		return n &^ 7
	}
	return 0
}
