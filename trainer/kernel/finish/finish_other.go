//go:build !amd64 || purego

package finish

func relu(x, bias []float32) { reluGeneric(x, bias) }

func addReLU(x, bias, residual []float32) { addReLUGeneric(x, bias, residual) }

func tile(_ []float32, _ int, _, _, _ []float32, _ float32, _ int) bool { return false }

func tileHalf(_ []uint16, _ int, _, _ []float32, _ []uint16, _ float32, _ int) bool { return false }

func half(_ []uint16, _ []float32) int { return 0 }
