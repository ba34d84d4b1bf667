//go:build !amd64 || purego

package attend

func (r *Rows) softmax(top, sum []float32) { r.softmaxGeneric(top, sum) }

func (r *Rows) gradient(dp, lse, delta, dbias []float32) { r.gradientGeneric(dp, lse, delta, dbias) }

func scaleRows(x, by []float32, ld, n int) { scaleRowsGeneric(x, by, ld, n) }

func dotRows(out, x, y []float32, ld, n int) { dotRowsGeneric(out, x, y, ld, n) }
