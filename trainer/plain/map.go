package plain

import (
	"math"

	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// inner is what the tanh form of GELU takes the tanh of, and its slope.
func inner(x float64) (u, slope float64) {
	c := math.Sqrt(2 / math.Pi)
	return c * (x + 0.044715*x*x*x), c * (1 + 3*0.044715*x*x)
}

func act(a op.Act, x float64) float64 {
	switch a {
	case op.ReLU:
		if x < 0 {
			return 0
		}
	case op.GELUTanh:
		u, _ := inner(x)
		return 0.5 * x * (1 + math.Tanh(u))
	case op.GELUErf:
		return 0.5 * x * math.Erfc(-x/math.Sqrt2)
	case op.QuickGELU:
		return x * sigmoid(1.702*x)
	case op.SiLU:
		return x * sigmoid(x)
	case op.Tanh:
		return math.Tanh(x)
	case op.Sigmoid:
		return sigmoid(x)
	}
	return x
}

// slope is the derivative of an activation.
func slope(a op.Act, x float64) float64 {
	switch a {
	case op.ReLU:
		if x <= 0 {
			return 0
		}
	case op.GELUTanh:
		u, du := inner(x)
		t := math.Tanh(u)
		return 0.5*(1+t) + 0.5*x*(1-t*t)*du
	case op.GELUErf:
		return 0.5*math.Erfc(-x/math.Sqrt2) + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi)
	case op.QuickGELU:
		s := sigmoid(1.702 * x)
		return s + 1.702*x*s*(1-s)
	case op.SiLU:
		s := sigmoid(x)
		return s + x*s*(1-s)
	case op.Tanh:
		t := math.Tanh(x)
		return 1 - t*t
	case op.Sigmoid:
		s := sigmoid(x)
		return s * (1 - s)
	}
	return 1
}

// each stores f of each index in out.
func (d *Device) each(out tensor.Tensor, f func(i int) float64) {
	y := make([]float64, out.Len())
	for i := range y {
		y[i] = f(i)
	}
	d.put(out, y)
}

// Activate applies an activation.
func (d *Device) Activate(out, x tensor.Tensor, a op.Act) {
	v := numbers(x)
	d.each(out, func(i int) float64 { return act(a, v[i]) })
}

// ActivateBack is its gradient.
func (d *Device) ActivateBack(dx, dy, x tensor.Tensor, a op.Act) {
	d.FinishBack(dx, dy, x, a, op.Dropout{})
}

// FinishBack is the gradient of an epilogue but for its residual.
func (d *Device) FinishBack(dx, dy, x tensor.Tensor, a op.Act, p op.Dropout) {
	u := numbers(dy)
	var bits []int32
	if !x.IsZero() && x.DType == tensor.Int32 {
		bits = ints(x)
	}
	d.each(dx, func(i int) float64 {
		s := 1.0
		switch {
		case bits != nil && uint32(bits[i/32])>>(i%32)&1 == 0:
			s = 0
		case bits == nil && a != op.None:
			s = slope(a, numbers(x)[i])
		}
		return u[i] * kept(p, i) * s
	})
}

// Signs writes a bit for each element.
func (d *Device) Signs(bits, x tensor.Tensor) {
	v := numbers(x)
	d.each(bits, func(i int) float64 {
		var b uint32
		for j := i * 32; j < min(i*32+32, len(v)); j++ {
			if v[j] > 0 {
				b |= 1 << (j % 32)
			}
		}
		return float64(int32(b))
	})
}

// Add adds; y may be repeated.
func (d *Device) Add(out, x, y tensor.Tensor) {
	a, b := numbers(x), numbers(y)
	d.each(out, func(i int) float64 { return a[i] + b[i%len(b)] })
}

// Mul multiplies; y may be repeated.
func (d *Device) Mul(out, x, y tensor.Tensor) {
	a, b := numbers(x), numbers(y)
	d.each(out, func(i int) float64 { return a[i] * b[i%len(b)] })
}

// Axpy adds alpha*x to y.
func (d *Device) Axpy(y, x tensor.Tensor, alpha float32) {
	a, b := numbers(y), numbers(x)
	d.each(y, func(i int) float64 { return a[i] + float64(alpha)*b[i] })
}

// Scale multiplies by alpha.
func (d *Device) Scale(out, x tensor.Tensor, alpha float64) {
	a := numbers(x)
	d.each(out, func(i int) float64 { return alpha * a[i] })
}

// LogFloor takes logarithms.
func (d *Device) LogFloor(out, x tensor.Tensor, floor float32) {
	a := numbers(x)
	d.each(out, func(i int) float64 { return math.Log(math.Max(a[i], float64(floor))) })
}

// LogFloorBack is its gradient.
func (d *Device) LogFloorBack(dx, dy, x tensor.Tensor, floor float32) {
	a, u := numbers(x), numbers(dy)
	d.each(dx, func(i int) float64 {
		if a[i] > float64(floor) {
			return u[i] / a[i]
		}
		return 0
	})
}

// Drop drops elements.
func (d *Device) Drop(out, x tensor.Tensor, p op.Dropout) {
	a := numbers(x)
	d.each(out, func(i int) float64 { return a[i] * kept(p, i) })
}

// Permute reorders axes.
func (d *Device) Permute(out, x tensor.Tensor, axes []int) {
	a := numbers(x)
	d.each(out, func(i int) float64 {
		from := 0
		for k := len(axes) - 1; k >= 0; k-- {
			from += i % out.Shape[k] * tensor.Size(x.Shape[axes[k]+1:])
			i /= out.Shape[k]
		}
		return a[from]
	})
}

// Gather looks rows up.
func (d *Device) Gather(out, table, ids tensor.Tensor, scale float32) {
	y, x, n := make([]float64, out.Len()), numbers(table), table.Dim(1)
	for i, id := range d.ids(ids, table.Dim(0)) {
		if id >= 0 {
			d.axpy(y[i*n:], x[id*n:][:n], float64(scale))
		}
	}
	d.put(out, y)
}

// ScatterAdd adds rows to a table.
func (d *Device) ScatterAdd(dtable, dout, ids tensor.Tensor, scale float32) {
	y, x, n := make([]float64, dtable.Len()), numbers(dout), dtable.Dim(1)
	for i, id := range d.ids(ids, dtable.Dim(0)) {
		if id >= 0 {
			d.axpy(y[id*n:], x[i*n:][:n], float64(scale))
		}
	}
	d.add(dtable, y)
}

// ids returns rows of a table; those beyond it are an error, and -1.
func (d *Device) ids(t tensor.Tensor, rows int) []int {
	var all []int
	for _, id := range ints(t) {
		if int(id) >= rows {
			d.fail(errID)
			id = -1
		}
		all = append(all, int(id))
	}
	return all
}
