// Package finish is what follows a convolution in a residual network, in one
// pass over its output: bias, residual and ReLU, each step rounded as if it
// stood alone.
//
// Functions only read and write what their operands name, and may run at the
// same time. All instruction sets agree to the bit.
package finish

// ReLU replaces x by max(0, x + bias); a NaN stays one.
func ReLU(x, bias []float32) {
	if len(x) == 0 {
		return
	}
	_ = bias[len(x)-1]
	relu(x, bias)
}

func reluGeneric(x, bias []float32) {
	for i, v := range x {
		x[i] = positive(v + bias[i])
	}
}

// AddReLU replaces x by max(0, x + bias + residual); a NaN stays one.
func AddReLU(x, bias, residual []float32) {
	if len(x) == 0 {
		return
	}
	_, _ = bias[len(x)-1], residual[len(x)-1]
	addReLU(x, bias, residual)
}

func addReLUGeneric(x, bias, residual []float32) {
	for i, v := range x {
		x[i] = positive(float32(v+bias[i]) + residual[i])
	}
}

// positive is v, or 0 where v is below it.
func positive(v float32) float32 {
	if v < 0 {
		return 0
	}
	return v
}
