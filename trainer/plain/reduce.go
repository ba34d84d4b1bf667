package plain

import (
	"slices"

	"espalier/trainer/tensor"
)

// Sum sums all of x.
func (d *Device) Sum(out, x tensor.Tensor) {
	d.put(out, []float64{d.total(numbers(x))})
}

// SumSquares sums squares.
func (d *Device) SumSquares(out, x tensor.Tensor) {
	v := numbers(x)
	d.put(out, []float64{d.dot(v, v)})
}

// SumRows adds the sums of columns.
func (d *Device) SumRows(dbias, x tensor.Tensor) {
	y := make([]float64, dbias.Len())
	for i, v := range numbers(x) {
		y[i%len(y)] = d.round(y[i%len(y)] + v)
	}
	d.add(dbias, y)
}

// ArgMax finds the first maximum of each row.
func (d *Device) ArgMax(ids, x tensor.Tensor) {
	n, v := x.Dim(-1), numbers(x)
	d.each(ids, func(r int) float64 { return float64(order(v[r*n:][:n])[0]) })
}

// TopK finds the largest of each row.
func (d *Device) TopK(values, ids, x tensor.Tensor) {
	n, k, v := x.Dim(-1), values.Dim(-1), numbers(x)
	largest := func(i int) int { return order(v[i/k*n:][:n])[i%k] }
	d.each(values, func(i int) float64 { return v[i/k*n+largest(i)] })
	d.each(ids, func(i int) float64 { return float64(largest(i)) })
}

// order returns places by falling numbers, then as they stand; NaN come last.
func order(x []float64) []int {
	at := make([]int, len(x))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(i, j int) int {
		switch a, b := x[i], x[j]; {
		case a > b, a == a && b != b:
			return -1
		case a < b, a != a && b == b:
			return 1
		}
		return 0
	})
	return at
}
