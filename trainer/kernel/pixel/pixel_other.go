//go:build !amd64 || purego

package pixel

func inverse(dst []byte, stride int, co, q *[64]int16) { inverseGeneric(dst, stride, co, q) }

func doubleRow(out, s []byte) { doubleRowGeneric(out, s) }

func doubleRows(out, s, near []byte) { doubleRowsGeneric(out, s, near) }

func colours(out, y, b, r []byte) { coloursGeneric(out, y, b, r) }

func across(out, row []byte, t *Taps) { acrossGeneric(out, row, t) }

func down(out, in []byte, stride int, weight []int32) { downGeneric(out, in, stride, weight) }
