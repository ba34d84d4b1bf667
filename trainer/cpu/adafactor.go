package cpu

import (
	"cmp"
	"math"

	"espalier/trainer/kernel/norm"
	"espalier/trainer/kernel/scalar"
	"espalier/trainer/kernel/update"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// An adafactorJob is an update of Adafactor. Its passes are cut into rows, or
// pieces where it is not factored, and one of them into columns; what each
// leaves in parts is added up in order.
type adafactorJob struct {
	op.Adafactor
	pass           adafactorPass
	p, g, m        []float32
	row, col       []float32
	rows, cols     int       // of all matrices; cols is piece where it is not factored
	height         int       // rows of one matrix
	group          int       // rows of a tile
	rowBy, colBy   []float32 // 1/sqrt of the row means, by their mean, and of the column means
	parts, squares []float32 // of each row: of u², of p²
	beta, alpha    float32
	decay          float32
}

type adafactorPass uint8

const (
	adafactorRows   adafactorPass = iota // row means, or means and u²; p²
	adafactorCols                        // column means
	adafactorUpdate                      // u² of the rows
	adafactorMove                        // p
)

// Adafactor updates p, row, col and m in place.
func (d *Device) Adafactor(p, g, row, col, m tensor.Tensor, a op.Adafactor) {
	j := &d.adafactor
	*j = adafactorJob{Adafactor: a, p: Floats(p), g: Floats(g), row: Floats(row), col: floats(col), group: 1}
	if a.Beta1 != 0 {
		j.m = Floats(m)
	}
	n := len(j.p)
	if len(j.g) != n || (j.m != nil && len(j.m) != n) {
		panic("cpu: update operands do not fit")
	}
	if n == 0 {
		return
	}
	if j.factored() {
		if len(p.Shape) < 2 {
			panic("cpu: a vector has no factors")
		}
		j.cols, j.height = p.Dim(-1), p.Dim(-2)
		j.rows = n / j.cols
		j.group = max(1, piece/j.cols)
		if len(j.row) != j.rows || len(j.col) != j.rows/j.height*j.cols {
			panic("cpu: update operands do not fit")
		}
	} else {
		j.cols, j.rows = piece, (n+piece-1)/piece
		if len(j.row) != n {
			panic("cpu: update operands do not fit")
		}
	}
	buf := d.parts.take(3*j.rows + len(j.col))
	j.parts, buf = buf[:j.rows], buf[j.rows:]
	j.squares, buf = buf[:j.rows], buf[j.rows:]
	j.rowBy, j.colBy = buf[:j.rows], buf[j.rows:]
	j.beta = float32(1 - scalar.Exp(-float64(a.Decay)*scalar.Log(float64(a.Step))))
	j.GradScale = cmp.Or(a.GradScale, 1)

	j.run(d, adafactorRows, (j.rows+j.group-1)/j.group)
	if j.factored() {
		j.run(d, adafactorCols, j.rows/j.height*((j.cols+columnsTile-1)/columnsTile))
		j.factors()
		j.run(d, adafactorUpdate, (j.rows+j.group-1)/j.group)
	}
	rate := a.Rate
	if a.Scaled {
		rate *= max(a.MinScale, rms(j.squares, n))
	}
	j.alpha, j.decay = rate, 1-float32(rate*a.WeightDecay)
	if a.Clip > 0 {
		j.alpha /= max(1, rms(j.parts, n)/a.Clip)
	}
	j.alpha *= 1 - a.Beta1
	j.run(d, adafactorMove, (j.rows+j.group-1)/j.group)
}

func (j *adafactorJob) factored() bool { return j.col != nil }

func (j *adafactorJob) run(d *Device, pass adafactorPass, tiles int) {
	j.pass = pass
	d.pool.Run(j, tiles)
}

// rms is the root of the mean of n squares whose sums are in parts.
func rms(parts []float32, n int) float32 {
	var s float64
	for _, p := range parts {
		s += float64(p)
	}
	return float32(math.Sqrt(s / float64(n)))
}

// factors makes the factors of u from the means.
func (j *adafactorJob) factors() {
	for at := 0; at < j.rows; at += j.height {
		means := j.row[at:][:j.height]
		var sum float64
		for _, v := range means {
			sum += float64(v)
		}
		mean := sum / float64(j.height)
		for i, v := range means {
			j.rowBy[at+i] = float32(math.Sqrt(mean / float64(v)))
		}
	}
	for i, v := range j.col {
		j.colBy[i] = float32(1 / math.Sqrt(float64(v)))
	}
}

// Tile does a tile of the pass.
func (j *adafactorJob) Tile(_, t int) {
	if j.pass == adafactorCols {
		j.columns(t)
		return
	}
	for r := t * j.group; r < min((t+1)*j.group, j.rows); r++ {
		lo, hi := r*j.cols, min((r+1)*j.cols, len(j.p))
		p, g := j.p[lo:hi], j.g[lo:hi]
		switch j.pass {
		case adafactorRows:
			if j.Scaled {
				j.squares[r] = norm.Squares(p)
			}
			if j.factored() {
				j.row[r] = j.mean(j.row[r], norm.Squares(g), j.cols)
			} else {
				j.parts[r] = update.Means(j.row[lo:hi], g, j.GradScale, j.Eps, j.beta)
			}
		case adafactorUpdate:
			by := j.rowBy[r] * j.GradScale
			j.parts[r] = by * by * update.ProductSquares(g, j.columnFactors(r))
		case adafactorMove:
			var m []float32
			if j.m != nil {
				m = j.m[lo:hi]
			}
			if j.factored() {
				update.Adafactor(p, g, j.columnFactors(r), m, false, j.alpha*(j.rowBy[r]*j.GradScale), j.decay, j.Beta1)
			} else {
				update.Adafactor(p, g, j.row[lo:hi], m, true, j.alpha*j.GradScale, j.decay, j.Beta1)
			}
		}
	}
}

// mean moves a mean towards that of n squares, given their sum.
func (j *adafactorJob) mean(old, sum float32, n int) float32 {
	x := float32(j.GradScale*j.GradScale*sum)/float32(n) + j.Eps
	return float32(j.beta*old) + float32((1-j.beta)*x)
}

// columnFactors are those of row r's matrix.
func (j *adafactorJob) columnFactors(r int) []float32 {
	return j.colBy[r/j.height*j.cols:][:j.cols]
}

// columns moves the means of some columns of one matrix.
func (j *adafactorJob) columns(t int) {
	tiles := (j.cols + columnsTile - 1) / columnsTile
	b, lo := t/tiles, t%tiles*columnsTile
	hi := min(lo+columnsTile, j.cols)
	var sums [columnsTile]float32
	update.SumSquares(sums[:hi-lo], j.g[b*j.height*j.cols+lo:], j.cols, j.height)
	for i, v := range j.col[b*j.cols:][lo:hi] {
		j.col[b*j.cols+lo+i] = j.mean(v, sums[i], j.height)
	}
}
