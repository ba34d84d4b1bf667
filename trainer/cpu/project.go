package cpu

import (
	"math"

	"espalier/trainer/kernel/norm"
	"espalier/trainer/kernel/scalar"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// Rows and classes of the logits that exist at a time.
const (
	projectRows    = 512
	projectClasses = 2048
)

// A projectJob is a cross-entropy over logits that are made part by part.
type projectJob struct {
	lossJob
	d          *Device
	n          int
	x          []float32
	w, bias    []float32
	rowW, colW int // steps of w along n and along the classes
	trans      bool

	logits  []float32 // of this part: rows r0 to r1, classes v0 to v1
	r0, r1  int
	v0, v1  int
	states  []projectState
	dx, dw  []float32
	dbias   []float32
	differs bool // backward
}

// A projectState is what a row's sums have come to.
type projectState struct {
	top, target float32
	sum, all    float64 // of exp(logit - top), and of logits
}

func (d *Device) planProject(lse, x tensor.Tensor, p op.Projection, targets tensor.Tensor, c op.CrossEntropy) *projectJob {
	j := &d.project
	states := j.states
	*j = projectJob{d: d, n: x.Dim(-1), x: Floats(x), w: Floats(p.W), bias: floats(p.Bias), trans: p.Trans, states: states}
	if len(p.W.Shape) != 2 {
		panic("cpu: a projection has two axes")
	}
	n, v := p.W.Shape[0], p.W.Shape[1]
	j.rowW, j.colW = v, 1
	if p.Trans {
		n, v, j.rowW, j.colW = v, n, 1, v
	}
	rows := x.Rows()
	if n != j.n || (j.bias != nil && len(j.bias) != v) {
		panic("cpu: projection does not fit")
	}
	j.lossJob = *d.planLossOf(rows, v, lse, targets, c)
	if cap(j.states) < projectRows {
		j.states = make([]projectState, projectRows)
	}
	return j
}

// ProjectLoss fills loss and lse.
func (d *Device) ProjectLoss(loss, lse, x tensor.Tensor, p op.Projection, targets tensor.Tensor, c op.CrossEntropy) {
	j := d.planProject(lse, x, p, targets, c)
	if j.loss = Floats(loss); len(j.loss) != j.rows {
		panic("cpu: loss operands do not fit")
	}
	for j.r0 = 0; j.r0 < j.rows; j.r0 = j.r1 {
		j.r1 = min(j.r0+projectRows, j.rows)
		for r := range j.r1 - j.r0 {
			j.states[r] = projectState{top: float32(math.Inf(-1))}
		}
		for j.v0 = 0; j.v0 < j.v; j.v0 = j.v1 {
			j.v1 = min(j.v0+projectClasses, j.v)
			j.part()
		}
		for r := range j.r1 - j.r0 {
			j.finish(r)
		}
	}
}

// part makes the logits of this part and runs its rows.
func (j *projectJob) part() {
	d, rows, classes := j.d, j.r1-j.r0, j.v1-j.v0
	j.logits = d.logits.take(rows * classes)
	m := &d.matmul
	*m = matmulJob{d: d, product: product{batch: 1, m: rows, n: classes, k: j.n}, a: j.x[j.r0*j.n:], rowA: j.n, colA: 1, c: j.logits, ldc: classes}
	m.e.alpha = 1
	if j.bias != nil {
		m.e.bias = j.bias[j.v0:j.v1]
	}
	m.plain, m.rowB, m.colB = j.w[j.v0*j.colW:], j.rowW, j.colW
	m.run()
	d.pool.Run(j, (rows+rowsTile-1)/rowsTile)
}

// Tile does some rows of a part.
func (j *projectJob) Tile(_, t int) {
	classes := j.v1 - j.v0
	for r := t * rowsTile; r < min((t+1)*rowsTile, j.r1-j.r0); r++ {
		x, row := j.logits[r*classes:][:classes], j.r0+r
		target := int(j.targets[row]) - j.v0
		if j.differs {
			j.share(x, row, target)
			continue
		}
		s := &j.states[r]
		if top := norm.Largest(x); top > s.top {
			s.sum = float64(s.sum * scalar.Exp(float64(s.top)-float64(top)))
			s.top = top
		}
		s.sum += float64(norm.ExpTotal(x, s.top))
		if j.off != 0 {
			s.all += float64(norm.Sum(x))
		}
		if target >= 0 && target < classes {
			s.target = x[target]
		}
	}
}

// finish sets a row's loss and lse.
func (j *projectJob) finish(r int) {
	s, row := &j.states[r], j.r0+r
	l := scalar.Log(s.sum)
	j.lse[row] = float32(float64(s.top) + l)
	j.loss[row] = 0
	if t := int(j.targets[row]); t < 0 || t >= j.v {
		return
	}
	loss := l - (float64(s.target) - float64(s.top))
	if j.off != 0 {
		all := float64(float64(j.v)*(l+float64(s.top))) - s.all
		loss = float64(j.entropy) + float64(float64(j.on)*loss) + float64(float64(j.off)*(all-loss))
	}
	j.loss[row] = float32(loss)
}

// share turns a row's logits into their gradients.
func (j *projectJob) share(x []float32, row, target int) {
	if t := int(j.targets[row]); t < 0 || t >= j.v {
		clear(x)
		return
	}
	lse, w := j.lse[row], j.weight[row]
	var at [1]float32
	if target >= 0 && target < len(x) {
		norm.Share(at[:], x[target:target+1], lse, w, j.on)
	}
	norm.Share(x, x, lse, w, j.off)
	if target >= 0 && target < len(x) {
		x[target] = at[0]
	}
}

// ProjectLossBack fills dx and adds to dw and dbias.
func (d *Device) ProjectLossBack(dx, dw, dbias, weight, lse, x tensor.Tensor, p op.Projection, targets tensor.Tensor, c op.CrossEntropy) {
	j := d.planProject(lse, x, p, targets, c)
	j.differs = true
	j.weight, j.dx, j.dw, j.dbias = Floats(weight), floats(dx), floats(dw), floats(dbias)
	if len(j.weight) != j.rows || (j.dx != nil && len(j.dx) != len(j.x)) || (j.dw != nil && len(j.dw) != len(j.w)) || (j.dbias != nil && len(j.dbias) != j.v) {
		panic("cpu: gradients of a projection do not fit")
	}
	if j.v == 0 {
		clear(j.dx)
	}
	for j.r0 = 0; j.r0 < j.rows; j.r0 = j.r1 {
		j.r1 = min(j.r0+projectRows, j.rows)
		for j.v0 = 0; j.v0 < j.v; j.v0 = j.v1 {
			j.v1 = min(j.v0+projectClasses, j.v)
			j.part()
			j.partBack()
		}
	}
}

// partBack takes the gradients of a part's logits to x, w and the bias.
func (j *projectJob) partBack() {
	d, rows, classes := j.d, j.r1-j.r0, j.v1-j.v0
	m := &d.matmul
	if j.dx != nil {
		*m = matmulJob{d: d, product: product{batch: 1, m: rows, n: j.n, k: classes}, a: j.logits, rowA: classes, colA: 1, c: j.dx[j.r0*j.n:], ldc: j.n, load: j.v0 > 0}
		m.e.alpha = 1
		m.plain, m.rowB, m.colB = j.w[j.v0*j.colW:], j.colW, j.rowW
		m.run()
	}
	switch {
	case j.dw == nil:
	case j.trans:
		*m = matmulJob{d: d, product: product{batch: 1, m: classes, n: j.n, k: rows}, a: j.logits, rowA: 1, colA: classes, c: j.dw[j.v0*j.n:], ldc: j.n, load: true}
		m.e.alpha = 1
		m.plain, m.rowB, m.colB = j.x[j.r0*j.n:], j.n, 1
		m.run()
	default:
		*m = matmulJob{d: d, product: product{batch: 1, m: j.n, n: classes, k: rows}, a: j.x[j.r0*j.n:], rowA: 1, colA: j.n, c: j.dw[j.v0:], ldc: j.v, load: true}
		m.e.alpha = 1
		m.plain, m.rowB, m.colB = j.logits, classes, 1
		m.run()
	}
	if j.dbias != nil {
		d.column = columnJob{x: j.logits, out: j.dbias[j.v0:j.v1], rows: rows}
		d.pool.Run(&d.column, (classes+columnsTile-1)/columnsTile)
	}
}
