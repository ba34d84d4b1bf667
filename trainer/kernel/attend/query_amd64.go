//go:build !purego

package attend

import (
	"unsafe"

	"espalier/trainer/kernel/cpuinfo"
)

// queryArgs is the argument block of the loops; _asm/attend has its offsets.
type queryArgs struct {
	x, rows         *float32
	slots           *int32
	keys, heads, dh int
	ld              int // bytes
	s, out, by      *float32
}

func (q *Query) args(s, rows []float32) queryArgs {
	return queryArgs{rows: &rows[0], slots: &q.Slots[0], keys: len(q.Slots), heads: q.Heads, dh: q.DH, ld: 4 * q.LD, s: &s[0]}
}

func (q *Query) scores(s, x, k []float32) {
	if !cpuinfo.AVX2 {
		q.scoresGeneric(s, x, k)
		return
	}
	a := q.args(s, k)
	a.x = &x[0]
	if p := (*byte)(unsafe.Pointer(&a)); cpuinfo.AVX512 {
		queryScoresAVX512(p)
	} else {
		queryScoresAVX2(p)
	}
}

func (q *Query) values(out, s, by, v []float32) {
	if !cpuinfo.AVX2 {
		q.valuesGeneric(out, s, by, v)
		return
	}
	if q.pieces(out, s, by, v) {
		return
	}
	a := q.args(s, v)
	a.out, a.by = &out[0], &by[0]
	if p := (*byte)(unsafe.Pointer(&a)); cpuinfo.AVX512 {
		queryValuesAVX512(p)
	} else {
		queryValuesAVX2(p)
	}
}

// piecesArgs is the argument block of the loops over pieces.
type piecesArgs struct {
	rows     *float32
	slots    *int32
	keys, ld int // ld in bytes
	out      *float32
	s, by    [mostPieces]*float32
}

const (
	piece      = 32 // columns
	mostPieces = 4
)

// pieces is values where heads are whole pieces, and as many as the loop takes
// at a time or a multiple. It reports whether they are.
func (q *Query) pieces(out, s, by, v []float32) bool {
	n := 2
	if cpuinfo.AVX512 {
		n = mostPieces
	}
	columns := q.Heads * q.DH
	if q.DH%piece != 0 || columns%(n*piece) != 0 {
		return false
	}
	a := piecesArgs{slots: &q.Slots[0], keys: len(q.Slots), ld: 4 * q.LD}
	for c := 0; c < columns; c += n * piece {
		a.rows, a.out = &v[c], &out[c]
		for k := range n {
			h := (c + k*piece) / q.DH
			a.s[k], a.by[k] = &s[h*len(q.Slots)], &by[h]
		}
		if p := (*byte)(unsafe.Pointer(&a)); cpuinfo.AVX512 {
			queryPiecesAVX512(p)
		} else {
			queryPiecesAVX2(p)
		}
	}
	return true
}
