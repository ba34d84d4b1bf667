package cpu

import (
	"fmt"
	"math"

	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// smoothing returns the share of the target and of each other class, and the
// entropy term of the divergence.
func smoothing(s float32, v int) (on, off, entropy float32) {
	if s == 0 || v < 2 {
		return 1, 0, 0
	}
	hi, lo := 1-float64(s), float64(s)/float64(v-1)
	e := lo * float64(v-1) * math.Log(lo)
	if hi > 0 {
		e += hi * math.Log(hi)
	}
	return float32(hi), float32(lo), float32(e)
}

func (d *Device) checkLoss(lse, logits, targets tensor.Tensor) (rows, v int) {
	rows, v = logits.Rows(), logits.Dim(-1)
	if lse.Len() != rows || targets.Len() != rows {
		panic("cpu: loss operands do not fit")
	}
	for _, t := range ints(targets) {
		if int(t) >= v {
			d.fail(fmt.Errorf("cpu: target %d of %d classes", t, v))
			break
		}
	}
	return rows, v
}

// CrossEntropy fills loss and lse.
func (d *Device) CrossEntropy(loss, lse, logits, targets tensor.Tensor, c op.CrossEntropy) {
	rows, v := d.checkLoss(lse, logits, targets)
	if loss.Len() != rows {
		panic("cpu: loss operands do not fit")
	}
	ls, es, xs, ts := Floats(loss), Floats(lse), Floats(logits), ints(targets)
	on, off, entropy := smoothing(c.Smoothing, v)
	d.span(rows, 4, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			row := xs[r*v:][:v]
			top, sum := expSum(row)
			l := log32(sum)
			es[r] = top + l
			t := int(ts[r])
			if t < 0 || t >= v {
				ls[r] = 0
				continue
			}
			ls[r] = l - (row[t] - top)
			if off != 0 {
				var all float32
				for _, x := range row {
					all += l - (x - top)
				}
				ls[r] = entropy + float32(on*ls[r]) + float32(off*(all-ls[r]))
			}
		}
	})
}

// CrossEntropyBack fills dlogits.
func (d *Device) CrossEntropyBack(dlogits, weight, lse, logits, targets tensor.Tensor, c op.CrossEntropy) {
	rows, v := d.checkLoss(lse, logits, targets)
	if weight.Len() != rows || dlogits.Len() != logits.Len() {
		panic("cpu: loss operands do not fit")
	}
	ds, ws, es, xs, ts := Floats(dlogits), Floats(weight), Floats(lse), Floats(logits), ints(targets)
	on, off, _ := smoothing(c.Smoothing, v)
	d.span(rows, 4, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			row, y, t := xs[r*v:][:v], ds[r*v:][:v], int(ts[r])
			if t < 0 || t >= v {
				clear(y)
				continue
			}
			for j, x := range row {
				share := off
				if j == t {
					share = on
				}
				y[j] = ws[r] * (exp32(x-es[r]) - share)
			}
		}
	})
}
