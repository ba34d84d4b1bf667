package cpu

import (
	"math"

	"espalier/trainer/kernel/elem"
	"espalier/trainer/kernel/norm"
	"espalier/trainer/kernel/scalar"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// Rows of a tile of row work, columns of a tile of column work.
const (
	rowsTile    = 8
	columnsTile = 256
)

// A normJob normalises rows, or takes the gradient of that.
type normJob struct {
	x, out, gain, shift, stats []float32
	dy, dx, dgain, dshift      []float32
	c, rows, tile              int // tile: rows of a tile
	n                          op.Norm
	columns                    bool // the gradients of gain and shift
}

// Norm fills out and stats: the mean (0 for RMSNorm) and the factor of a row.
func (d *Device) Norm(out, stats, x, gain, shift tensor.Tensor, n op.Norm) {
	j := &d.norm
	*j = normJob{x: Floats(x), out: Floats(out), gain: Floats(gain), shift: floats(shift), stats: floats(stats), c: x.Dim(-1), rows: x.Rows(), n: n}
	if len(j.out) != len(j.x) || len(j.gain) != j.c || (j.shift != nil && len(j.shift) != j.c) || (j.stats != nil && len(j.stats) != 2*j.rows) {
		panic("cpu: norm operands do not fit")
	}
	j.tile = d.shareOr(j.rows, rowsTile)
	d.pool.Run(j, (j.rows+j.tile-1)/j.tile)
}

// NormBack fills dx, or adds to it, and adds to dgain and dshift.
func (d *Device) NormBack(dx, dgain, dshift, dy, x, gain, stats tensor.Tensor, n op.Norm) {
	j := &d.norm
	*j = normJob{
		x: Floats(x), dy: Floats(dy), gain: Floats(gain), stats: Floats(stats),
		dx: floats(dx), dgain: floats(dgain), dshift: floats(dshift), c: x.Dim(-1), rows: x.Rows(), n: n,
	}
	if len(j.dy) != len(j.x) || len(j.gain) != j.c || len(j.stats) != 2*j.rows ||
		(j.dx != nil && len(j.dx) != len(j.x)) || (j.dgain != nil && len(j.dgain) != j.c) || (j.dshift != nil && len(j.dshift) != j.c) {
		panic("cpu: norm operands do not fit")
	}
	if j.dgain != nil || j.dshift != nil {
		j.columns = true
		d.pool.Run(j, (j.c+columnsTile-1)/columnsTile)
		j.columns = false
	}
	if j.dx != nil {
		j.tile = rowsTile
		d.pool.Run(j, (j.rows+j.tile-1)/j.tile)
	}
}

// Tile does some rows, or some columns of the parameters' gradients.
func (j *normJob) Tile(_, t int) {
	if j.columns {
		lo, hi := t*columnsTile, min((t+1)*columnsTile, j.c)
		if j.rows == 0 || lo == hi {
			return
		}
		switch {
		case j.dshift == nil:
			norm.Gains(j.dgain[lo:hi], j.dy[lo:], j.x[lo:], j.stats, j.c, j.rows)
		case j.dgain == nil:
			norm.SumRows(j.dshift[lo:hi], j.dy[lo:], j.c, j.rows)
		default:
			norm.GainsAndShifts(j.dgain[lo:hi], j.dshift[lo:hi], j.dy[lo:], j.x[lo:], j.stats, j.c, j.rows)
		}
		return
	}
	lo, hi := t*j.tile, min((t+1)*j.tile, j.rows)
	if j.dx == nil {
		for r := lo; r < hi; r++ {
			if r+1 < hi && j.n.Kind != op.RMSNorm {
				j.two(r)
				r++
			} else {
				j.finish(r, rowMoments(j.x[r*j.c:][:j.c], j.n))
			}
		}
		return
	}
	for r := lo; r < hi; r++ {
		at := r * j.c
		j.back(j.dx[at:][:j.c], j.dy[at:][:j.c], j.x[at:][:j.c], j.stats[2*r], j.stats[2*r+1])
	}
}

// Moments are what a row is normalised with.
type moments struct{ mean, inv float32 }

// two normalises rows r and r+1.
func (j *normJob) two(r int) {
	x, y := j.x[r*j.c:][:j.c], j.x[(r+1)*j.c:][:j.c]
	a, b := norm.Sums(x, y)
	a, b = a/float32(j.c), b/float32(j.c)
	u, v := norm.BothDeviations(x, y, a, b)
	j.finish(r, moments{a, inverse(u, j.c, j.n)})
	j.finish(r+1, moments{b, inverse(v, j.c, j.n)})
}

// finish normalises row r with its moments.
func (j *normJob) finish(r int, m moments) {
	if j.stats != nil {
		j.stats[2*r], j.stats[2*r+1] = m.mean, m.inv
	}
	out, row := j.out[r*j.c:][:j.c], j.x[r*j.c:][:j.c]
	if j.shift == nil {
		norm.ApplyBare(out, row, j.gain, m.mean, m.inv)
	} else {
		norm.Apply(out, row, j.gain, j.shift, m.mean, m.inv)
	}
}

func rowMoments(row []float32, n op.Norm) moments {
	switch n.Kind {
	case op.LayerNorm, op.StdNorm:
		mean := norm.Sum(row) / float32(len(row))
		return moments{mean, inverse(norm.Deviations(row, mean), len(row), n)}
	case op.RMSNorm:
		return moments{0, 1 / sqrt32(norm.Squares(row)/float32(len(row))+float32(n.Eps))}
	}
	panic("cpu: unknown norm")
}

// inverse is the factor of a row with so many numbers, from the sum of their
// squared deviations.
func inverse(deviations float32, c int, n op.Norm) float32 {
	if n.Kind == op.StdNorm {
		return 1 / (sqrt32(deviations/float32(c-1)) + float32(n.Eps))
	}
	return 1 / sqrt32(deviations/float32(c)+float32(n.Eps))
}

// back fills one row of dx, or adds to it.
func (j *normJob) back(dx, dy, x []float32, mean, inv float32) {
	sum, dot := norm.Slopes(dy, j.gain, x, mean)
	c := float32(j.c)
	sum /= c
	var slope float32
	switch j.n.Kind {
	case op.LayerNorm:
		slope = inv * inv / c * dot
	case op.RMSNorm:
		sum, slope = 0, inv*inv/c*dot
	case op.StdNorm:
		if squares := norm.Deviations(x, mean); squares > 0 {
			slope = inv / float32((c-1)*sqrt32(squares/(c-1))) * dot
		}
	}
	if !j.n.Add {
		norm.Back(dx, dy, j.gain, x, mean, inv, sum, slope)
		return
	}
	var part [256]float32
	for at := 0; at < len(dx); at += len(part) {
		end := min(at+len(part), len(dx))
		g := part[:end-at]
		norm.Back(g, dy[at:end], j.gain[at:end], x[at:end], mean, inv, sum, slope)
		elem.Add(dx[at:end], dx[at:end], g)
	}
}

func log32(x float32) float32  { return float32(scalar.Log(float64(x))) }
func sqrt32(x float32) float32 { return float32(math.Sqrt(float64(x))) }

// A softmaxJob is a softmax of rows or its logarithm.
type softmaxJob struct {
	x, out  []float32
	c, rows int
	tile    int // rows of a tile
	log     bool
}

// Softmax over the last axis.
func (d *Device) Softmax(out, x tensor.Tensor) { d.runSoftmax(out, x, false) }

// LogSoftmax over the last axis.
func (d *Device) LogSoftmax(out, x tensor.Tensor) { d.runSoftmax(out, x, true) }

func (d *Device) runSoftmax(out, x tensor.Tensor, log bool) {
	j := &d.softmax
	*j = softmaxJob{x: Floats(x), out: Floats(out), c: x.Dim(-1), rows: x.Rows(), log: log}
	if len(j.x) != len(j.out) {
		panic("cpu: softmax operands do not fit")
	}
	j.tile = d.shareOr(j.rows, rowsTile)
	d.pool.Run(j, (j.rows+j.tile-1)/j.tile)
}

// Tile does some rows.
func (j *softmaxJob) Tile(_, t int) {
	for r := t * j.tile; r < min((t+1)*j.tile, j.rows); r++ {
		x, y := j.x[r*j.c:][:j.c], j.out[r*j.c:][:j.c]
		top := norm.Largest(x)
		if j.log {
			norm.Less(y, x, top, log32(norm.ExpTotal(x, top)))
		} else {
			scaleRow(y, 1/norm.ExpSum(y, x, top))
		}
	}
}
