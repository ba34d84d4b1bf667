package cpu

import (
	"espalier/trainer/kernel/norm"
	"espalier/trainer/tensor"
)

// A sumJob adds up a vector in pieces.
type sumJob struct {
	x, parts []float32
	squares  bool
}

// Sum adds all of x: the sums of pieces of 8192 are added in order, in float64.
func (d *Device) Sum(out, x tensor.Tensor) { d.runSum(out, x, false) }

// SumSquares adds the squares of x likewise.
func (d *Device) SumSquares(out, x tensor.Tensor) { d.runSum(out, x, true) }

func (d *Device) runSum(out, x tensor.Tensor, squares bool) {
	if out.Len() != 1 {
		panic("cpu: a sum has one element")
	}
	j := &d.sum
	*j = sumJob{x: Floats(x), squares: squares}
	tiles := (len(j.x) + piece - 1) / piece
	j.parts = d.parts.take(tiles)
	d.pool.Run(j, tiles)
	var s float64
	for _, p := range j.parts {
		s += float64(p)
	}
	Floats(out)[0] = float32(s)
}

// Tile adds up one piece.
func (j *sumJob) Tile(_, t int) {
	x := j.x[t*piece : min((t+1)*piece, len(j.x))]
	if j.squares {
		j.parts[t] = norm.Squares(x)
	} else {
		j.parts[t] = norm.Sum(x)
	}
}

// A columnJob adds rows up.
type columnJob struct {
	x, out []float32
	rows   int
}

// SumRows adds the rows of x to dbias, in order.
func (d *Device) SumRows(dbias, x tensor.Tensor) {
	j := &d.column
	*j = columnJob{x: Floats(x), out: Floats(dbias)}
	n := len(j.out)
	if len(j.x) == 0 {
		return
	}
	if n == 0 || len(j.x)%n != 0 {
		panic("cpu: rows do not fit")
	}
	j.rows = len(j.x) / n
	d.pool.Run(j, (n+columnsTile-1)/columnsTile)
}

// Tile adds up some columns.
func (j *columnJob) Tile(_, t int) {
	lo, hi := t*columnsTile, min((t+1)*columnsTile, len(j.out))
	norm.SumRows(j.out[lo:hi], j.x[lo:], len(j.out), j.rows)
}

// A topJob finds the largest of rows.
type topJob struct {
	x, values []float32
	ids       []int32
	n, k      int
}

// ArgMax finds the first maximum of each row.
func (d *Device) ArgMax(ids, x tensor.Tensor) {
	j := &d.top
	*j = topJob{x: Floats(x), ids: ints(ids), n: x.Dim(-1)}
	if len(j.ids) != x.Rows() || j.n == 0 {
		panic("cpu: ids do not fit the rows")
	}
	d.pool.Run(j, len(j.ids))
}

// TopK finds the k largest of each row, descending, ties by lower index.
func (d *Device) TopK(values, ids, x tensor.Tensor) {
	j := &d.top
	*j = topJob{x: Floats(x), values: Floats(values), ids: ints(ids), n: x.Dim(-1), k: values.Dim(-1)}
	rows := x.Rows()
	if j.k > j.n || len(j.values) != rows*j.k || len(j.ids) != rows*j.k {
		panic("cpu: top values do not fit the rows")
	}
	if j.k > 0 {
		d.pool.Run(j, rows)
	}
}

// Tile does one row.
func (j *topJob) Tile(_, r int) {
	x := j.x[r*j.n:][:j.n]
	if j.values == nil {
		j.ids[r] = first(x)
		return
	}
	values, ids := j.values[r*j.k:][:0], j.ids[r*j.k:][:0]
	for i, y := range x {
		at := len(values)
		if at == j.k && !above(y, values[at-1]) {
			continue
		}
		for at > 0 && above(y, values[at-1]) {
			at--
		}
		if len(values) < j.k {
			values, ids = values[:len(values)+1], ids[:len(ids)+1]
		}
		copy(values[at+1:], values[at:])
		copy(ids[at+1:], ids[at:])
		values[at], ids[at] = y, int32(i)
	}
}

// first returns the place of the first maximum; that of a row of NaN is 0.
func first(x []float32) int32 {
	top := norm.Largest(x)
	for i, v := range x {
		if v == top {
			return int32(i)
		}
	}
	return 0
}

// above reports whether x comes before y in descending order, NaN last.
func above(x, y float32) bool { return x > y || (y != y && x == x) }
