package cpu

import (
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

const piece = 4096 // elements of a tile of elementwise work

// Activate applies an activation.
func (d *Device) Activate(out, x tensor.Tensor, a op.Act) {
	d.map1(out, x, func(v float32) float32 { return activate(a, v) })
}

// ActivateBack is its gradient: dx = dy * act'(x).
func (d *Device) ActivateBack(dx, dy, x tensor.Tensor, a op.Act) {
	d.map2(dx, dy, x, func(g, v float32) float32 { return g * slope(a, v) })
}

// Add adds; y may be a suffix of x's shape.
func (d *Device) Add(out, x, y tensor.Tensor) {
	d.map2(out, x, y, func(a, b float32) float32 { return a + b })
}

// Mul multiplies; y may be a suffix of x's shape.
func (d *Device) Mul(out, x, y tensor.Tensor) {
	d.map2(out, x, y, func(a, b float32) float32 { return a * b })
}

// Axpy adds alpha*x to y.
func (d *Device) Axpy(y, x tensor.Tensor, alpha float32) {
	d.map2(y, y, x, func(a, b float32) float32 { return a + float32(alpha*b) })
}

// Scale multiplies by alpha.
func (d *Device) Scale(out, x tensor.Tensor, alpha float32) {
	d.map1(out, x, func(v float32) float32 { return alpha * v })
}

// LogFloor is log(max(x, floor)).
func (d *Device) LogFloor(out, x tensor.Tensor, floor float32) {
	d.map1(out, x, func(v float32) float32 { return log32(max(v, floor)) })
}

// LogFloorBack is its gradient: dy/x above the floor.
func (d *Device) LogFloorBack(dx, dy, x tensor.Tensor, floor float32) {
	d.map2(dx, dy, x, func(g, v float32) float32 {
		if v > floor {
			return g / v
		}
		return 0
	})
}

// Drop drops elements and scales the others.
func (d *Device) Drop(out, x tensor.Tensor, p op.Dropout) {
	xs, ys := Floats(x), Floats(out)
	if len(xs) != len(ys) {
		panic("cpu: operands do not fit")
	}
	k0, k1, below, keep := p.Mask()
	d.span(len(xs), piece, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			switch {
			case below == 0:
				ys[i] = xs[i]
			case uint64(op.Hash(k0, k1, uint64(i))) >= below:
				ys[i] = xs[i] * keep
			default:
				ys[i] = 0
			}
		}
	})
}

func (d *Device) map1(out, x tensor.Tensor, f func(v float32) float32) {
	xs, ys := Floats(x), Floats(out)
	if len(xs) != len(ys) {
		panic("cpu: operands do not fit")
	}
	d.span(len(xs), piece, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			ys[i] = f(xs[i])
		}
	})
}

// map2 repeats y over x where y is a suffix of x's shape.
func (d *Device) map2(out, x, y tensor.Tensor, f func(a, b float32) float32) {
	xs, ys, os := Floats(x), Floats(y), Floats(out)
	if len(xs) != len(os) || !suffix(y.Shape, x.Shape) {
		panic("cpu: operands do not fit")
	}
	d.span(len(xs), piece, func(lo, hi int) {
		for i, j := lo, lo%len(ys); i < hi; i++ {
			os[i] = f(xs[i], ys[j])
			if j++; j == len(ys) {
				j = 0
			}
		}
	})
}

// suffix reports whether y can be repeated over x: its shape ends x's, or it
// has as many elements.
func suffix(y, x []int) bool {
	if tensor.Size(y) == tensor.Size(x) {
		return true
	}
	if len(y) > len(x) {
		return false
	}
	for i, n := range y {
		if x[len(x)-len(y)+i] != n {
			return false
		}
	}
	return true
}

// Permute reorders axes: out's axis i is x's axis axes[i].
func (d *Device) Permute(out, x tensor.Tensor, axes []int) {
	n := len(axes)
	if n != len(x.Shape) || n != len(out.Shape) || n > maxAxes {
		panic("cpu: permutation does not fit")
	}
	var step, size [maxAxes]int // of x along out's axes
	seen := 0
	for i, a := range axes {
		if a < 0 || a >= n || seen>>a&1 != 0 || out.Shape[i] != x.Shape[a] {
			panic("cpu: permutation does not fit")
		}
		seen |= 1 << a
		size[i], step[i] = out.Shape[i], tensor.Size(x.Shape[a+1:])
	}
	xs, ys := words4(x), words4(out)
	if len(xs) == 0 {
		return
	}
	if n == 0 {
		copy(ys, xs)
		return
	}
	last := size[n-1]
	d.each(len(ys)/last, func(r int) {
		at := 0
		for i, q := n-2, r; i >= 0; i-- {
			at += q % size[i] * step[i]
			q /= size[i]
		}
		y := ys[r*last:][:last]
		for j := range y {
			y[j] = xs[at+j*step[n-1]]
		}
	})
}

const maxAxes = 8
