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
	a := q.args(s, v)
	a.out, a.by = &out[0], &by[0]
	if p := (*byte)(unsafe.Pointer(&a)); cpuinfo.AVX512 {
		queryValuesAVX512(p)
	} else {
		queryValuesAVX2(p)
	}
}
