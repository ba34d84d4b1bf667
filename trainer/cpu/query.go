package cpu

import (
	"espalier/trainer/kernel/attend"
	"espalier/trainer/kernel/elem"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// A queryJob is the attention of one query of each row of a batch, cut into
// rows, or into heads of rows where these are few. Keys and values are read
// where they lie.
type queryJob struct {
	*attendJob
	slots []int32 // of all rows; or nil: keys lie one after the other
	rows  int     // of a tile
	parts int     // pieces that the heads of a row are cut into
}

// attendSlots is Attend with keys and values in slots.
func (d *Device) attendSlots(out, lse, q, k, v tensor.Tensor, a op.Attention) {
	if len(q.Shape) != 3 || len(k.Shape) != 3 || q.Shape[1] != 1 || k.Shape[0] != 1 || len(a.Slots.Shape) != 2 || a.Slots.Shape[0] != q.Shape[0] ||
		!lse.IsZero() || a.Dropout.P != 0 || a.Keys != 0 || a.Group > 1 {
		panic("cpu: slots are for one query without more")
	}
	slots := ints(a.Slots)
	for _, s := range slots {
		if s < 0 || int(s) >= k.Shape[1] {
			panic("cpu: a slot lies outside the cache")
		}
	}
	j := &d.attend
	*j = attendJob{d: d, b: q.Shape[0], group: 1, cap: k.Shape[1], tq: 1, tk: a.Slots.Shape[1]}
	j.operands(q, k, v, &a)
	j.out = Floats(out)
	if len(j.out) != len(j.q) {
		panic("cpu: attention outputs do not fit")
	}
	d.attendQueries(slots)
}

// attendQueries computes the planned attention.
func (d *Device) attendQueries(slots []int32) {
	j := &d.query
	*j = queryJob{attendJob: &d.attend, slots: slots, parts: 1}
	threads := d.pool.Threads()
	work := max(j.tk*j.dim, 1)
	j.rows = d.shareOr(j.b, max(1, min((j.b+threads-1)/threads, attendWork/4/work)))
	if j.b < threads && work > attendWork/8 {
		j.parts = min(j.h, 2*threads)
	}
	if slots == nil { // key 0, 1, ... of each row
		for len(d.counting) < j.tk {
			d.counting = append(d.counting, int32(len(d.counting)))
		}
	}
	d.pool.Run(j, (j.b+j.rows-1)/j.rows*j.parts)
}

// Tile does some rows, or some heads of one.
func (j *queryJob) Tile(thread, t int) {
	part := t % j.parts
	h0, h1 := part*j.h/j.parts, (part+1)*j.h/j.parts
	for b := t / j.parts * j.rows; b < min((t/j.parts+1)*j.rows, j.b); b++ {
		j.row(thread, b, h0, h1)
	}
}

// row does heads h0 to h1 of one row.
func (j *queryJob) row(thread, b, h0, h1 int) {
	n := h1 - h0
	out := j.out[b*j.dim:][h0*j.dh : h1*j.dh]
	if j.tk == 0 || len(out) == 0 {
		clear(out)
		return
	}
	q := attend.Query{Heads: n, DH: j.dh, LD: j.dim}
	k, v := j.k, j.v
	if j.slots != nil {
		q.Slots = j.slots[b*j.tk:][:j.tk]
	} else {
		q.Slots = j.d.counting[:j.tk]
		at := b / j.group * j.cap * j.dim
		k, v = k[at:], v[at:]
	}
	buf := j.d.local[thread].take(n * (j.tk + 2))
	s, top, sum := buf[:n*j.tk], buf[n*j.tk:][:n], buf[n*(j.tk+1):][:n]
	q.Scores(s, j.q[b*j.dim:][h0*j.dh:], k[h0*j.dh:])
	r := attend.Rows{X: s, LD: j.tk, M: n, N: j.tk, See: j.tk, Scale: j.scale, Hidden: j.hidden}
	if j.causal {
		r.See = j.past + 1
	}
	if j.mask != nil {
		r.Mask = j.mask[b/j.group*j.tk:]
	}
	if j.bias != nil {
		r.Bias, r.BiasStep = j.bias[j.biasAt(b, h0, 0):], j.biasH
	}
	r.Softmax(top, sum)
	if j.lse != nil {
		lse := j.lse[b*j.h+h0:][:n]
		elem.LogFloor(lse, sum, 0)
		elem.Add(lse, lse, top)
	}
	for i, x := range sum { // a sum of 0 is that of a row of zeros
		if sum[i] = 1; x != 0 {
			sum[i] = 1 / x
		}
	}
	q.Values(out, s, sum, v[h0*j.dh:])
}
