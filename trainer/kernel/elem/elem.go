// Package elem is elementwise arithmetic on float32 slices: sums, products,
// activations and their gradients, dropout.
//
// Each function works on len(out) elements, which its operands must have; out
// may be an operand, but must not overlap one otherwise. Functions keep nothing
// and may run at the same time. An element's bits depend on its operands alone,
// and AVX2 and AVX-512 agree; the portable twins use float64 functions of
// package scalar.
//
// Errors of the vector functions, over all float32 and held by the tests:
// Tanh and Sigmoid within 3 units in the last place where the result is not
// denormal, the logarithm within 1, GELUTanh, GELUErf, QuickGELU and SiLU within
// 4e-7 of max(1, |result|).
package elem

// A Func is an activation.
type Func uint8

// Activations: GELUTanh is the tanh form, GELUErf the exact one, QuickGELU is
// x*sigmoid(1.702x).
const (
	ReLU Func = iota + 1
	GELUTanh
	GELUErf
	QuickGELU
	SiLU
	Tanh
	Sigmoid
)

// Add fills out with x + y.
func Add(out, x, y []float32) {
	if n := len(out); n > 0 {
		add(out, x[:n], y[:n])
	}
}

// Mul fills out with x*y.
func Mul(out, x, y []float32) {
	if n := len(out); n > 0 {
		mul(out, x[:n], y[:n])
	}
}

// Axpy adds alpha*x to y.
func Axpy(y, x []float32, alpha float32) {
	if n := len(y); n > 0 {
		axpy(y, x[:n], alpha)
	}
}

// Scale fills out with alpha*x.
func Scale(out, x []float32, alpha float32) {
	if n := len(out); n > 0 {
		scale(out, x[:n], alpha)
	}
}

// Apply fills out with f(x).
func Apply(f Func, out, x []float32) {
	if n := len(out); n > 0 {
		apply(f, out, x[:n])
	}
}

// ApplyBack fills out with dy*f'(x).
func ApplyBack(f Func, out, dy, x []float32) {
	if n := len(out); n > 0 {
		applyBack(f, out, dy[:n], x[:n])
	}
}

// Signs sets bit i%32 of bits[i/32] where x[i] > 0 and clears the others; bits
// has as many words as that takes.
func Signs(bits []uint32, x []float32) {
	words := len(x) / 32
	bits = bits[:(len(x)+31)/32]
	if words > 0 {
		signs(bits[:words], x)
	}
	signsGeneric(bits[words:], x[32*words:])
}

// KeepSigns is ApplyBack of ReLU at numbers of which bits are the signs, from
// one of a multiple of 32 on.
func KeepSigns(out, dy []float32, bits []uint32) {
	words := len(out) / 32
	dy = dy[:len(out)]
	if words > 0 {
		keepSigns(out, dy, bits[:words])
	}
	keepSignsGeneric(out[32*words:], dy[32*words:], bits[words:])
}

// LogFloor fills out with log(max(x, floor)).
func LogFloor(out, x []float32, floor float32) {
	if n := len(out); n > 0 {
		logFloor(out, x[:n], floor)
	}
}

// LogFloorBack fills out with dy/x where x > floor, else 0.
func LogFloorBack(out, dy, x []float32, floor float32) {
	if n := len(out); n > 0 {
		logFloorBack(out, dy[:n], x[:n], floor)
	}
}

// A Mask says which elements dropout keeps: those whose hash (op.Hash of K0, K1
// and the element's number) is at least Below. They are multiplied by Scale.
type Mask struct {
	K0, K1 uint32
	Below  uint64 // at most 1<<32
	Scale  float32
}

// Drop fills out with scale*x or 0; the first element's number is from.
func Drop(out, x []float32, from uint64, m Mask) {
	x = x[:len(out)]
	switch m.Below {
	case 0:
		copy(out, x)
		return
	case 1 << 32:
		clear(out)
		return
	}
	for len(out) > 0 { // the upper half of a number is part of the key
		n := int(min(uint64(len(out)), 1<<32-from&(1<<32-1)))
		part := m
		part.K1 ^= uint32(from>>32) * 0x9e3779b1
		drop(out[:n], x[:n], uint32(from), part)
		out, x, from = out[n:], x[n:], from+uint64(n)
	}
}
