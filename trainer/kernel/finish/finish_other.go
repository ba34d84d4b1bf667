//go:build !amd64 || purego

package finish

func relu(x, bias []float32) { reluGeneric(x, bias) }

func addReLU(x, bias, residual []float32) { addReLUGeneric(x, bias, residual) }
