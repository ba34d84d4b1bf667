package plain

import (
	"cmp"
	"math"

	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// An attention is one call's sizes and operands.
type attention struct {
	op.Attention
	d                          *Device
	b, tq, keys, rows, dim, dh int // rows of k and v, dim of a row of them
	q, k, v, mask, bias        []float64
	slots                      []int32
}

func (d *Device) attention(q, k, v tensor.Tensor, a op.Attention) *attention {
	c := &attention{Attention: a, d: d, b: q.Dim(0), tq: q.Dim(1), rows: k.Dim(1), dim: q.Dim(2), q: numbers(q), k: numbers(k), v: numbers(v)}
	c.mask, c.bias = numbers(a.Mask), numbers(a.Bias)
	c.dh, c.keys, c.Group = c.dim/a.Heads, cmp.Or(a.Keys, c.rows), cmp.Or(a.Group, 1)
	if !a.Slots.IsZero() {
		c.slots, c.keys, c.Group = ints(a.Slots), a.Slots.Dim(1), 1
	}
	return c
}

// key returns where key j of a head begins in k and v.
func (c *attention) key(b, h, j int) int {
	if c.slots != nil {
		return int(c.slots[b*c.keys+j])*c.dim + h*c.dh
	}
	return (b/c.Group*c.rows+j)*c.dim + h*c.dh
}

// query returns where query i of a head begins in q.
func (c *attention) query(b, h, i int) int { return (b*c.tq+i)*c.dim + h*c.dh }

func (c *attention) hidden(b, i, j int) bool {
	return c.Causal && j > i+c.Past || c.mask != nil && c.mask[b/c.Group*c.keys+j] == 0
}

// biasAt returns the place of a score's bias.
func (c *attention) biasAt(b, h, i, j int) int {
	s := c.Bias.Shape
	return ((b%s[0]*s[1]+h%s[1])*s[2]+i%s[2])*c.keys + j
}

// weights returns the probabilities of a query's keys before dropout, what
// dropout multiplies them by, and the logarithm of the sum.
func (c *attention) weights(b, h, i int) (p, drop []float64, lse float64) {
	p, drop = make([]float64, c.keys), make([]float64, c.keys)
	top := math.Inf(-1)
	for j := range p {
		s := float64(c.Scale) * c.d.dot(c.q[c.query(b, h, i):][:c.dh], c.k[c.key(b, h, j):])
		if c.hidden(b, i, j) {
			s = float64(cmp.Or(c.MaskValue, -1e9))
		}
		if c.bias != nil {
			s += c.bias[c.biasAt(b, h, i, j)]
		}
		p[j] = c.d.round(s)
		top = math.Max(top, p[j])
		drop[j] = kept(c.Dropout, ((b*c.Heads+h)*c.tq+i)*c.keys+j)
	}
	if math.IsInf(top, -1) {
		clear(p)
		return p, drop, top
	}
	for j, s := range p {
		p[j] = c.d.round(math.Exp(s - top))
	}
	sum := c.d.total(p)
	for j := range p {
		p[j] = c.d.round(p[j] / sum)
	}
	return p, drop, top + math.Log(sum)
}

// Attend fills out and lse.
func (d *Device) Attend(out, lse, q, k, v tensor.Tensor, a op.Attention) {
	c := d.attention(q, k, v, a)
	y, sums := make([]float64, len(c.q)), make([]float64, c.b*c.Heads*c.tq)
	for b := range c.b {
		for h := range c.Heads {
			for i := range c.tq {
				p, drop, s := c.weights(b, h, i)
				sums[(b*c.Heads+h)*c.tq+i] = s
				for j := range p {
					d.axpy(y[c.query(b, h, i):], c.v[c.key(b, h, j):][:c.dh], p[j]*drop[j])
				}
			}
		}
	}
	d.put(out, y)
	if !lse.IsZero() {
		d.put(lse, sums)
	}
}

// AttendBack fills dq, dk and dv and adds to dbias.
func (d *Device) AttendBack(dq, dk, dv, dbias, dout, out, lse, q, k, v tensor.Tensor, a op.Attention) {
	c := d.attention(q, k, v, a)
	dy := numbers(dout)
	gq, gk, gv, gb := make([]float64, len(c.q)), make([]float64, len(c.k)), make([]float64, len(c.v)), make([]float64, len(c.bias))
	for b := range c.b {
		for h := range c.Heads {
			for i := range c.tq {
				p, drop, _ := c.weights(b, h, i)
				x := c.query(b, h, i)
				up := dy[x:][:c.dh]
				dp := make([]float64, len(p))
				for j := range p {
					at := c.key(b, h, j)
					d.axpy(gv[at:], up, p[j]*drop[j])
					dp[j] = d.round(d.dot(up, c.v[at:]) * drop[j])
				}
				mean := d.dot(p, dp)
				for j := range p {
					ds := d.round(p[j] * (dp[j] - mean))
					if c.bias != nil {
						at := c.biasAt(b, h, i, j)
						gb[at] = d.round(gb[at] + ds)
					}
					if !c.hidden(b, i, j) {
						at := c.key(b, h, j)
						d.axpy(gq[x:], c.k[at:][:c.dh], ds*float64(c.Scale))
						d.axpy(gk[at:], c.q[x:][:c.dh], ds*float64(c.Scale))
					}
				}
			}
		}
	}
	for _, g := range []struct {
		t tensor.Tensor
		x []float64
	}{{dq, gq}, {dk, gk}, {dv, gv}} {
		if !g.t.IsZero() {
			d.put(g.t, g.x)
		}
	}
	d.add(dbias, gb)
}
