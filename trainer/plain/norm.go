package plain

import (
	"math"

	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// moments returns what a row is centred by, what it is divided by, and its
// deviation.
func (d *Device) moments(x []float64, n op.Norm) (mean, div, deviation float64) {
	c := float64(len(x))
	if n.Kind != op.RMSNorm {
		mean = d.round(d.total(x) / c)
	}
	var squares float64
	for _, v := range x {
		squares = d.round(squares + (v-mean)*(v-mean))
	}
	if n.Kind == op.StdNorm {
		deviation = d.round(math.Sqrt(squares / (c - 1)))
		return mean, d.round(deviation + n.Eps), deviation
	}
	return mean, d.round(math.Sqrt(squares/c + n.Eps)), 0
}

// Norm fills out and stats.
func (d *Device) Norm(out, stats, x, gain, shift tensor.Tensor, n op.Norm) {
	c := x.Dim(-1)
	a, g, s := numbers(x), numbers(gain), numbers(shift)
	y := make([]float64, len(a))
	var seen []float64
	for r := range x.Rows() {
		row := a[r*c:][:c]
		mean, div, _ := d.moments(row, n)
		seen = append(seen, mean, div)
		for i, v := range row {
			y[r*c+i] = g[i] * (v - mean) / div
			if s != nil {
				y[r*c+i] += s[i]
			}
		}
	}
	d.put(out, y)
	if !stats.IsZero() {
		d.put(stats, seen)
	}
}

// NormBack fills dx, or adds to it, and adds to dgain and dshift.
func (d *Device) NormBack(dx, dgain, dshift, dy, x, gain, stats tensor.Tensor, n op.Norm) {
	c := x.Dim(-1)
	a, g, up := numbers(x), numbers(gain), numbers(dy)
	gx, gg, gs := make([]float64, len(a)), make([]float64, c), make([]float64, c)
	for r := range x.Rows() {
		row, u := a[r*c:][:c], up[r*c:][:c]
		mean, div, deviation := d.moments(row, n)
		var sum, product float64 // of u*gain, and of that times the centred row
		for i, v := range row {
			gg[i] = d.round(gg[i] + u[i]*(v-mean)/div)
			gs[i] = d.round(gs[i] + u[i])
			sum = d.round(sum + u[i]*g[i])
			product = d.round(product + u[i]*g[i]*(v-mean))
		}
		along := product / (float64(c) * div * div * div)
		switch {
		case n.Kind == op.RMSNorm:
			sum = 0
		case n.Kind == op.StdNorm && deviation == 0:
			along = 0
		case n.Kind == op.StdNorm:
			along = product / (float64(c-1) * deviation * div * div)
		}
		for i, v := range row {
			gx[r*c+i] = (u[i]*g[i]-sum/float64(c))/div - (v-mean)*along
		}
	}
	switch {
	case n.Add:
		d.add(dx, gx)
	case !dx.IsZero():
		d.put(dx, gx)
	}
	d.add(dgain, gg)
	d.add(dshift, gs)
}

// logs returns the logarithms of a row's softmax, and that of the sum of its
// exponentials.
func (d *Device) logs(x []float64) (y []float64, lse float64) {
	top := math.Inf(-1)
	for _, v := range x {
		top = math.Max(top, v)
	}
	y = make([]float64, len(x))
	for i, v := range x {
		y[i] = d.round(math.Exp(v - top))
	}
	sum := d.round(math.Log(d.total(y)))
	for i, v := range x {
		y[i] = d.round(d.round(v-top) - sum)
	}
	return y, d.round(top + sum)
}

// LogSoftmax over the last axis.
func (d *Device) LogSoftmax(out, x tensor.Tensor) {
	c, y := x.Dim(-1), Floats(x)
	for r := range x.Rows() {
		logs, _ := d.logs(y[r*c:][:c])
		copy(y[r*c:], logs)
	}
	d.put(out, y)
}

// Softmax over the last axis.
func (d *Device) Softmax(out, x tensor.Tensor) {
	c, y := x.Dim(-1), Floats(x)
	for r := range x.Rows() {
		logs, _ := d.logs(y[r*c:][:c])
		for i, v := range logs {
			y[r*c+i] = math.Exp(v)
		}
	}
	d.put(out, y)
}
