package plain

import (
	"cmp"

	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// Gemm computes c = epilogue(alpha * op(a) * op(b)).
func (d *Device) Gemm(c, a, b tensor.Tensor, g op.Gemm) {
	switch {
	case len(b.Shape) == 2 && !g.TransA: // leading dimensions are rows
		a, c = matrix(a), matrix(c)
	case len(c.Shape) == 2 && g.TransA && !g.TransB: // they are k
		a, b = matrix(a), matrix(b)
	}
	m, k := axes(a, g.TransA)
	kb, n := axes(b, g.TransB)
	if k != kb || c.Dim(-2) != m || c.Dim(-1) != n {
		panic("plain: matrices do not fit")
	}
	batch := tensor.Size(c.Shape[:len(c.Shape)-2])
	own := len(b.Shape) > 2 // each has its b
	if tensor.Size(a.Shape[:len(a.Shape)-2]) != batch || own && tensor.Size(b.Shape[:len(b.Shape)-2]) != batch {
		panic("plain: batches do not fit")
	}
	x, y := numbers(a), numbers(b)
	if b.Store.(*store).rounded {
		if g.TransA {
			panic("plain: a transposed matrix is not rounded")
		}
		x = halves(x)
	}
	z := make([]float64, c.Len())
	for i := range z {
		at, row, col := i/(m*n), i/n%m, i%n
		fromB := 0
		if own {
			fromB = at * k * n
		}
		for l := range k {
			ia, ib := row*k+l, l*n+col
			if g.TransA {
				ia = l*m + row
			}
			if g.TransB {
				ib = col*k + l
			}
			z[i] = d.round(z[i] + x[at*m*k+ia]*y[fromB+ib])
		}
		z[i] *= float64(cmp.Or(g.Alpha, 1))
	}
	if g.Accumulate {
		d.add(c, z)
		return
	}
	d.finish(c, z, &g.Epilogue)
}

// axes returns a matrix's sizes after transposition.
func axes(t tensor.Tensor, trans bool) (int, int) {
	if trans {
		return t.Dim(-1), t.Dim(-2)
	}
	return t.Dim(-2), t.Dim(-1)
}

func matrix(t tensor.Tensor) tensor.Tensor { return t.View(t.Rows(), t.Dim(-1)) }

func halves(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = nearest(v, 8, -133, 128)
	}
	return y
}

// finish stores the epilogue of x in out.
func (d *Device) finish(out tensor.Tensor, x []float64, e *op.Epilogue) {
	bias, residual, pre := numbers(e.Bias), numbers(e.Residual), make([]float64, len(x))
	for i, v := range x {
		if bias != nil {
			v += bias[i%len(bias)]
		}
		if residual != nil && e.ActLast {
			v += residual[i]
		}
		pre[i] = v
		v = act(e.Act, v) * kept(e.Drop, i)
		if residual != nil && !e.ActLast {
			v += residual[i]
		}
		x[i] = v
	}
	if !e.Pre.IsZero() {
		d.put(e.Pre, pre)
	}
	d.put(out, x)
}

// kept is what dropout multiplies element i by.
func kept(p op.Dropout, i int) float64 {
	switch {
	case p.P == 0:
		return 1
	case !p.Kept(uint64(i)):
		return 0
	}
	_, _, _, scale := p.Mask()
	return float64(scale)
}

// Pack copies a matrix.
func (d *Device) Pack(b tensor.Tensor, trans bool) tensor.Tensor {
	t := d.Keep(b.DType, b.Shape...)
	d.Copy(t, b)
	return t
}

// PackRounding copies a matrix; products with it round a to bfloat16.
func (d *Device) PackRounding(b tensor.Tensor, trans bool) tensor.Tensor {
	t := d.Keep(tensor.BFloat16, b.Shape...)
	d.Copy(t, b)
	t.Store.(*store).rounded = true
	return t
}

// PackConv copies filters.
func (d *Device) PackConv(w tensor.Tensor) tensor.Tensor { return d.Pack(w, false) }

// PackConvRounding is PackRounding of filters.
func (d *Device) PackConvRounding(w tensor.Tensor) tensor.Tensor { return d.PackRounding(w, false) }

// Conv convolves images.
func (d *Device) Conv(out, x, w tensor.Tensor, c op.Conv) {
	h, wide, in, o := out.Dim(1), out.Dim(2), x.Dim(3), out.Dim(3)
	stride := cmp.Or(c.Stride, 1)
	a, f, y := numbers(x), numbers(w), make([]float64, out.Len())
	if w.Store.(*store).rounded {
		a = halves(a)
	}
	for at := range y {
		to, j, i, b := at%o, at/o%wide, at/(o*wide)%h, at/(o*wide*h)
		for di := range w.Dim(0) {
			for dj := range w.Dim(1) {
				row, col := i*stride+di-c.Pad, j*stride+dj-c.Pad
				if row < 0 || row >= x.Dim(1) || col < 0 || col >= x.Dim(2) {
					continue
				}
				for from := range in {
					y[at] = d.round(y[at] + a[((b*x.Dim(1)+row)*x.Dim(2)+col)*in+from]*f[((di*w.Dim(1)+dj)*in+from)*o+to])
				}
			}
		}
	}
	d.finish(out, y, &c.Epilogue)
}

// AvgPool takes means of squares.
func (d *Device) AvgPool(out, x tensor.Tensor, size int) {
	h, wide, c := out.Dim(1), out.Dim(2), out.Dim(3)
	a, y := numbers(x), make([]float64, out.Len())
	for at := range y {
		k, j, i, b := at%c, at/c%wide, at/(c*wide)%h, at/(c*wide*h)
		for di := range size {
			for dj := range size {
				y[at] += a[((b*x.Dim(1)+i*size+di)*x.Dim(2)+j*size+dj)*c+k]
			}
		}
		y[at] /= float64(size * size)
	}
	d.put(out, y)
}
