package cpu

import (
	"espalier/trainer/tensor"
)

// Sum adds all of x, in pieces whose sums are added in order.
func (d *Device) Sum(out, x tensor.Tensor) {
	d.reduce(out, x, func(v float32) float32 { return v })
}

// SumSquares adds the squares of x likewise.
func (d *Device) SumSquares(out, x tensor.Tensor) {
	d.reduce(out, x, func(v float32) float32 { return v * v })
}

func (d *Device) reduce(out, x tensor.Tensor, f func(v float32) float32) {
	if out.Len() != 1 {
		panic("cpu: a sum has one element")
	}
	xs := Floats(x)
	parts := make([]float64, (len(xs)+piece-1)/piece)
	d.span(len(xs), piece, func(lo, hi int) {
		var s float64
		for _, v := range xs[lo:hi] {
			s += float64(f(v))
		}
		parts[lo/piece] = s
	})
	var s float64
	for _, p := range parts {
		s += p
	}
	Floats(out)[0] = float32(s)
}

// SumRows adds the rows of x to dbias, in order.
func (d *Device) SumRows(dbias, x tensor.Tensor) {
	n := dbias.Len()
	xs, ys := Floats(x), Floats(dbias)
	if n == 0 || len(xs)%n != 0 {
		if len(xs) == 0 {
			return
		}
		panic("cpu: rows do not fit")
	}
	d.span(n, 64, func(lo, hi int) {
		for r := 0; r < len(xs); r += n {
			for j := lo; j < hi; j++ {
				ys[j] += xs[r+j]
			}
		}
	})
}

// ArgMax finds the first maximum of each row.
func (d *Device) ArgMax(ids, x tensor.Tensor) {
	rows, n := x.Rows(), x.Dim(-1)
	if ids.Len() != rows || n == 0 {
		panic("cpu: ids do not fit the rows")
	}
	xs, is := Floats(x), ints(ids)
	d.span(rows, 8, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			best := 0
			row := xs[r*n:][:n]
			for j, v := range row {
				if v > row[best] || row[best] != row[best] && v == v {
					best = j
				}
			}
			is[r] = int32(best)
		}
	})
}

// TopK finds the k largest of each row, descending, ties by lower index.
func (d *Device) TopK(values, ids, x tensor.Tensor) {
	rows, n, k := x.Rows(), x.Dim(-1), values.Dim(-1)
	if k > n || values.Len() != rows*k || ids.Len() != rows*k {
		panic("cpu: top values do not fit the rows")
	}
	if k == 0 {
		return
	}
	xs, vs, is := Floats(x), Floats(values), ints(ids)
	d.each(rows, func(r int) {
		v, id := vs[r*k:][:0], is[r*k:][:0]
		for j, y := range xs[r*n:][:n] {
			at := len(v)
			for at > 0 && (y > v[at-1] || v[at-1] != v[at-1] && y == y) {
				at--
			}
			if at == k {
				continue
			}
			if len(v) < k {
				v, id = v[:len(v)+1], id[:len(id)+1]
			}
			copy(v[at+1:], v[at:])
			copy(id[at+1:], id[at:])
			v[at], id[at] = y, int32(j)
		}
	})
}
