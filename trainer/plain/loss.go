package plain

import (
	"math"

	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// share is what a target's distribution gives to class j of v.
func share(c op.CrossEntropy, target, j, v int) float64 {
	if j == target {
		return 1 - float64(c.Smoothing)
	}
	return float64(c.Smoothing) / float64(v-1)
}

// CrossEntropy fills loss and lse.
func (d *Device) CrossEntropy(loss, lse, logits, targets tensor.Tensor, c op.CrossEntropy) {
	v, x := logits.Dim(-1), numbers(logits)
	y, sums := make([]float64, loss.Len()), make([]float64, loss.Len())
	for r, target := range d.ids(targets, v) {
		logs, lse := d.logs(x[r*v:][:v])
		sums[r] = lse
		for j, l := range logs {
			if s := share(c, target, j, v); target >= 0 && s > 0 {
				y[r] = d.round(y[r] + s*(math.Log(s)-l))
			}
		}
	}
	d.put(loss, y)
	d.put(lse, sums)
}

// CrossEntropyBack fills dlogits.
func (d *Device) CrossEntropyBack(dlogits, weight, lse, logits, targets tensor.Tensor, c op.CrossEntropy) {
	v, x, w := logits.Dim(-1), numbers(logits), numbers(weight)
	y := make([]float64, len(x))
	for r, target := range d.ids(targets, v) {
		logs, _ := d.logs(x[r*v:][:v])
		for j, l := range logs {
			if target >= 0 {
				y[r*v+j] = w[r] * d.round(math.Exp(l)-share(c, target, j, v))
			}
		}
	}
	d.put(dlogits, y)
}

// ProjectLoss makes logits and their loss.
func (d *Device) ProjectLoss(loss, lse, x tensor.Tensor, p op.Projection, targets tensor.Tensor, c op.CrossEntropy) {
	logits := d.project(x, p)
	d.CrossEntropy(loss, lse, logits, targets, c)
	d.Release(logits)
}

func (d *Device) project(x tensor.Tensor, p op.Projection) tensor.Tensor {
	_, v := axes(p.W, p.Trans)
	logits := d.Alloc(tensor.Float32, x.Rows(), v)
	d.Gemm(logits, matrix(x), p.W, op.Gemm{TransB: p.Trans, Epilogue: op.Epilogue{Bias: p.Bias}})
	return logits
}

// ProjectLossBack fills dx and adds to dw and dbias.
func (d *Device) ProjectLossBack(dx, dw, dbias, weight, lse, x tensor.Tensor, p op.Projection, targets tensor.Tensor, c op.CrossEntropy) {
	logits := d.project(x, p)
	d.CrossEntropyBack(logits, weight, lse, logits, targets, c)
	if !dx.IsZero() {
		d.Gemm(matrix(dx), logits, p.W, op.Gemm{TransB: !p.Trans})
	}
	switch {
	case dw.IsZero():
	case p.Trans:
		d.Gemm(dw, logits, matrix(x), op.Gemm{TransA: true, Accumulate: true})
	default:
		d.Gemm(dw, matrix(x), logits, op.Gemm{TransA: true, Accumulate: true})
	}
	if !dbias.IsZero() {
		d.SumRows(dbias, logits)
	}
	d.Release(logits)
}
