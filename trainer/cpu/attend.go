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

// attendRows is the most queries of a tile.
const attendRows = 56

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
	switch { // at most about 2^15 scores in a tile, for any number of threads
	case j.tk <= 512:
		j.rows = attendRows
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
	at, first := (b*j.tq+i)*j.dim+h*j.dh, (b*j.h+h)*j.tq+i
	p := gemm.Product{M: m, N: n, K: j.dh, A: j.q[at:], RowA: j.dim, StepA: 1, B: keys, Packed: true, C: s, LDC: n}
	p.Block(0, m, 0, n, free)
	var tops, sums [attendRows]float32
	r := j.scores(s, b, h, i, m, n)
	r.Softmax(tops[:], sums[:])
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
		j.dropRows(s, first, m, n)
	}
	p = gemm.Product{M: m, N: j.dh, K: n, A: s, RowA: n, StepA: 1, B: values, Packed: true, PanelRows: j.tk, C: j.out[at:], LDC: j.dim}
	p.Block(0, m, 0, j.dh, free)
	for r, sum := range sums[:m] { // a sum of 0 is that of a row of zeros
		if sum != 0 {
			sums[r] = 1 / sum
		}
	}
	attend.Scale(p.C, sums[:m], j.dim, j.dh)
	return true
}

// scores describes the scores of m queries from i on with the first n keys,
// whose products lie in s.
func (j *attendJob) scores(s []float32, b, h, i, m, n int) attend.Rows {
	r := attend.Rows{X: s, LD: n, M: m, N: n, See: n, Scale: j.scale, Hidden: j.hidden}
	if j.causal {
		r.See, r.SeeStep = i+j.past+1, 1
	}
	if j.mask != nil {
		r.Mask = j.mask[b/j.group*j.tk:]
	}
	if j.bias != nil {
		r.Bias, r.BiasStep = j.bias[j.biasAt(b, h, i):], j.biasQ
	}
	return r
}

func (j *attendJob) biasAt(b, h, i int) int { return b*j.biasB + h*j.biasH + i*j.biasQ }

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
	buf := j.d.local[thread].take(2*j.wordsKeys + j.wordsValues + 2*j.wordsRow + j.wordsGemm)
	g := gradTile{attendJob: j, kb: kb, head: h}
	cut := func(n int) []float32 {
		part := buf[:n]
		buf = buf[n:]
		return part
	}
	g.keysT = j.keys(cut(j.wordsKeys), j.k, kb, h)
	g.valuesT = j.keys(cut(j.wordsKeys), j.v, kb, h)
	g.keys = j.values(cut(j.wordsValues), j.k, kb, h)
	g.p, g.dp, g.free = cut(j.wordsRow), cut(j.wordsRow), buf
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
	p, dp, free          []float32
}

// run does m queries from i on over the first n keys.
func (g *gradTile) run(b, i, m, n int) {
	at, first := (b*g.tq+i)*g.dim+g.head*g.dh, (b*g.h+g.head)*g.tq+i
	kv := g.kb*g.cap*g.dim + g.head*g.dh
	product := gemm.Product{M: m, N: n, K: g.dh, A: g.q[at:], RowA: g.dim, StepA: 1, B: g.keysT, Packed: true, C: g.p, LDC: n}
	product.Block(0, m, 0, n, g.free)
	product.A, product.B, product.C = g.dout[at:], g.valuesT, g.dp
	product.Block(0, m, 0, n, g.free)
	if g.drop.Below != 0 {
		g.dropRows(g.dp, first, m, n)
	}
	var delta [attendRows]float32
	attend.Dot(delta[:m], g.dout[at:], g.out[at:], g.dim, g.dh)
	r := g.scores(g.p, b, g.head, i, m, n)
	var dbias []float32
	if g.dbias != nil {
		dbias = g.dbias[g.biasAt(b, g.head, i):]
	}
	lse := g.lse[first:][:m]
	for row := 0; row < m; { // runs of rows that see something
		end := row
		for end < m && lse[end] >= farLSE {
			end++
		}
		g.gradient(r, lse, delta[:m], dbias, row, end)
		if row = end; row < m {
			g.hiddenRow(r, delta[row], dbias, row)
			row++
		}
	}
	if g.drop.Below != 0 {
		g.dropRows(g.p, first, m, n)
	}
	// dv += p' dout, dk += ds' q, dq = ds k.
	product = gemm.Product{M: n, N: g.dh, K: m, A: g.p, RowA: 1, StepA: n, B: g.dout[at:], StepB: g.dim, ColB: 1, C: g.dv[kv:], LDC: g.dim, Load: true}
	product.Block(0, n, 0, g.dh, g.free)
	product.A, product.B, product.C = g.dp, g.q[at:], g.dk[kv:]
	product.Block(0, n, 0, g.dh, g.free)
	product = gemm.Product{M: m, N: g.dh, K: n, A: g.dp, RowA: n, StepA: 1, B: g.keys, Packed: true, PanelRows: g.tk, C: g.dq[at:], LDC: g.dim}
	product.Block(0, m, 0, g.dh, g.free)
}

// farLSE: a row below it sees nothing but hidden keys, and the logarithm of
// their number is lost beside the maximum.
const farLSE = -1 << 16

// gradient does rows lo to hi of r.
func (g *gradTile) gradient(r attend.Rows, lse, delta, dbias []float32, lo, hi int) {
	part := r
	part.X, part.M, part.See = r.X[lo*r.LD:], hi-lo, r.See+lo*r.SeeStep
	if r.Bias != nil {
		part.Bias = r.Bias[lo*r.BiasStep:]
	}
	if dbias != nil {
		dbias = dbias[lo*r.BiasStep:]
	}
	part.Gradient(g.dp[lo*r.LD:], lse[lo:hi], delta[lo:hi], dbias)
}

// hiddenRow is gradient of a row that sees nothing, from its softmax.
func (g *gradTile) hiddenRow(r attend.Rows, delta float32, dbias []float32, row int) {
	part := r
	part.X, part.M, part.See = r.X[row*r.LD:], 1, r.See+row*r.SeeStep
	if r.Bias != nil {
		part.Bias = r.Bias[row*r.BiasStep:]
	}
	var top, sum [1]float32
	part.Softmax(top[:], sum[:])
	p, ds := part.X[:r.N], g.dp[row*r.LD:][:r.N]
	if sum[0] != 0 {
		elem.Scale(p, p, 1/sum[0])
	}
	for j := range ds {
		d := float32(p[j] * (ds[j] - delta))
		if dbias != nil {
			dbias[row*r.BiasStep+j] += d
		}
		if ds[j] = float32(d * r.Scale); j >= part.See || (r.Mask != nil && r.Mask[j] == 0) {
			ds[j] = 0
		}
	}
}

// dropRows drops elements of m rows of n numbers; the first row's number is
// first.
func (j *attendJob) dropRows(x []float32, first, m, n int) {
	if n == j.tk { // side by side: one run of numbers
		elem.Drop(x[:m*n], x, uint64(first)*uint64(n), j.drop)
		return
	}
	for r := range m {
		elem.Drop(x[r*n:][:n], x[r*n:], uint64(first+r)*uint64(j.tk), j.drop)
	}
}
