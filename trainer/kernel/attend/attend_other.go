//go:build !amd64 || purego

package attend

func (r *Rows) softmax(top, sum []float32) { r.softmaxGeneric(top, sum) }

func (r *Rows) gradient(dp, lse, delta, dbias []float32) { r.gradientGeneric(dp, lse, delta, dbias) }

func scaleRows(x, by []float32, ld, n int) { scaleRowsGeneric(x, by, ld, n) }

func dotRows(out, x, y []float32, ld, n int) { dotRowsGeneric(out, x, y, ld, n) }

func (q *Query) scores(s, x, k []float32) { q.scoresGeneric(s, x, k) }

func (q *Query) values(out, s, by, v []float32) { q.valuesGeneric(out, s, by, v) }

func copyRows(dst, src []float32, ld, from, rows, n int) {
	copyRowsGeneric(dst, src, ld, from, rows, n)
}
