package cpu

import (
	"fmt"

	"espalier/trainer/kernel/norm"
	"espalier/trainer/kernel/scalar"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// A lossJob is a cross-entropy of rows or its gradient.
type lossJob struct {
	x, lse           []float32
	loss             []float32 // forward
	dx, weight       []float32 // backward
	targets          []int32
	v, rows          int
	on, off, entropy float32
}

// smoothing returns the share of the target and of each other class, and the
// entropy term of the divergence.
func smoothing(s float32, v int) (on, off, entropy float32) {
	if s == 0 || v < 2 {
		return 1, 0, 0
	}
	hi, lo := 1-float64(s), float64(s)/float64(v-1)
	e := float64(lo * float64(v-1) * scalar.Log(lo))
	if hi > 0 {
		e += float64(hi * scalar.Log(hi))
	}
	return float32(hi), float32(lo), float32(e)
}

func (d *Device) planLoss(lse, logits, targets tensor.Tensor, c op.CrossEntropy) *lossJob {
	j := d.planLossOf(logits.Rows(), logits.Dim(-1), lse, targets, c)
	j.x = Floats(logits)
	return j
}

func (d *Device) planLossOf(rows, v int, lse, targets tensor.Tensor, c op.CrossEntropy) *lossJob {
	j := &d.loss
	*j = lossJob{lse: Floats(lse), targets: ints(targets), v: v, rows: rows}
	if len(j.lse) != j.rows || len(j.targets) != j.rows {
		panic("cpu: loss operands do not fit")
	}
	j.on, j.off, j.entropy = smoothing(c.Smoothing, j.v)
	for _, t := range j.targets {
		if int(t) >= j.v {
			d.fail(fmt.Errorf("cpu: target %d of %d classes", t, j.v))
			break
		}
	}
	return j
}

// CrossEntropy fills loss and lse.
func (d *Device) CrossEntropy(loss, lse, logits, targets tensor.Tensor, c op.CrossEntropy) {
	j := d.planLoss(lse, logits, targets, c)
	if j.loss = Floats(loss); len(j.loss) != j.rows {
		panic("cpu: loss operands do not fit")
	}
	d.pool.Run(j, (j.rows+rowsTile-1)/rowsTile)
}

// CrossEntropyBack fills dlogits.
func (d *Device) CrossEntropyBack(dlogits, weight, lse, logits, targets tensor.Tensor, c op.CrossEntropy) {
	j := d.planLoss(lse, logits, targets, c)
	j.dx, j.weight = Floats(dlogits), Floats(weight)
	if len(j.weight) != j.rows || len(j.dx) != len(j.x) {
		panic("cpu: loss operands do not fit")
	}
	d.pool.Run(j, (j.rows+rowsTile-1)/rowsTile)
}

// Tile does some rows.
func (j *lossJob) Tile(_, t int) {
	for r := t * rowsTile; r < min((t+1)*rowsTile, j.rows); r++ {
		x, target := j.x[r*j.v:][:j.v], int(j.targets[r])
		if j.dx == nil {
			j.loss[r] = j.forward(x, r, target)
			continue
		}
		dx := j.dx[r*j.v:][:j.v]
		if target < 0 || target >= j.v {
			clear(dx)
			continue
		}
		var at [1]float32 // the target's own, before x may be overwritten
		norm.Share(at[:], x[target:target+1], j.lse[r], j.weight[r], j.on)
		norm.Share(dx, x, j.lse[r], j.weight[r], j.off)
		dx[target] = at[0]
	}
}

// forward returns a row's loss and sets its lse.
func (j *lossJob) forward(x []float32, r, target int) float32 {
	top := norm.Largest(x)
	l := log32(norm.ExpTotal(x, top))
	j.lse[r] = top + l
	if target < 0 || target >= j.v {
		return 0
	}
	loss := l - (x[target] - top)
	if j.off != 0 {
		all := norm.Surprise(x, top, l)
		loss = j.entropy + float32(j.on*loss) + float32(j.off*(all-loss))
	}
	return loss
}
