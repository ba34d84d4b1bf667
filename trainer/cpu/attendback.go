package cpu

import (
	"slices"

	"espalier/trainer/kernel/attend"
	"espalier/trainer/kernel/elem"
	"espalier/trainer/kernel/gemm"
)

// headBack computes a head's gradients, some keys at a time: for each part of
// the keys all queries pass by, so that the sums over queries stay in the cache.
func (j *attendJob) headBack(thread, head, next int) {
	kb, h := head/j.h, head%j.h
	if j.dh == 0 {
		return
	}
	for r := j.tk; r < j.cap; r++ {
		at := (kb*j.cap+r)*j.dim + h*j.dh
		clear(j.dk[at:][:j.dh])
		clear(j.dv[at:][:j.dh])
	}
	if j.tk == 0 {
		for r := kb * j.group * j.tq; r < (kb+1)*j.group*j.tq; r++ {
			clear(j.dq[r*j.dim+h*j.dh:][:j.dh])
		}
		return
	}
	g := gradTile{attendJob: j, kb: kb, head: h, next: next}
	dark := g.dark()
	n := 2*g.wordsKeys + 3*g.wordsValues + 2*g.wordsRow + g.wordsGemm + j.group*j.tq
	if dark {
		n += 2*j.group*j.tq + j.rows*j.tk
	}
	buf := j.d.local[thread].take(n)
	cut := func(n int) []float32 {
		part := buf[:n:n]
		buf = buf[n:]
		return part
	}
	g.keysT, g.valuesT, g.keys = cut(j.wordsKeys), cut(j.wordsKeys), cut(j.wordsValues)
	g.sumK, g.sumV = cut(j.wordsValues), cut(j.wordsValues)
	g.p, g.dp, g.delta = cut(j.wordsRow), cut(j.wordsRow), cut(j.group*j.tq)
	if dark {
		g.tops, g.shares = cut(j.group*j.tq), cut(j.group*j.tq)
		g.lightless(cut(j.rows*j.tk), buf)
	}
	g.free = buf
	for k := 0; k < j.tk; k += j.span {
		g.part(k, min(j.span, j.tk-k))
	}
}

// A gradTile computes the gradients of tiles of one head.
type gradTile struct {
	*attendJob
	kb, head, next       int
	ahead                gemm.Ahead
	k0, nk, done         int // the keys at work, and how many of these have sums so far
	keysT, valuesT, keys []float32
	sumK, sumV           []float32 // gradients of the keys and values at work
	p, dp, free          []float32
	delta                []float32 // of each query
	tops, shares         []float32 // of queries below farLSE: maximum of the scores, 1/sum of exponentials
}

// farLSE: a row below it sees nothing but hidden keys, and the logarithm of
// their number is lost beside the maximum.
const farLSE = -1 << 16

// dark reports whether a query is below farLSE.
func (g *gradTile) dark() bool {
	for b := g.kb * g.group; b < (g.kb+1)*g.group; b++ {
		for _, lse := range g.lse[(b*g.h+g.head)*g.tq:][:g.tq] {
			if !(lse >= farLSE) { // NaN, too
				return true
			}
		}
	}
	return false
}

// reach is how many keys m queries from i on take part in.
func (g *gradTile) reach(b, i, m int) int {
	n := g.seen(i + m)
	if n < g.tk {
		for _, lse := range g.lse[(b*g.h+g.head)*g.tq+i:][:m] {
			if !(lse > g.hidden/2) { // a query that sees nothing takes its share of all keys
				return g.tk
			}
		}
	}
	return n
}

// part does nk keys from k0 on.
func (g *gradTile) part(k0, nk int) {
	g.k0, g.nk, g.done = k0, nk, 0
	at := (g.kb*g.cap+k0)*g.dim + g.head*g.dh
	g.ahead.Reset()
	g.ahead.Add(g.dk[at:], g.dim, min(nk, aheadRows), g.dh)
	g.ahead.Add(g.dv[at:], g.dim, min(nk, aheadRows), g.dh)
	if k0+nk == g.tk {
		g.attendJob.ahead(&g.ahead, g.next)
	}
	gemm.Pack(g.keysT, g.k[at:], 1, g.dim, g.dh, nk, 0, panels(nk))
	gemm.Pack(g.valuesT, g.v[at:], 1, g.dim, g.dh, nk, 0, panels(nk))
	gemm.Pack(g.keys, g.k[at:], g.dim, 1, nk, g.dh, 0, panels(g.dh))
	for b := g.kb * g.group; b < (g.kb+1)*g.group; b++ {
		for i := 0; i < g.tq; i += g.rows {
			m, at := min(g.rows, g.tq-i), (b*g.tq+i)*g.dim+g.head*g.dh
			if k0 == 0 {
				attend.Dot(g.delta[(b-g.kb*g.group)*g.tq+i:][:m], g.dout[at:], g.out[at:], g.dim, g.dh)
			}
			if n := min(g.reach(b, i, m)-k0, nk); n > 0 {
				g.run(b, i, m, n)
			}
		}
	}
	clear(g.sumK[g.done*g.dh : nk*g.dh])
	clear(g.sumV[g.done*g.dh : nk*g.dh])
	attend.Copy(g.dk[at:], g.sumK, g.dim, g.dh, nk, g.dh)
	attend.Copy(g.dv[at:], g.sumV, g.dim, g.dh, nk, g.dh)
}

// run does m queries from i on and the first n of the keys at work.
func (g *gradTile) run(b, i, m, n int) {
	at, first := (b*g.tq+i)*g.dim+g.head*g.dh, (b*g.h+g.head)*g.tq+i
	product := gemm.Product{M: m, N: n, K: g.dh, A: g.q[at:], RowA: g.dim, StepA: 1, B: g.keysT, Packed: true, C: g.p, LDC: g.ld, Ahead: &g.ahead}
	product.Block(0, m, 0, n, g.free)
	product.A, product.B, product.C = g.dout[at:], g.valuesT, g.dp
	product.Block(0, m, 0, n, g.free)
	if g.drop.Below != 0 {
		g.dropRows(g.dp, first, g.k0, m, n)
	}
	r := g.scores(g.p, b, g.head, i, g.k0, m, n)
	var dbias []float32
	if g.dbias != nil {
		dbias = g.dbias[g.biasAt(b, g.head, i)+g.k0:]
	}
	lse, delta := g.lse[first:][:m], g.delta[(b-g.kb*g.group)*g.tq+i:][:m]
	for row := 0; row < m; { // runs of rows that see something
		end := row
		for end < min(row+fetchRows, m) && lse[end] >= farLSE {
			end++
		}
		if next := b*g.tq + i + m + row; next < (g.kb+1)*g.group*g.tq {
			g.fetch(next, min(fetchRows, (g.kb+1)*g.group*g.tq-next))
		}
		g.gradient(r, lse, delta, dbias, row, end)
		if row = end; row < m && !(lse[row] >= farLSE) {
			g.darkRow(r, (b-g.kb*g.group)*g.tq+i+row, delta[row], dbias, row)
			row++
		}
	}
	if g.drop.Below != 0 {
		g.dropRows(g.p, first, g.k0, m, n)
	}
	// dv += p' dout, dk += ds' q, dq += ds k.
	g.sum(g.sumV, g.p, g.dout[at:], m, n)
	g.sum(g.sumK, g.dp, g.q[at:], m, n)
	g.done = max(g.done, n)
	product = gemm.Product{
		M: m, N: g.dh, K: n, A: g.dp, RowA: g.ld, StepA: 1, B: g.keys, Packed: true, PanelRows: g.nk, C: g.dq[at:], LDC: g.dim, Load: g.k0 > 0, Ahead: &g.ahead,
	}
	product.Block(0, m, 0, g.dh, g.free)
}

// fetchRows is how many rows of scores are done before the next are fetched.
const fetchRows = 8

// fetch fetches rows of queries into the cache.
func (g *gradTile) fetch(row, rows int) {
	at := row*g.dim + g.head*g.dh
	gemm.Fetch(g.q[at:], g.dim, rows, g.dh)
	gemm.Fetch(g.dout[at:], g.dim, rows, g.dh)
	if g.k0 == 0 {
		gemm.Fetch(g.out[at:], g.dim, rows, g.dh)
	} else {
		gemm.Fetch(g.dq[at:], g.dim, rows, g.dh)
	}
}

// sum adds the products of the columns of m rows of scores with x to the sums
// of the first n keys.
func (g *gradTile) sum(sums, scores, x []float32, m, n int) {
	product := gemm.Product{M: n, N: g.dh, K: m, A: scores, RowA: 1, StepA: g.ld, B: x, StepB: g.dim, ColB: 1, C: sums, LDC: g.dh, Ahead: &g.ahead}
	if old := min(g.done, n); old > 0 {
		product.Load = true
		product.Block(0, old, 0, g.dh, g.free)
	}
	if n > g.done {
		product.Load = false
		product.Block(g.done, n, 0, g.dh, g.free)
	}
}

// gradient does rows lo to hi of r.
func (g *gradTile) gradient(r attend.Rows, lse, delta, dbias []float32, lo, hi int) {
	part := r.Slice(lo, hi)
	if dbias != nil {
		dbias = dbias[lo*r.BiasStep:]
	}
	part.Gradient(g.dp[lo*r.LD:], lse[lo:hi], delta[lo:hi], dbias)
}

// lightless fills tops and shares of the queries below farLSE, whose scores are
// computed again for that.
func (g *gradTile) lightless(scores, free []float32) {
	for b := g.kb * g.group; b < (g.kb+1)*g.group; b++ {
		for i := 0; i < g.tq; i += g.rows {
			m := min(g.rows, g.tq-i)
			lse := g.lse[(b*g.h+g.head)*g.tq+i:][:m]
			if slices.Min(lse) >= farLSE { // not of NaN
				continue
			}
			n, at := g.reach(b, i, m), (b*g.tq+i)*g.dim+g.head*g.dh
			for k := 0; k < n; k += g.span {
				cols := min(g.span, n-k)
				gemm.Pack(g.keysT, g.k[(g.kb*g.cap+k)*g.dim+g.head*g.dh:], 1, g.dim, g.dh, cols, 0, panels(cols))
				product := gemm.Product{M: m, N: cols, K: g.dh, A: g.q[at:], RowA: g.dim, StepA: 1, B: g.keysT, Packed: true, C: scores[k:], LDC: g.tk}
				product.Block(0, m, 0, cols, free)
			}
			r := g.scores(scores, b, g.head, i, 0, m, n)
			r.LD = g.tk
			query := (b-g.kb*g.group)*g.tq + i
			for row := range m {
				if !(lse[row] >= farLSE) {
					part, sum := r.Slice(row, row+1), g.shares[query+row:][:1]
					part.Softmax(g.tops[query+row:], sum)
					if sum[0] != 0 {
						sum[0] = 1 / sum[0]
					}
				}
			}
		}
	}
}

// darkRow is gradient of a row below farLSE, from its softmax.
func (g *gradTile) darkRow(r attend.Rows, query int, delta float32, dbias []float32, row int) {
	part, ds, dp := r.Slice(row, row+1), g.dp[row*r.LD:][:r.N], g.free[:r.N]
	copy(dp, ds)
	var none [1]float32
	part.Gradient(ds, g.tops[query:][:1], none[:], nil)
	p := part.X[:r.N]
	if share := g.shares[query]; share != 0 {
		elem.Scale(p, p, share)
	}
	for j := range ds {
		d := float32(p[j] * (dp[j] - delta))
		if dbias != nil {
			dbias[row*r.BiasStep+j] += d
		}
		if ds[j] = float32(d * r.Scale); j >= part.See || (r.Mask != nil && r.Mask[j] == 0) {
			ds[j] = 0
		}
	}
}
