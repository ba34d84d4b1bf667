package cpu

import (
	"math"

	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// A heads is an attention over slices.
type heads struct {
	b, group, h, tq, tk, cap, dh int
	a                            op.Attention
	mask, bias                   []float32
	biasB, biasH, biasQ          int // steps of the bias; 0 where it is repeated
	maskValue                    float32
	k0, k1                       uint32
	below                        uint64
	keep                         float32
}

func planHeads(q, k, v tensor.Tensor, a op.Attention) *heads {
	if len(q.Shape) != 3 || len(k.Shape) != 3 || len(v.Shape) != 3 {
		panic("cpu: attention takes three axes")
	}
	s := &heads{b: q.Shape[0], group: max(a.Group, 1), h: a.Heads, tq: q.Shape[1], tk: k.Shape[1], cap: k.Shape[1], a: a}
	if a.Heads <= 0 || q.Shape[2]%a.Heads != 0 || k.Shape[2] != q.Shape[2] || v.Shape[2] != q.Shape[2] || v.Shape[1] != s.cap {
		panic("cpu: queries, keys and values do not fit")
	}
	if s.b%s.group != 0 || k.Shape[0] != s.b/s.group || v.Shape[0] != k.Shape[0] {
		panic("cpu: batches of queries and keys do not fit")
	}
	s.dh = q.Shape[2] / a.Heads
	if a.Keys != 0 {
		if a.Keys > s.cap {
			panic("cpu: more keys than rows")
		}
		s.tk = a.Keys
	}
	s.mask, s.bias = floats(a.Mask), floats(a.Bias)
	if s.mask != nil && len(s.mask) != k.Shape[0]*s.tk {
		panic("cpu: mask does not fit the keys")
	}
	if s.bias != nil {
		sh := a.Bias.Shape
		if len(sh) != 4 || sh[3] != s.tk || (sh[0] != 1 && sh[0] != s.b) || (sh[1] != 1 && sh[1] != s.h) || (sh[2] != 1 && sh[2] != s.tq) {
			panic("cpu: bias does not fit the scores")
		}
		if sh[2] != 1 {
			s.biasQ = s.tk
		}
		if sh[1] != 1 {
			s.biasH = sh[2] * s.tk
		}
		if sh[0] != 1 {
			s.biasB = sh[1] * sh[2] * s.tk
		}
	}
	s.maskValue = a.MaskValue
	if s.maskValue == 0 {
		s.maskValue = -1e9
	}
	s.k0, s.k1, s.below, s.keep = a.Dropout.Mask()
	return s
}

// hidden reports whether query i of batch row b does not see key j.
func (s *heads) hidden(b, i, j int) bool {
	return (s.a.Causal && j > i+s.a.Past) || (s.mask != nil && s.mask[b/s.group*s.tk+j] == 0)
}

// scores fills row with the scores of query i.
func (s *heads) scores(row, q, k []float32, b, h, i int) {
	d := s.h * s.dh
	x := q[(b*s.tq+i)*d+h*s.dh:][:s.dh]
	for j := range row {
		var dot float32
		for c, y := range k[(b/s.group*s.cap+j)*d+h*s.dh:][:s.dh] {
			dot += float32(x[c] * y)
		}
		dot *= s.a.Scale
		if s.hidden(b, i, j) {
			dot = s.maskValue
		}
		if s.bias != nil {
			dot += s.bias[b*s.biasB+h*s.biasH+i*s.biasQ+j]
		}
		row[j] = dot
	}
}

// dropped returns what dropout multiplies probability (b, h, i, j) by.
func (s *heads) dropped(b, h, i, j int) float32 {
	if s.below == 0 {
		return 1
	}
	n := ((uint64(b)*uint64(s.h)+uint64(h))*uint64(s.tq)+uint64(i))*uint64(s.tk) + uint64(j)
	if uint64(op.Hash(s.k0, s.k1, n)) < s.below {
		return 0
	}
	return s.keep
}

// Attend fills out and lse.
func (d *Device) Attend(out, lse, q, k, v tensor.Tensor, a op.Attention) {
	s := planHeads(q, k, v, a)
	if out.Len() != q.Len() || (!lse.IsZero() && lse.Len() != s.b*s.h*s.tq) {
		panic("cpu: attention outputs do not fit")
	}
	qs, ks, vs, outs, lses := Floats(q), Floats(k), Floats(v), Floats(out), floats(lse)
	dim := s.h * s.dh
	d.each(s.b*s.h, func(t int) {
		b, h := t/s.h, t%s.h
		row := make([]float32, s.tk)
		for i := range s.tq {
			s.scores(row, qs, ks, b, h, i)
			top := float32(math.Inf(-1))
			for _, x := range row {
				top = max(top, x)
			}
			var sum float32
			for j, x := range row {
				row[j] = 0
				if !math.IsInf(float64(top), -1) {
					row[j] = exp32(x - top)
				}
				sum += row[j]
			}
			if lses != nil {
				lses[(b*s.h+h)*s.tq+i] = top + log32(sum)
			}
			y := outs[(b*s.tq+i)*dim+h*s.dh:][:s.dh]
			clear(y)
			for j, p := range row {
				p *= s.dropped(b, h, i, j)
				for c, x := range vs[(b/s.group*s.cap+j)*dim+h*s.dh:][:s.dh] {
					y[c] += float32(p * x)
				}
			}
			if sum == 0 {
				continue
			}
			inv := 1 / sum
			for c := range y {
				y[c] *= inv
			}
		}
	})
}

// AttendBack fills dq, dk and dv, and adds to dbias.
func (d *Device) AttendBack(dq, dk, dv, dbias, dout, out, lse, q, k, v tensor.Tensor, a op.Attention) {
	s := planHeads(q, k, v, a)
	if dq.Len() != q.Len() || dk.Len() != k.Len() || dv.Len() != v.Len() || out.Len() != q.Len() || dout.Len() != q.Len() || lse.Len() != s.b*s.h*s.tq {
		panic("cpu: attention gradients do not fit")
	}
	if !dbias.IsZero() && (s.bias == nil || dbias.Len() != len(s.bias)) {
		panic("cpu: gradient of the bias does not fit it")
	}
	g := &headGrads{s, floats(dq), floats(dk), floats(dv), floats(dbias), Floats(dout), Floats(out), Floats(lse), Floats(q), Floats(k), Floats(v)}
	clear(g.dq)
	clear(g.dk)
	clear(g.dv)
	kb := s.b / s.group
	switch {
	case g.dbias == nil || (a.Bias.Shape[0] == s.b && a.Bias.Shape[1] == s.h):
		d.each(kb*s.h, func(t int) { g.back(t/s.h, t%s.h) })
	case a.Bias.Shape[1] == s.h: // the batch shares the bias's gradient
		d.each(s.h, func(h int) {
			for b := range kb {
				g.back(b, h)
			}
		})
	default:
		for b := range kb {
			for h := range s.h {
				g.back(b, h)
			}
		}
	}
}

// headGrads are the operands of a backward pass.
type headGrads struct {
	*heads
	dq, dk, dv, dbias, dout, out, lse, q, k, v []float32
}

// back does one head of one row of the keys' batch.
func (g *headGrads) back(kb, h int) {
	s, dim := g.heads, g.h*g.dh
	row := make([]float32, s.tk)
	for b := kb * s.group; b < (kb+1)*s.group; b++ {
		for i := range s.tq {
			s.scores(row, g.q, g.k, b, h, i)
			lse := g.lse[(b*s.h+h)*s.tq+i]
			at := (b*s.tq+i)*dim + h*s.dh
			dy, y, x, dx := g.dout[at:][:s.dh], g.out[at:][:s.dh], g.q[at:][:s.dh], g.dq[at:][:s.dh]
			norm := float32(1)
			if lse < -1<<16 { // all hidden: the logarithm of the sum is lost beside the maximum
				var sum float32
				if lse, sum = expSum(row); !math.IsInf(float64(lse), -1) {
					norm = 1 / sum
				}
			}
			var delta float32
			for c := range dy {
				delta += float32(dy[c] * y[c])
			}
			for j := range row {
				var p float32
				if !math.IsInf(float64(lse), -1) {
					p = exp32(row[j]-lse) * norm
				}
				drop := s.dropped(b, h, i, j)
				kv := (kb*s.cap+j)*dim + h*s.dh
				var dp float32
				for c, w := range g.v[kv:][:s.dh] {
					dp += float32(dy[c] * w)
					g.dv[kv+c] += float32(p * drop * dy[c])
				}
				ds := p * (dp*drop - delta)
				if g.dbias != nil {
					g.dbias[b*s.biasB+h*s.biasH+i*s.biasQ+j] += ds
				}
				if s.hidden(b, i, j) {
					continue
				}
				ds *= s.a.Scale
				for c, w := range g.k[kv:][:s.dh] {
					dx[c] += float32(ds * w)
					g.dk[kv+c] += float32(ds * x[c])
				}
			}
		}
	}
}
