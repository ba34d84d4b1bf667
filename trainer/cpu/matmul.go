package cpu

import (
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// A packed is the storage of a matrix laid out for products.
type packed struct {
	slab
	k, n int
}

// A product is a batch of matrix products over slices.
type product struct {
	batch, m, n, k         int
	stepA, stepB, stepC    int // from one matrix of the batch to the next
	transA, transB, fixedB bool
}

// plan checks the shapes of a product.
func plan(c, a, b tensor.Tensor, g *op.Gemm) product {
	if len(a.Shape) < 2 || len(b.Shape) < 2 || len(c.Shape) < 2 {
		panic("cpu: a matrix has two axes")
	}
	p := product{batch: 1, transA: g.TransA, transB: g.TransB}
	p.m, p.k = a.Dim(-2), a.Dim(-1)
	if g.TransA {
		p.m, p.k = p.k, p.m
	}
	kb, n := b.Dim(-2), b.Dim(-1)
	if g.TransB {
		kb, n = n, kb
	}
	p.n = n
	if kb != p.k || c.Dim(-1) != n {
		panic("cpu: matrices do not fit")
	}
	la, lb, lc := len(a.Shape)-2, len(b.Shape)-2, len(c.Shape)-2
	switch {
	case lc == 0 && la > 0: // the gradient of a weight
		if !g.TransA || g.TransB || la != lb {
			panic("cpu: a batch is summed over only for a transposed first operand")
		}
		for i := range la {
			if a.Shape[i] != b.Shape[i] {
				panic("cpu: batches do not fit")
			}
		}
		p.k = a.Rows()
	case la != lc || (lb != 0 && lb != lc):
		panic("cpu: batches do not fit")
	case lb == 0 && !g.TransA:
		p.m = a.Rows()
		if c.Rows() != p.m {
			panic("cpu: matrices do not fit")
		}
		return p
	default:
		for i := range lc {
			if a.Shape[i] != c.Shape[i] || (lb != 0 && b.Shape[i] != c.Shape[i]) {
				panic("cpu: batches do not fit")
			}
			p.batch *= c.Shape[i]
		}
		p.stepA, p.stepC = p.m*p.k, p.m*p.n
		if lb != 0 {
			p.stepB = p.k * p.n
		}
	}
	if c.Dim(-2) != p.m {
		panic("cpu: matrices do not fit")
	}
	return p
}

// An epilogue is an op.Epilogue over slices, and alpha.
type epilogue struct {
	alpha               float32
	bias, residual, pre []float32
	act                 op.Act
	actLast             bool
}

func makeEpilogue(e *op.Epilogue, alpha float32, out tensor.Tensor) epilogue {
	if alpha == 0 {
		alpha = 1
	}
	s := epilogue{alpha, floats(e.Bias), floats(e.Residual), floats(e.Pre), e.Act, e.ActLast}
	n := out.Len()
	if (s.bias != nil && len(s.bias) != out.Dim(-1)) || (s.residual != nil && len(s.residual) != n) || (s.pre != nil && len(s.pre) != n) {
		panic("cpu: epilogue does not fit the output")
	}
	return s
}

func (e *epilogue) empty() bool {
	return e.bias == nil && e.residual == nil && e.pre == nil && e.act == op.None
}

// apply finishes a row of the output that starts at element at of it and
// column j of the bias.
func (e *epilogue) apply(c []float32, at, j int) {
	if e.alpha != 1 {
		for i := range c {
			c[i] *= e.alpha
		}
	}
	if e.bias != nil {
		for i, b := range e.bias[j:][:len(c)] {
			c[i] += b
		}
	}
	if e.actLast {
		e.addResidual(c, at)
	}
	if e.pre != nil {
		copy(e.pre[at:], c)
	}
	if e.act != op.None {
		for i, v := range c {
			c[i] = activate(e.act, v)
		}
	}
	if !e.actLast {
		e.addResidual(c, at)
	}
}

func (e *epilogue) addResidual(c []float32, at int) {
	if e.residual != nil {
		for i, r := range e.residual[at:][:len(c)] {
			c[i] += r
		}
	}
}

// Gemm computes c = epilogue(alpha * op(a) * op(b)).
func (d *Device) Gemm(c, a, b tensor.Tensor, g op.Gemm) {
	p := plan(c, a, b, &g)
	e := makeEpilogue(&g.Epilogue, g.Alpha, c)
	if g.Accumulate && !e.empty() {
		panic("cpu: accumulation with an epilogue")
	}
	var bs []float32
	if pk, ok := b.Store.(*packed); ok {
		if g.TransB {
			p.transB = false // packing has undone it
		}
		bs = pk.words
	} else {
		bs = Floats(b)
	}
	as, cs := Floats(a), Floats(c)
	d.each(p.batch*p.m, func(t int) {
		row := make([]float32, 0, p.n)
		bt, i := t/p.m, t%p.m
		at := bt*p.stepC + i*p.n
		out := cs[at : at+p.n]
		if g.Accumulate {
			row = append(row, out...)
		} else {
			row = row[:p.n]
		}
		gemmRow(row, as[bt*p.stepA:], bs[bt*p.stepB:], i, p, g.Accumulate, e.alpha)
		if !g.Accumulate {
			e.apply(row, at, 0)
		}
		copy(out, row)
	})
}

// gemmRow adds row i of op(a)*op(b) to row, k ascending.
func gemmRow(row, a, b []float32, i int, p product, scaleA bool, alpha float32) {
	for k := range p.k {
		var x float32
		if p.transA {
			x = a[k*p.m+i]
		} else {
			x = a[i*p.k+k]
		}
		if scaleA {
			x *= alpha
		}
		if p.transB {
			for j := range row {
				row[j] += float32(x * b[j*p.k+k])
			}
			continue
		}
		for j, y := range b[k*p.n:][:len(row)] {
			row[j] += float32(x * y)
		}
	}
}

// Pack lays a frozen matrix out once and for all.
func (d *Device) Pack(b tensor.Tensor, trans bool) tensor.Tensor {
	if len(b.Shape) != 2 {
		panic("cpu: only a 2-D matrix can be packed")
	}
	k, n := b.Shape[0], b.Shape[1]
	src := make([]float32, b.Len())
	d.Read(src, b)
	s := newSlab(k * n)
	if trans {
		k, n = n, k
		for i := range k {
			for j := range n {
				s.words[i*n+j] = src[j*k+i]
			}
		}
	} else {
		copy(s.words, src)
	}
	d.kept += int64(s.Bytes())
	d.measure()
	return tensor.Tensor{Shape: append([]int(nil), b.Shape...), DType: tensor.Float32, Store: &packed{*s, k, n}}
}
