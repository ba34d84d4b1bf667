package cpu

import (
	"espalier/trainer/kernel/attend"
	"espalier/trainer/kernel/elem"
	"espalier/trainer/kernel/gemm"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// An attendJob is an attention, forward or backward, cut into heads. For each
// head of each row of the keys' batch, tiles of queries are multiplied with all
// keys; a tile's scores are all that is ever stored of them.
type attendJob struct {
	d                                *Device
	b, group, h, tq, tk, cap, dh     int
	dim                              int // of a row of q, k and v
	rows                             int // queries of a tile
	span                             int // keys of a tile, backward
	parts                            int // pieces that a head's queries are cut into
	chunk                            int // heads of a tile of the pool
	scale, hidden                    float32
	causal                           bool
	past                             int
	mask, bias                       []float32
	biasB, biasH, biasQ              int // steps of the bias; 0 where it is repeated
	drop                             elem.Mask
	q, k, v, out, lse                []float32
	dq, dk, dv, dbias, dout          []float32
	back                             bool
	inOrder                          bool // a tile of the pool is a head: the batch shares dbias
	serial                           bool // all heads share dbias
	ld                               int  // of a tile of scores, in which rows lie so far apart
	wordsKeys, wordsValues, wordsRow int  // scratch: packed keys, packed values, a tile of scores,
	wordsGemm                        int  // and what products use
}

// A tile has at most so many queries, and fewer where all of them pass over
// keys that none of them sees.
const (
	attendRows = 128
	causalRows = 56
)

// attendPad is how much longer than a row of scores the step from one to the
// next is: steps of a multiple of 2048 bytes share sets of the cache.
const attendPad = 16

// backKeys is the most keys of a tile, backward. The more queries and keys, the
// rarer sums over them are loaded and stored.
const backKeys = 512

// Floating-point work below which heads are done together.
const attendWork = 1 << 17

func (d *Device) planAttend(q, k, v tensor.Tensor, a *op.Attention) *attendJob {
	if len(q.Shape) != 3 || len(k.Shape) != 3 || len(v.Shape) != 3 {
		panic("cpu: attention takes three axes")
	}
	j := &d.attend
	*j = attendJob{
		d: d, b: q.Shape[0], group: max(a.Group, 1), tq: q.Shape[1], tk: k.Shape[1], cap: k.Shape[1],
		parts: 1, chunk: 1,
	}
	if j.b%j.group != 0 || k.Shape[0] != j.b/j.group || v.Shape[0] != k.Shape[0] {
		panic("cpu: batches of queries and keys do not fit")
	}
	if a.Keys != 0 {
		if a.Keys > j.cap {
			panic("cpu: more keys than rows")
		}
		j.tk = a.Keys
	}
	j.operands(q, k, v, a)
	return j
}

// mostRows is the most queries of a tile.
func (j *attendJob) mostRows() int {
	if j.seen(0) < j.tk {
		return causalRows
	}
	return attendRows
}

// planForward cuts heads into tiles of queries with all their keys.
func (j *attendJob) planForward() {
	j.rows = j.mostRows()
	for j.rows > 8 && j.rows*j.tk > attendRows*512 {
		j.rows /= 2
	}
	for j.rows > 16 && j.b/j.group*j.h*((j.tq+j.rows-1)/j.rows) < 2*j.d.pool.Threads() {
		j.rows /= 2
	}
	j.rows = min(j.rows, max(j.tq, 1))
	j.wordsKeys, j.wordsValues = gemm.PackedLen(j.dh, j.tk), gemm.PackedLen(j.tk, j.dh)
	j.ld = j.tk + attendPad
	j.wordsRow = j.rows * j.ld
	p := gemm.Product{K: max(j.dh, j.tk), Packed: true}
	j.wordsGemm = p.ScratchLen(j.rows, max(j.dh, j.tk))
}

// planBack cuts heads into tiles of some queries and some keys.
func (j *attendJob) planBack() {
	even := func(n, size, unit int) int {
		parts := max((n+size-1)/size, 1)
		return max((n+parts-1)/parts+unit-1, 1) / unit * unit
	}
	j.rows, j.span = min(even(j.tq, j.mostRows(), 8), max(j.tq, 1)), even(max(j.tk, 1), backKeys, gemm.Panel)
	j.wordsKeys, j.wordsValues = gemm.PackedLen(j.dh, j.span), gemm.PackedLen(j.span, j.dh)
	j.ld = j.span + attendPad
	j.wordsRow = j.rows * j.ld
	p := gemm.Product{K: j.rows}
	j.wordsGemm = max(p.ScratchLen(j.span, j.dh), j.span)
}

// operands takes what an attention works on, for the b, group, tq and tk that
// are set.
func (j *attendJob) operands(q, k, v tensor.Tensor, a *op.Attention) {
	j.h, j.dim = a.Heads, q.Shape[2]
	if j.h <= 0 || j.dim%j.h != 0 || k.Shape[2] != j.dim || v.Shape[2] != j.dim || v.Shape[1] != j.cap {
		panic("cpu: queries, keys and values do not fit")
	}
	j.dh = j.dim / j.h
	j.q, j.k, j.v = Floats(q), Floats(k), Floats(v)
	j.scale, j.hidden, j.causal, j.past, j.drop = a.Scale, a.MaskValue, a.Causal, a.Past, mask(a.Dropout)
	j.mask, j.bias = floats(a.Mask), floats(a.Bias)
	if j.hidden == 0 {
		j.hidden = -1e9
	}
	if j.mask != nil && len(j.mask) != j.b/j.group*j.tk {
		panic("cpu: mask does not fit the keys")
	}
	if j.bias != nil {
		s := a.Bias.Shape
		if len(s) != 4 || s[3] != j.tk || (s[0] != 1 && s[0] != j.b) || (s[1] != 1 && s[1] != j.h) || (s[2] != 1 && s[2] != j.tq) {
			panic("cpu: bias does not fit the scores")
		}
		if s[2] != 1 {
			j.biasQ = j.tk
		}
		if s[1] != 1 {
			j.biasH = s[2] * j.tk
		}
		if s[0] != 1 {
			j.biasB = s[1] * s[2] * j.tk
		}
	}
}

// Attend fills out and lse.
func (d *Device) Attend(out, lse, q, k, v tensor.Tensor, a op.Attention) {
	if !a.Slots.IsZero() {
		d.attendSlots(out, lse, q, k, v, a)
		return
	}
	j := d.planAttend(q, k, v, &a)
	j.planForward()
	j.out, j.lse = Floats(out), floats(lse)
	if len(j.out) != len(j.q) || (j.lse != nil && len(j.lse) != j.b*j.h*j.tq) {
		panic("cpu: attention outputs do not fit")
	}
	if j.tq == 1 && j.drop.Below == 0 && j.tk > 0 && j.dh > 0 {
		d.attendQueries(nil)
		return
	}
	heads := j.b / j.group * j.h
	tiles := (j.tq + j.rows - 1) / j.rows
	for heads*j.parts < 2*d.pool.Threads() && j.parts < tiles {
		j.parts++
	}
	d.runHeads(heads * j.parts)
}

// AttendBack fills dq, dk and dv, and adds to dbias.
func (d *Device) AttendBack(dq, dk, dv, dbias, dout, out, lse, q, k, v tensor.Tensor, a op.Attention) {
	j := d.planAttend(q, k, v, &a)
	j.planBack()
	j.back = true
	j.dq, j.dk, j.dv, j.dbias, j.dout, j.out, j.lse = Floats(dq), Floats(dk), Floats(dv), floats(dbias), Floats(dout), Floats(out), Floats(lse)
	n := len(j.q)
	if len(j.dq) != n || len(j.dk) != len(j.k) || len(j.dv) != len(j.v) || len(j.out) != n || len(j.dout) != n || len(j.lse) != j.b*j.h*j.tq {
		panic("cpu: attention gradients do not fit")
	}
	if j.dbias != nil && (j.bias == nil || len(j.dbias) != len(j.bias)) {
		panic("cpu: gradient of the bias does not fit it")
	}
	heads := j.b / j.group * j.h
	switch {
	case j.dbias == nil || (j.biasB != 0 && j.biasH != 0) || heads == 0:
	case j.biasH != 0 || j.h == 1:
		j.inOrder, heads = true, j.h
	case j.b == 1 && j.h == 1:
	default:
		j.serial, heads = true, 1
	}
	d.runHeads(heads)
}

func (d *Device) runHeads(n int) {
	j := &d.attend
	work := j.group * j.tq * j.tk * j.dh / j.parts
	if n > 4*d.pool.Threads() && !j.inOrder {
		j.chunk = max(1, min(attendWork/max(work, 1), n/(4*d.pool.Threads())))
	}
	d.pool.Run(j, (n+j.chunk-1)/j.chunk)
}

// Tile does one head, or some. What the thread probably does next is fetched
// ahead.
func (j *attendJob) Tile(thread, t int) {
	heads := j.b / j.group * j.h
	switch {
	case j.serial:
		for i := range heads {
			j.headBack(thread, i, i+1)
		}
	case j.inOrder:
		for i := t; i < heads; i += j.h {
			j.headBack(thread, i, i+j.h)
		}
	default:
		end := min((t+1)*j.chunk, heads*j.parts)
		for i := t * j.chunk; i < end; i++ {
			next := i + 1
			if next == end {
				next = (t + j.d.pool.Threads()) * j.chunk
			}
			if j.back {
				j.headBack(thread, i, next)
			} else {
				j.head(thread, i/j.parts, i%j.parts, next/j.parts)
			}
		}
	}
}

// aheadRows is how many rows of a head are fetched ahead at most.
const aheadRows = 128

// ahead says what of a head is to be fetched before it is begun, if there is
// one.
func (j *attendJob) ahead(a *gemm.Ahead, head int) {
	if head >= j.b/j.group*j.h {
		return
	}
	keys, queries := head/j.h*j.cap*j.dim+head%j.h*j.dh, head/j.h*j.group*j.tq*j.dim+head%j.h*j.dh
	a.Add(j.k[keys:], j.dim, min(j.tk, aheadRows), j.dh)
	a.Add(j.v[keys:], j.dim, min(j.tk, aheadRows), j.dh)
	rows := min(j.tq, j.rows, aheadRows)
	a.Add(j.q[queries:], j.dim, rows, j.dh)
	a.Add(j.out[queries:], j.dim, rows, j.dh)
	if j.back {
		a.Add(j.dout[queries:], j.dim, rows, j.dh)
	}
}

// keys packs a head's keys, as they are multiplied with queries.
func (j *attendJob) keys(dst, k []float32, kb, h int) []float32 {
	gemm.Pack(dst, k[kb*j.cap*j.dim+h*j.dh:], 1, j.dim, j.dh, j.tk, 0, panels(j.tk))
	return dst
}

// values packs a head's values, or keys as they are multiplied with gradients.
func (j *attendJob) values(dst, v []float32, kb, h int) []float32 {
	gemm.Pack(dst, v[kb*j.cap*j.dim+h*j.dh:], j.dim, 1, j.tk, j.dh, 0, panels(j.dh))
	return dst
}

// head computes a part of a head's queries.
func (j *attendJob) head(thread, head, part, next int) {
	kb, h := head/j.h, head%j.h
	if j.tq == 0 {
		return
	}
	tiles := (j.tq + j.rows - 1) / j.rows
	lo, hi := part*tiles/j.parts*j.rows, min((part+1)*tiles/j.parts*j.rows, j.tq)
	buf := j.d.local[thread].take(j.wordsKeys + j.wordsValues + j.wordsRow + j.wordsGemm)
	keys := j.keys(buf[:j.wordsKeys], j.k, kb, h)
	values := j.values(buf[j.wordsKeys:][:j.wordsValues], j.v, kb, h)
	s := buf[j.wordsKeys+j.wordsValues:]
	s, free := s[:j.wordsRow], s[j.wordsRow:]
	var ahead gemm.Ahead
	if next != head {
		j.ahead(&ahead, next)
	}
	for b := kb * j.group; b < (kb+1)*j.group; b++ {
		for i := lo; i < hi; i += j.rows {
			m := min(j.rows, hi-i)
			if n := j.seen(i + m); n == j.tk || !j.tile(s, keys, values, free, &ahead, b, h, i, m, n, false) {
				j.tile(s, keys, values, free, &ahead, b, h, i, m, j.tk, true)
			}
		}
	}
}

// seen returns how many keys the queries before end can see, where scores that
// are hidden give probabilities of 0.
func (j *attendJob) seen(end int) int {
	if !j.causal || j.bias != nil || j.hidden > farHidden {
		return j.tk
	}
	return min(j.tk, max(end+j.past, 1))
}

// farHidden: a score this low beside one above half of it has probability 0.
const farHidden = -1e6

// tile computes m queries from i on over the first n keys. Unless all is set it
// gives up, and reports false, if a query sees none of them.
func (j *attendJob) tile(s, keys, values, free []float32, ahead *gemm.Ahead, b, h, i, m, n int, all bool) bool {
	at, first := (b*j.tq+i)*j.dim+h*j.dh, (b*j.h+h)*j.tq+i
	p := gemm.Product{M: m, N: n, K: j.dh, A: j.q[at:], RowA: j.dim, StepA: 1, B: keys, Packed: true, C: s, LDC: j.ld, Ahead: ahead}
	p.Block(0, m, 0, n, free)
	var tops, sums [attendRows]float32
	r := j.scores(s, b, h, i, 0, m, n)
	for row := 0; row < m; row += fetchRows {
		part := r.Slice(row, min(row+fetchRows, m))
		if next := i + m + row; next < j.tq {
			rows, at := min(fetchRows, j.tq-next), (b*j.tq+next)*j.dim+h*j.dh
			gemm.Fetch(j.q[at:], j.dim, rows, j.dh)
			gemm.Fetch(j.out[at:], j.dim, rows, j.dh)
		}
		part.Softmax(tops[row:], sums[row:])
	}
	if !all {
		for _, top := range tops[:m] {
			if !(top > j.hidden/2) {
				return false
			}
		}
	}
	if j.lse != nil {
		lse := j.lse[first:][:m]
		elem.LogFloor(lse, sums[:m], 0)
		elem.Add(lse, lse, tops[:m])
	}
	if j.drop.Below != 0 {
		j.dropRows(s, first, 0, m, n)
	}
	p = gemm.Product{M: m, N: j.dh, K: n, A: s, RowA: j.ld, StepA: 1, B: values, Packed: true, PanelRows: j.tk, C: j.out[at:], LDC: j.dim, Ahead: ahead}
	p.Block(0, m, 0, j.dh, free)
	for r, sum := range sums[:m] { // a sum of 0 is that of a row of zeros
		if sum != 0 {
			sums[r] = 1 / sum
		}
	}
	attend.Scale(p.C, sums[:m], j.dim, j.dh)
	return true
}

// scores describes the scores of m queries from i on with n keys from k0 on,
// whose products lie in s.
func (j *attendJob) scores(s []float32, b, h, i, k0, m, n int) attend.Rows {
	r := attend.Rows{X: s, LD: j.ld, M: m, N: n, See: n, Scale: j.scale, Hidden: j.hidden}
	if j.causal {
		r.See, r.SeeStep = i+j.past+1-k0, 1
	}
	if j.mask != nil {
		r.Mask = j.mask[b/j.group*j.tk+k0:]
	}
	if j.bias != nil {
		r.Bias, r.BiasStep = j.bias[j.biasAt(b, h, i)+k0:], j.biasQ
	}
	return r
}

func (j *attendJob) biasAt(b, h, i int) int { return b*j.biasB + h*j.biasH + i*j.biasQ }

// dropRows drops elements of m rows of n scores, from query first and key k0
// on.
func (j *attendJob) dropRows(x []float32, first, k0, m, n int) {
	for r := range m {
		elem.Drop(x[r*j.ld:][:n], x[r*j.ld:], uint64(first+r)*uint64(j.tk)+uint64(k0), j.drop)
	}
}
