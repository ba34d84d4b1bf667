package optest

import (
	"math"

	"espalier/trainer/op"
)

// An attention is a case: operands of the reference and its parameters.
type attention struct {
	b, group, h, tq, cap, tk, dh int
	q, k, v                      []float64
	mask, bias                   []float64
	biasShape                    [3]int // b or 1, heads or 1, tq or 1
	a                            op.Attention
}

// forward is the reference.
func (c *attention) forward() (out, lse []float64) {
	dim := c.h * c.dh
	out, lse = make([]float64, c.b*c.tq*dim), make([]float64, c.b*c.h*c.tq)
	for b := range c.b {
		kb := b / c.group
		for h := range c.h {
			for i := range c.tq {
				p := make([]float64, c.tk)
				top := math.Inf(-1)
				for j := range p {
					var s float64
					for d := range c.dh {
						s += c.q[(b*c.tq+i)*dim+h*c.dh+d] * c.k[(kb*c.cap+j)*dim+h*c.dh+d]
					}
					s *= float64(c.a.Scale)
					if (c.a.Causal && j > i+c.a.Past) || (c.mask != nil && c.mask[kb*c.tk+j] == 0) {
						s = float64(c.a.MaskValue)
						if s == 0 {
							s = -1e9
						}
					}
					if c.bias != nil {
						s += c.bias[((b%c.biasShape[0]*c.biasShape[1]+h%c.biasShape[1])*c.biasShape[2]+i%c.biasShape[2])*c.tk+j]
					}
					p[j], top = s, math.Max(top, s)
				}
				var sum float64
				for j, s := range p {
					p[j] = 0
					if !math.IsInf(top, -1) {
						p[j] = math.Exp(s - top)
					}
					sum += p[j]
				}
				row := (b*c.h+h)*c.tq + i
				lse[row] = top + math.Log(sum)
				for j := range p {
					if sum > 0 {
						p[j] /= sum
					}
					if c.a.Dropout.P > 0 {
						if !c.a.Dropout.Kept(uint64(row*c.tk + j)) {
							p[j] = 0
						}
						p[j] /= 1 - float64(c.a.Dropout.P)
					}
					for d := range c.dh {
						out[(b*c.tq+i)*dim+h*c.dh+d] += p[j] * c.v[(kb*c.cap+j)*dim+h*c.dh+d]
					}
				}
			}
		}
	}
	return out, lse
}

// attentions are the cases: shapes first, then what is switched on.
func (h *harness) attentions() []attention {
	var all []attention
	for n, s := range [][6]int{ // b, group, heads, tq, tk, dh
		{1, 1, 1, 1, 1, 1}, {2, 1, 2, 3, 3, 4}, {2, 2, 1, 5, 7, 8}, {3, 1, 2, 2, 17, 5}, {4, 2, 3, 1, 9, 16}, {1, 1, 2, 18, 19, 13}, {0, 1, 2, 3, 3, 4}, {2, 1, 1, 0, 4, 4}, {1, 1, 1, 3, 4, 0},
	} {
		for bits := range 64 {
			if n > 2 && (bits+n)%5 != 0 || s[3] > 9 && bits%9 != 0 {
				continue // differences are slow
			}
			c := attention{b: s[0], group: s[1], h: s[2], tq: s[3], tk: s[4], cap: s[4], dh: s[5]}
			c.a = op.Attention{Heads: c.h, Scale: float32(1 / math.Sqrt(float64(c.dh+1))), Group: c.group, MaskValue: -20}
			if bits&1 != 0 {
				c.a.Causal, c.a.Past = true, max(0, c.tk-c.tq)
			}
			if bits&2 != 0 {
				c.mask = make([]float64, 0)
			}
			if bits&4 != 0 {
				c.biasShape = [3]int{1, 1, 1}
				if bits&8 != 0 {
					c.biasShape[1] = c.h
				}
				if bits&16 != 0 {
					c.biasShape[2] = c.tq
					if bits&2 == 0 {
						c.biasShape[0] = c.b
					}
				}
			}
			if bits&32 != 0 {
				c.a.Dropout = op.Dropout{P: 0.3, Key: uint64(bits)}
				c.cap += 2
				c.a.Keys = c.tk
			}
			all = append(all, c)
		}
	}
	return all
}

func testAttend(h *harness) {
	for n, c := range h.attentions() {
		dim := c.h * c.dh
		q, k, v := h.in(c.b, c.tq, dim), h.in(c.b/c.group, c.cap, dim), h.in(c.b/c.group, c.cap, dim)
		c.q, c.k, c.v = q.x, k.x, v.x
		if c.mask != nil {
			m := make([]float32, c.b/c.group*c.tk)
			for i := range m {
				m[i] = float32((i*7 + n) % 4 & 1)
			}
			mask := h.given(m, c.b/c.group, c.tk)
			c.mask, c.a.Mask = mask.x, mask.t
		}
		if c.biasShape[0] != 0 {
			bias := h.in(c.biasShape[0], c.biasShape[1], c.biasShape[2], c.tk)
			c.bias, c.a.Bias = bias.x, bias.t
		}
		name := named("b=%d group=%d heads=%d tq=%d tk=%d dh=%d causal=%v mask=%v bias=%v dropout=%g", c.b, c.group, c.h, c.tq, c.tk, c.dh, c.a.Causal, c.mask != nil, c.biasShape, c.a.Dropout.P)
		want, wantLSE := c.forward()
		out, lse := h.out(c.b, c.tq, dim), h.out(c.b, c.h, c.tq)
		h.d.Attend(out, lse, q.t, k.t, v.t, c.a)
		h.near(name, out, want, 1e-5)
		h.near(name+" lse", lse, wantLSE, 1e-5)
		again := h.out(c.b, c.tq, dim)
		h.d.Attend(again, none, q.t, k.t, v.t, c.a)
		h.same(name+" without lse", h.read(again), h.read(out))

		dy := h.in(c.b, c.tq, dim)
		dq, dk, dv := h.out(q.shape...), h.out(k.shape...), h.out(v.shape...)
		f := func() []float64 { y, _ := c.forward(); return y }
		if c.bias == nil {
			h.d.AttendBack(dq, dk, dv, none, dy.t, out, lse, q.t, k.t, v.t, c.a)
		} else {
			dbias, first := h.sum(c.a.Bias.Shape...)
			h.d.AttendBack(dq, dk, dv, dbias, dy.t, out, lse, q.t, k.t, v.t, c.a)
			h.near(name+" dbias", dbias, add(first, slope(f, c.bias, dy.x)), 3e-5)
		}
		h.near(name+" dq", dq, slope(f, c.q, dy.x), 3e-5)
		h.near(name+" dk", dk, slope(f, c.k, dy.x), 3e-5)
		h.near(name+" dv", dv, slope(f, c.v, dy.x), 3e-5)
		h.done(name)
		if h.Failed() {
			return
		}
	}
	testAttendShared(h)
	testAttendSlots(h)
	testAttendLarge(h)
}

// testAttendSlots reads keys and values from a cache of slots.
func testAttendSlots(h *harness) {
	for n, s := range [][4]int{{1, 1, 1, 1}, {3, 2, 5, 16}, {75, 8, 26, 32}, {2, 12, 200, 64}, {4, 3, 9, 40}, {2, 2, 0, 8}, {0, 1, 3, 4}} { // b, heads, keys, dh
		for bits := range 4 {
			b, heads, keys, dh := s[0], s[1], s[2], s[3]
			dim, slots := heads*dh, keys*max(b, 1)+3
			c := attention{b: b, group: 1, h: heads, tq: 1, cap: keys, tk: keys, dh: dh}
			c.a = op.Attention{Heads: heads, Scale: 0.3, MaskValue: -20, Causal: bits&1 != 0, Past: keys - 1}
			q, k, v := h.in(b, 1, dim), h.in(1, slots, dim), h.in(1, slots, dim)
			ids := make([]int32, b*keys)
			c.q = q.x
			for i := range ids {
				ids[i] = int32((i*7 + n) % slots)
				c.k = append(c.k, k.x[int(ids[i])*dim:][:dim]...)
				c.v = append(c.v, v.x[int(ids[i])*dim:][:dim]...)
			}
			c.a.Slots = h.ids(ids, b, keys)
			if bits&2 != 0 {
				m := make([]float32, b*keys)
				for i := range m {
					m[i] = float32(i % 3 & 1)
				}
				mask, bias := h.given(m, b, keys), h.in(1, heads, 1, keys)
				c.mask, c.a.Mask = mask.x, mask.t
				c.bias, c.a.Bias, c.biasShape = bias.x, bias.t, [3]int{1, heads, 1}
			}
			want, _ := c.forward()
			out := h.out(b, 1, dim)
			h.d.Attend(out, none, q.t, k.t, v.t, c.a)
			h.near(named("slots %v %d", s, bits), out, want, 1e-5)
			h.done("slots")
		}
	}
}

// testAttendShared gives one tensor as keys and values.
func testAttendShared(h *harness) {
	c := attention{b: 2, group: 1, h: 2, tq: 5, tk: 7, cap: 7, dh: 8, a: op.Attention{Heads: 2, Scale: 0.3}}
	q, kv, dy := h.in(2, 5, 16), h.in(2, 7, 16), h.in(2, 5, 16)
	c.q, c.k, c.v = q.x, kv.x, kv.x
	out, lse := h.out(2, 5, 16), h.out(2, 2, 5)
	h.d.Attend(out, lse, q.t, kv.t, kv.t, c.a)
	dq, dk, dv := h.out(2, 5, 16), h.out(2, 7, 16), h.out(2, 7, 16)
	h.d.AttendBack(dq, dk, dv, none, dy.t, out, lse, q.t, kv.t, kv.t, c.a)
	f := func() []float64 { y, _ := c.forward(); return y }
	h.d.Add(dk, dk, dv)
	h.near("one tensor as keys and values", dk, slope(f, c.k, dy.x), 3e-5)
	h.done("shared")
}

// testAttendLarge crosses tiles; its gradients are checked by a formula that the
// small cases checked by differences.
func testAttendLarge(h *harness) {
	for _, s := range [][3]int{{70, 70, 64}, {1, 200, 64}, {33, 150, 40}, {130, 67, 32}, {525, 525, 8}, {140, 1100, 9}} {
		c := attention{b: 2, group: 1, h: 2, tq: s[0], tk: s[1], cap: s[1], dh: s[2], biasShape: [3]int{1, 2, s[0]}}
		dim := 2 * s[2]
		q, k, v, bias, dy := h.in(2, s[0], dim), h.in(2, s[1], dim), h.in(2, s[1], dim), h.in(1, 2, s[0], s[1]), h.in(2, s[0], dim)
		m := make([]float32, 2*s[1])
		for i := range m {
			m[i] = float32(min(1, (i*5+i/9+1)%7)) // key 0 is seen: no row is all hidden
		}
		mask := h.given(m, 2, s[1])
		c.q, c.k, c.v, c.bias, c.mask = q.x, k.x, v.x, bias.x, mask.x
		c.a = op.Attention{Heads: 2, Scale: 0.125, Causal: s[0] == s[1], Mask: mask.t, Bias: bias.t, Dropout: op.Dropout{P: 0.1, Key: 5}}
		out, lse := h.out(q.shape...), h.out(2, 2, s[0])
		h.d.Attend(out, lse, q.t, k.t, v.t, c.a)
		want, wantLSE := c.forward()
		name := named("tq=%d tk=%d dh=%d", s[0], s[1], s[2])
		h.near(name, out, want, 1e-5)
		h.near(name+" lse", lse, wantLSE, 1e-5)
		dq, dk, dv := h.out(q.shape...), h.out(k.shape...), h.out(v.shape...)
		dbias, first := h.sum(1, 2, s[0], s[1])
		h.d.AttendBack(dq, dk, dv, dbias, dy.t, out, lse, q.t, k.t, v.t, c.a)
		wq, wk, wv, wb := c.backward(dy.x, want, wantLSE)
		h.near(name+" dq", dq, wq, 3e-5)
		h.near(name+" dk", dk, wk, 3e-5)
		h.near(name+" dv", dv, wv, 3e-5)
		h.near(name+" dbias", dbias, add(first, wb), 3e-5)
		h.done(name)
	}
}

// backward is the reference gradient, for a batch without groups.
func (c *attention) backward(dy, out, lse []float64) (dq, dk, dv, dbias []float64) {
	dim := c.h * c.dh
	dq, dk, dv, dbias = make([]float64, len(c.q)), make([]float64, len(c.k)), make([]float64, len(c.v)), make([]float64, len(c.bias))
	for row := range c.b * c.h * c.tq {
		b, h, i := row/(c.h*c.tq), row/c.tq%c.h, row%c.tq
		x := (b*c.tq+i)*dim + h*c.dh
		for j := range c.tk {
			y := (b*c.cap+j)*dim + h*c.dh
			var s, dp, delta float64
			for d := range c.dh {
				s += c.q[x+d] * c.k[y+d] * float64(c.a.Scale)
				dp += dy[x+d] * c.v[y+d]
				delta += dy[x+d] * out[x+d]
			}
			hidden := (c.a.Causal && j > i+c.a.Past) || (c.mask != nil && c.mask[b*c.tk+j] == 0)
			if hidden {
				s = -1e9
			}
			at := ((b%c.biasShape[0]*c.biasShape[1]+h%c.biasShape[1])*c.biasShape[2]+i%c.biasShape[2])*c.tk + j
			p := math.Exp(s + c.bias[at] - lse[row])
			drop := 1 / (1 - float64(c.a.Dropout.P))
			if !c.a.Dropout.Kept(uint64(row*c.tk + j)) {
				drop = 0
			}
			ds := p * (dp*drop - delta)
			dbias[at] += ds
			for d := range c.dh {
				dv[y+d] += p * drop * dy[x+d]
				if !hidden {
					dq[x+d] += ds * float64(c.a.Scale) * c.k[y+d]
					dk[y+d] += ds * float64(c.a.Scale) * c.q[x+d]
				}
			}
		}
	}
	return dq, dk, dv, dbias
}

// testAttendHidden checks rows that see nothing.
func testAttendHidden(h *harness) {
	const dim = 8
	for n := range 8 {
		tq, tk, value, causal := 3, 40, float32(0), n&1 != 0
		if n&2 != 0 {
			value = float32(math.Inf(-1))
		}
		if n&4 != 0 { // several tiles of queries, and of keys
			tq, tk = 140, 1100
		}
		q, k, v, mask := h.in(1, tq, dim), h.in(1, tk, dim), h.in(1, tk, dim), h.given(make([]float32, tk), 1, tk)
		out, lse := h.out(1, tq, dim), h.out(1, 1, tq)
		a := op.Attention{Heads: 1, Scale: 1, Mask: mask.t, MaskValue: value, Causal: causal}
		h.d.Attend(out, lse, q.t, k.t, v.t, a)
		want := make([]float64, tq*dim) // -Inf gives zeros, -1e9 the mean
		if value == 0 {
			for i := range want {
				for j := range tk {
					want[i] += v.x[j*dim+i%dim] / float64(tk)
				}
			}
		}
		h.near(named("all hidden by %g", value), out, want, 1e-5)
		dq, dk, dv, dy := h.out(1, tq, dim), h.out(1, tk, dim), h.out(1, tk, dim), h.in(1, tq, dim)
		h.d.AttendBack(dq, dk, dv, none, dy.t, out, lse, q.t, k.t, v.t, a)
		h.near("dq of hidden rows", dq, make([]float64, tq*dim), 0)
		h.near("dk of hidden keys", dk, make([]float64, tk*dim), 0)
		wv := make([]float64, tk*dim)
		if value == 0 {
			for i := range wv {
				for j := range tq {
					wv[i] += dy.x[j*dim+i%dim] / float64(tk)
				}
			}
		}
		h.near("dv of hidden keys", dv, wv, 1e-6)
		h.done("hidden")
	}
}
