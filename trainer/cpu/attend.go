package cpu

import (
	"math"

	"espalier/trainer/kernel/attend"
	"espalier/trainer/kernel/elem"
	"espalier/trainer/kernel/gemm"
	"espalier/trainer/kernel/norm"
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
	wordsKeys, wordsValues, wordsRow int  // scratch: packed keys, packed values, a tile of scores,
	wordsGemm                        int  // and what products use
}

// Floating-point work below which heads are done together.
const attendWork = 1 << 17

func (d *Device) planAttend(q, k, v tensor.Tensor, a *op.Attention) *attendJob {
	if len(q.Shape) != 3 || len(k.Shape) != 3 || len(v.Shape) != 3 {
		panic("cpu: attention takes three axes")
	}
	j := &d.attend
	*j = attendJob{
		d: d, b: q.Shape[0], group: max(a.Group, 1), h: a.Heads, tq: q.Shape[1], tk: k.Shape[1], cap: k.Shape[1], dim: q.Shape[2],
		scale: a.Scale, hidden: a.MaskValue, causal: a.Causal, past: a.Past, mask: floats(a.Mask), bias: floats(a.Bias), drop: mask(a.Dropout),
		q: Floats(q), k: Floats(k), v: Floats(v), parts: 1, chunk: 1,
	}
	if j.h <= 0 || j.dim%j.h != 0 || k.Shape[2] != j.dim || v.Shape[2] != j.dim || v.Shape[1] != j.cap {
		panic("cpu: queries, keys and values do not fit")
	}
	if j.b%j.group != 0 || k.Shape[0] != j.b/j.group || v.Shape[0] != k.Shape[0] {
		panic("cpu: batches of queries and keys do not fit")
	}
	j.dh = j.dim / j.h
	if a.Keys != 0 {
		if a.Keys > j.cap {
			panic("cpu: more keys than rows")
		}
		j.tk = a.Keys
	}
	if j.hidden == 0 {
		j.hidden = -1e9
	}
	if j.mask != nil && len(j.mask) != k.Shape[0]*j.tk {
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
	switch { // at most about 2^15 scores in a tile, for any number of threads
	case j.tk <= 512:
		j.rows = 56
	case j.tk <= 1024:
		j.rows = 28
	case j.tk <= 2048:
		j.rows = 14
	default:
		j.rows = 7
	}
	j.rows = min(j.rows, max(j.tq, 1))
	j.wordsKeys, j.wordsValues = gemm.PackedLen(j.dh, j.tk), gemm.PackedLen(j.tk, j.dh)
	j.wordsRow = j.rows * j.tk
	forward, back := gemm.Product{K: max(j.dh, j.tk), Packed: true}, gemm.Product{K: j.rows}
	j.wordsGemm = max(forward.ScratchLen(j.rows, max(j.dh, j.tk)), back.ScratchLen(j.tk, j.dh))
	return j
}

// Attend fills out and lse.
func (d *Device) Attend(out, lse, q, k, v tensor.Tensor, a op.Attention) {
	j := d.planAttend(q, k, v, &a)
	j.out, j.lse = Floats(out), floats(lse)
	if len(j.out) != len(j.q) || (j.lse != nil && len(j.lse) != j.b*j.h*j.tq) {
		panic("cpu: attention outputs do not fit")
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

// Tile does one head, or some.
func (j *attendJob) Tile(thread, t int) {
	heads := j.b / j.group * j.h
	switch {
	case j.serial:
		for i := range heads {
			j.headBack(thread, i/j.h, i%j.h)
		}
	case j.inOrder:
		for kb := range j.b / j.group {
			j.headBack(thread, kb, t)
		}
	default:
		for i := t * j.chunk; i < min((t+1)*j.chunk, heads*j.parts); i++ {
			head := i / j.parts
			if j.back {
				j.headBack(thread, head/j.h, head%j.h)
			} else {
				j.head(thread, head/j.h, head%j.h, i%j.parts)
			}
		}
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
func (j *attendJob) head(thread, kb, h, part int) {
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
	for b := kb * j.group; b < (kb+1)*j.group; b++ {
		for i := lo; i < hi; i += j.rows {
			m := min(j.rows, hi-i)
			if n := j.seen(i + m); n == j.tk || !j.tile(s, keys, values, free, b, h, i, m, n, false) {
				j.tile(s, keys, values, free, b, h, i, m, j.tk, true)
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
func (j *attendJob) tile(s, keys, values, free []float32, b, h, i, m, n int, all bool) bool {
	p := gemm.Product{
		M: m, N: n, K: j.dh, A: j.q[(b*j.tq+i)*j.dim+h*j.dh:], RowA: j.dim, StepA: 1,
		B: keys, Packed: true, C: s, LDC: n,
	}
	p.Block(0, m, 0, n, free)
	var inv [64]float32
	for r := range m {
		row := s[r*n:][:n]
		top := j.scores(row, b, h, i+r)
		if !all && !(top > j.hidden/2) {
			return false
		}
		at := (b*j.h+h)*j.tq + i + r
		if math.IsInf(float64(top), -1) { // every score is -Inf, or NaN
			sum := norm.Sum(row)
			if sum == sum {
				clear(row)
			}
			if j.lse != nil {
				j.lse[at] = sum
			}
			continue
		}
		sum := norm.ExpSum(row, row, top)
		if j.lse != nil {
			j.lse[at] = top + log32(sum)
		}
		inv[r] = 1 / sum
		if j.drop.Below != 0 {
			elem.Drop(row, row, uint64(at)*uint64(j.tk), j.drop)
		}
	}
	p = gemm.Product{
		M: m, N: j.dh, K: n, A: s, RowA: n, StepA: 1,
		B: values, Packed: true, C: j.out[(b*j.tq+i)*j.dim+h*j.dh:], LDC: j.dim,
	}
	p.PanelRows = j.tk
	p.Block(0, m, 0, j.dh, free)
	for r := range m {
		scaleRow(j.out[(b*j.tq+i+r)*j.dim+h*j.dh:][:j.dh], inv[r])
	}
	return true
}

// scores turns products of query i with keys into scores, and returns the
// maximum.
func (j *attendJob) scores(row []float32, b, h, i int) float32 {
	n := len(row)
	var mask, bias []float32
	if j.mask != nil {
		mask = j.mask[b/j.group*j.tk:][:n]
	}
	if j.bias != nil {
		bias = j.bias[b*j.biasB+h*j.biasH+i*j.biasQ:][:n]
	}
	see := n
	if j.causal {
		see = min(n, max(i+j.past+1, 0))
	}
	if see == n {
		return attend.Scores(row, row, mask, bias, j.scale, j.hidden)
	}
	top := float32(math.Inf(-1))
	if see > 0 {
		top = attend.Scores(row[:see], row, mask, bias, j.scale, j.hidden)
	}
	rest := row[see:]
	for c := range rest {
		rest[c] = j.hidden
	}
	if bias != nil {
		elem.Add(rest, rest, bias[see:])
	}
	return max(top, norm.Largest(rest))
}

// headBack computes a head's gradients.
func (j *attendJob) headBack(thread, kb, h int) {
	if j.dh == 0 {
		return
	}
	for r := range j.cap {
		at := (kb*j.cap+r)*j.dim + h*j.dh
		clear(j.dk[at:][:j.dh])
		clear(j.dv[at:][:j.dh])
	}
	if j.tk == 0 {
		for b := kb * j.group; b < (kb+1)*j.group; b++ {
			for i := range j.tq {
				clear(j.dq[(b*j.tq+i)*j.dim+h*j.dh:][:j.dh])
			}
		}
		return
	}
	buf := j.d.local[thread].take(2*j.wordsKeys + j.wordsValues + 3*j.wordsRow + j.wordsGemm)
	g := gradTile{attendJob: j, kb: kb, head: h}
	cut := func(n int) []float32 {
		part := buf[:n]
		buf = buf[n:]
		return part
	}
	g.keysT = j.keys(cut(j.wordsKeys), j.k, kb, h)
	g.valuesT = j.keys(cut(j.wordsKeys), j.v, kb, h)
	g.keys = j.values(cut(j.wordsValues), j.k, kb, h)
	g.p, g.dp, g.dropped, g.free = cut(j.wordsRow), cut(j.wordsRow), cut(j.wordsRow), buf
	for b := kb * j.group; b < (kb+1)*j.group; b++ {
		for i := 0; i < j.tq; i += j.rows {
			m := min(j.rows, j.tq-i)
			n := j.seen(i + m)
			for r := range m { // a query that sees nothing takes its share of all keys
				if n < j.tk && !(j.lse[(b*j.h+h)*j.tq+i+r] > j.hidden/2) {
					n = j.tk
				}
			}
			g.run(b, i, m, n)
		}
	}
}

// A gradTile computes the gradients of tiles of one head.
type gradTile struct {
	*attendJob
	kb, head             int
	keysT, valuesT, keys []float32
	p, dp, dropped, free []float32
}

// run does m queries from i on over the first n keys.
func (g *gradTile) run(b, i, m, n int) {
	at := (b*g.tq+i)*g.dim + g.head*g.dh
	kv := g.kb*g.cap*g.dim + g.head*g.dh
	product := gemm.Product{M: m, N: n, K: g.dh, A: g.q[at:], RowA: g.dim, StepA: 1, B: g.keysT, Packed: true, C: g.p, LDC: n}
	product.Block(0, m, 0, n, g.free)
	product.A, product.B, product.C = g.dout[at:], g.valuesT, g.dp
	product.Block(0, m, 0, n, g.free)
	dropped := g.p
	if g.drop.Below != 0 {
		dropped = g.dropped
	}
	for r := range m {
		g.row(g.p[r*n:][:n], g.dp[r*n:][:n], dropped[r*n:][:n], b, i+r)
	}
	// dv += dropped' dout, before p becomes the scores' gradient in dp.
	product = gemm.Product{M: n, N: g.dh, K: m, A: dropped, RowA: 1, StepA: n, B: g.dout[at:], StepB: g.dim, ColB: 1, C: g.dv[kv:], LDC: g.dim, Load: true}
	product.Block(0, n, 0, g.dh, g.free)
	// dk += ds' q, dq = ds k.
	product.A, product.B, product.C = g.dp, g.q[at:], g.dk[kv:]
	product.Block(0, n, 0, g.dh, g.free)
	product = gemm.Product{M: m, N: g.dh, K: n, A: g.dp, RowA: n, StepA: 1, B: g.keys, Packed: true, C: g.dq[at:], LDC: g.dim}
	product.PanelRows = g.tk
	product.Block(0, m, 0, g.dh, g.free)
}

// row turns a row of products into probabilities p and, in dp, the gradient of
// the scaled products.
func (g *gradTile) row(p, dp, dropped []float32, b, i int) {
	n := len(p)
	top := g.scores(p, b, g.head, i)
	row := (b*g.h+g.head)*g.tq + i
	lse := g.lse[row]
	switch {
	case math.IsInf(float64(lse), -1):
		clear(p)
	case lse < -1<<16: // all hidden: the logarithm of the sum is lost beside the maximum
		scaleRow(p, 1/norm.ExpSum(p, p, top))
	default:
		norm.Share(p, p, lse, 1, 0)
	}
	if g.drop.Below != 0 {
		first := uint64(row) * uint64(g.tk)
		elem.Drop(dropped, p, first, g.drop)
		elem.Drop(dp, dp, first, g.drop)
	}
	at := (b*g.tq+i)*g.dim + g.head*g.dh
	delta := norm.Dot(g.dout[at:][:g.dh], g.out[at:])
	attend.Grad(dp, p, dp, delta)
	if g.dbias != nil {
		bias := g.dbias[b*g.biasB+g.head*g.biasH+i*g.biasQ:][:n]
		elem.Add(bias, bias, dp)
	}
	see := n
	if g.causal {
		see = min(n, max(i+g.past+1, 0))
		clear(dp[see:])
	}
	if g.mask != nil {
		attend.Hide(dp[:see], dp, g.mask[g.kb*g.tk:], g.scale)
	} else {
		scaleRow(dp[:see], g.scale)
	}
}
