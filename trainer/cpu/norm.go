package cpu

import (
	"math"

	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// Norm fills out and stats: the mean (0 for RMSNorm) and the factor of a row.
func (d *Device) Norm(out, stats, x, gain, shift tensor.Tensor, n op.Norm) {
	c, rows := x.Dim(-1), x.Rows()
	xs, ys, gs, ss, st := Floats(x), Floats(out), Floats(gain), floats(shift), floats(stats)
	if len(ys) != len(xs) || len(gs) != c || (ss != nil && len(ss) != c) || (st != nil && len(st) != 2*rows) {
		panic("cpu: norm operands do not fit")
	}
	d.span(rows, 16, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			row, y := xs[r*c:][:c], ys[r*c:][:c]
			mean, inv := moments(row, n)
			if st != nil {
				st[2*r], st[2*r+1] = mean, inv
			}
			for i, v := range row {
				y[i] = float32((v-mean)*inv) * gs[i]
				if ss != nil {
					y[i] += ss[i]
				}
			}
		}
	})
}

func moments(row []float32, n op.Norm) (mean, inv float32) {
	c := float32(len(row))
	if n.Kind != op.RMSNorm {
		for _, v := range row {
			mean += v
		}
		mean /= c
	}
	var sum float32
	for _, v := range row {
		sum += float32((v - mean) * (v - mean))
	}
	switch n.Kind {
	case op.LayerNorm, op.RMSNorm:
		return mean, 1 / sqrt32(sum/c+n.Eps)
	case op.StdNorm:
		return mean, 1 / (sqrt32(sum/(c-1)) + n.Eps)
	}
	panic("cpu: unknown norm")
}

// NormBack fills dx and adds to dgain and dshift.
func (d *Device) NormBack(dx, dgain, dshift, dy, x, gain, stats tensor.Tensor, n op.Norm) {
	c, rows := x.Dim(-1), x.Rows()
	xs, dys, gs, st := Floats(x), Floats(dy), Floats(gain), Floats(stats)
	dxs, dgs, dss := floats(dx), floats(dgain), floats(dshift)
	if len(dys) != len(xs) || len(gs) != c || len(st) != 2*rows ||
		(dxs != nil && len(dxs) != len(xs)) || (dgs != nil && len(dgs) != c) || (dss != nil && len(dss) != c) {
		panic("cpu: norm operands do not fit")
	}
	if dgs != nil || dss != nil {
		d.span(c, 64, func(lo, hi int) {
			for r := range rows {
				mean, inv := st[2*r], st[2*r+1]
				for i := lo; i < hi; i++ {
					g := dys[r*c+i]
					if dgs != nil {
						dgs[i] += float32(g * float32((xs[r*c+i]-mean)*inv))
					}
					if dss != nil {
						dss[i] += g
					}
				}
			}
		})
	}
	if dxs == nil {
		return
	}
	d.span(rows, 16, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			normRowBack(dxs[r*c:][:c], dys[r*c:][:c], xs[r*c:][:c], gs, st[2*r], st[2*r+1], n.Kind)
		}
	})
}

func normRowBack(dx, dy, x, gain []float32, mean, inv float32, kind op.NormKind) {
	var sum, dot, square float32
	for i, v := range x {
		g := float32(dy[i] * gain[i])
		sum += g
		dot += float32(g * (v - mean))
		square += float32((v - mean) * (v - mean))
	}
	c := float32(len(x))
	sum /= c
	var slope float32
	switch kind {
	case op.LayerNorm:
		slope = inv * inv / c * dot
	case op.RMSNorm:
		sum, slope = 0, inv*inv/c*dot
	case op.StdNorm:
		if square > 0 {
			slope = inv / float32((c-1)*sqrt32(square/(c-1))) * dot
		}
	}
	for i, v := range x {
		dx[i] = inv * (float32(dy[i]*gain[i]) - sum - float32((v-mean)*slope))
	}
}

// Softmax over the last axis.
func (d *Device) Softmax(out, x tensor.Tensor) {
	d.softmax(out, x, func(y, row []float32, top, sum float32) {
		inv := 1 / sum
		for i, v := range row {
			y[i] = exp32(v-top) * inv
		}
	})
}

// LogSoftmax over the last axis.
func (d *Device) LogSoftmax(out, x tensor.Tensor) {
	d.softmax(out, x, func(y, row []float32, top, sum float32) {
		l := log32(sum)
		for i, v := range row {
			y[i] = v - top - l
		}
	})
}

func (d *Device) softmax(out, x tensor.Tensor, finish func(y, row []float32, top, sum float32)) {
	c, rows := x.Dim(-1), x.Rows()
	xs, ys := Floats(x), Floats(out)
	if len(xs) != len(ys) {
		panic("cpu: softmax operands do not fit")
	}
	d.span(rows, 8, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			row := xs[r*c:][:c]
			top, sum := expSum(row)
			finish(ys[r*c:][:c], row, top, sum)
		}
	})
}

// expSum returns the maximum of a row and the sum of exp(x - maximum).
func expSum(row []float32) (top, sum float32) {
	top = float32(math.Inf(-1))
	for _, v := range row {
		top = max(top, v)
	}
	for _, v := range row {
		sum += exp32(v - top)
	}
	return top, sum
}
