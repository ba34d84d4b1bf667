package optest

import (
	"cmp"
	"math"

	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// mutables makes an input that is updated, of normal numbers.
func (h *harness) mutables(shape ...int) value {
	v := h.in(shape...)
	h.mutable()
	return v
}

// squared makes an input that is updated, of squares.
func (h *harness) squared(shape ...int) value {
	v := h.mutables(shape...)
	h.d.Mul(v.t, v.t, v.t)
	v.x = widen(h.read(v.t))
	return v
}

// gradient is what a rule makes of g.
func gradient(g float64, scale, clip, l2 float32, p float64) float64 {
	g *= float64(cmp.Or(scale, 1))
	if clip > 0 {
		g = math.Max(-float64(clip), math.Min(float64(clip), g))
	}
	return g + float64(l2)*p
}

func testAdam(h *harness) {
	for _, n := range append([]int{4097}, lengths...) {
		for k, a := range []op.Adam{
			{Rate: 1e-2, Beta1: 0.9, Beta2: 0.98, Eps: 1e-9, Step: 1},
			{Rate: 1e-2, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Step: 10, WeightDecay: 0.1, ClipValue: 0.1, GradScale: 0.5},
			{Rate: 1e-2, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Step: 10, L2: 0.1, ClipValue: 0.1},
			{Rate: 1e-2, Beta1: 0.9, Beta2: 0.999, Eps: 1e-3, Step: 3, WeightDecay: 0.3, Late: true},
			{Rate: 1e-2, Beta1: 0.9, Beta2: 0.999, Eps: 1e-3, WeightDecay: 0.3, Late: true},
		} {
			p, g, m, v := h.mutables(n), h.in(n), h.mutables(n), h.squared(n)
			correct1, correct2 := 1.0, 1.0
			if a.Step > 0 {
				correct1, correct2 = 1-math.Pow(a.Beta1, float64(a.Step)), 1-math.Pow(a.Beta2, float64(a.Step))
			}
			decay := 1 - float64(a.Rate)*float64(a.WeightDecay)
			for i := range p.x {
				x := gradient(g.x[i], a.GradScale, a.ClipValue, a.L2, p.x[i])
				m.x[i] = a.Beta1*m.x[i] + (1-a.Beta1)*x
				v.x[i] = a.Beta2*v.x[i] + (1-a.Beta2)*x*x
				rate := float64(a.Rate) / correct1
				if a.Late {
					p.x[i] -= rate * math.Sqrt(correct2) * m.x[i] / (math.Sqrt(v.x[i]) + float64(a.Eps))
					p.x[i] *= decay
				} else {
					p.x[i] = p.x[i]*decay - rate*m.x[i]/(math.Sqrt(v.x[i]/correct2)+float64(a.Eps))
				}
			}
			h.d.Adam(p.t, g.t, m.t, v.t, a)
			name := named("n=%d rule %d", n, k)
			h.near(name+" p", p.t, p.x, 5e-6)
			h.near(name+" m", m.t, m.x, 1e-6)
			h.near(name+" v", v.t, v.x, 1e-6)
			h.done(name)
		}
	}
}

func testSGD(h *harness) {
	for _, n := range append([]int{8193}, lengths...) {
		for k, s := range []op.SGD{
			{Rate: 0.1},
			{Rate: 0.1, L2: 0.2, ClipValue: 0.5, GradScale: 1.5},
			{Rate: 0.1, Momentum: 0.9, Dampening: 0.25, L2: 0.2},
			{Rate: 0.1, Momentum: 0.9, Dampening: 0.25, First: true},
			{Rate: 0.1, Momentum: 0.9, Nesterov: true, L2: 0.2, ClipValue: 0.5, GradScale: 1.5},
			{Rate: 0.1, Momentum: 0.9, Nesterov: true, First: true},
		} {
			p, g, m := h.mutables(n), h.in(n), h.mutables(n)
			for i := range p.x {
				x := gradient(g.x[i], s.GradScale, s.ClipValue, s.L2, p.x[i])
				if s.Momentum != 0 {
					m.x[i] = float64(s.Momentum)*m.x[i] + (1-float64(s.Dampening))*x
					if s.First {
						m.x[i] = x
					}
					if s.Nesterov {
						x += float64(s.Momentum) * m.x[i]
					} else {
						x = m.x[i]
					}
				}
				p.x[i] -= float64(s.Rate) * x
			}
			if s.Momentum == 0 {
				h.d.SGD(p.t, g.t, none, s)
			} else {
				h.d.SGD(p.t, g.t, m.t, s)
			}
			name := named("n=%d rule %d", n, k)
			h.near(name+" p", p.t, p.x, 1e-6)
			h.near(name+" m", m.t, m.x, 1e-6)
			h.done(name)
		}
	}
}

func testAdafactor(h *harness) {
	shapes := [][]int{{4097}, {8200}, {20000}, {1, 1}, {3, 5}, {7, 33}, {2, 4, 3}, {300, 64}, {2, 3, 70, 5}, {5, 700}, {3, 9000}, {2, 0}}
	for _, n := range lengths {
		shapes = append(shapes, []int{n})
	}
	for _, shape := range shapes {
		for k, a := range []op.Adafactor{
			{Rate: 1e-2, Decay: 0.8, Eps: 1e-30, Clip: 1, Step: 1},
			{Rate: 1e-2, Decay: 0.8, Eps: 1e-30, Clip: 0.5, Step: 10, Scaled: true, MinScale: 1e-3, WeightDecay: 0.1, GradScale: 0.5},
			{Rate: 1e-2, Decay: 0.8, Eps: 1e-3, Step: 10, Beta1: 0.9, Scaled: true, MinScale: 2},
		} {
			p, g, m := h.mutables(shape...), h.in(shape...), h.mutables(shape...)
			row, col := h.squared(shape...), value{}
			if c := len(shape); c > 1 {
				row = h.squared(shape[:c-1]...)
				col = h.squared(append(append([]int(nil), shape[:c-2]...), shape[c-1])...)
			}
			adafactor64(p, g, row, col, m, a)
			h.d.Adafactor(p.t, g.t, row.t, col.t, m.t, a)
			name := named("%v rule %d", shape, k)
			h.near(name+" p", p.t, p.x, 5e-6)
			h.near(name+" row", row.t, row.x, 2e-6)
			if !col.t.IsZero() {
				h.near(name+" col", col.t, col.x, 2e-6)
			}
			h.near(name+" m", m.t, m.x, 5e-6)
			h.done(name)
		}
	}
}

// adafactor64 is the rule on the numbers of the operands.
func adafactor64(p, g, row, col, m value, a op.Adafactor) {
	n := len(p.x)
	if n == 0 {
		return
	}
	b := 1 - math.Pow(float64(a.Step), -float64(a.Decay))
	scale := float64(cmp.Or(a.GradScale, 1))
	u, squares, rate := make([]float64, n), make([]float64, n), float64(a.Rate)
	sum := 0.0
	for i, x := range g.x {
		u[i] = x * scale
		squares[i] = u[i]*u[i] + float64(a.Eps)
		sum += p.x[i] * p.x[i]
	}
	if a.Scaled {
		rate *= math.Max(float64(a.MinScale), math.Sqrt(sum/float64(n)))
	}
	if col.x == nil {
		for i := range u {
			row.x[i] = b*row.x[i] + (1-b)*squares[i]
			u[i] /= math.Sqrt(row.x[i])
		}
	} else {
		c := p.shape[len(p.shape)-1]
		r := p.shape[len(p.shape)-2]
		for at := 0; at < n; at += r * c {
			rows, cols, mean := row.x[at/c:][:r], col.x[at/r:][:c], 0.0
			for i := range rows {
				s := 0.0
				for j := range cols {
					s += squares[at+i*c+j]
				}
				rows[i] = b*rows[i] + (1-b)*s/float64(c)
				mean += rows[i] / float64(r)
			}
			for j := range cols {
				s := 0.0
				for i := range rows {
					s += squares[at+i*c+j]
				}
				cols[j] = b*cols[j] + (1-b)*s/float64(r)
			}
			for i := range rows {
				for j := range cols {
					u[at+i*c+j] /= math.Sqrt(rows[i] * cols[j] / mean)
				}
			}
		}
	}
	sum = 0
	for _, x := range u {
		sum += x * x
	}
	clip := 1.0
	if a.Clip > 0 {
		clip = math.Max(1, math.Sqrt(sum/float64(n))/float64(a.Clip))
	}
	for i := range u {
		step := rate * u[i] / clip
		if a.Beta1 != 0 {
			m.x[i] = float64(a.Beta1)*m.x[i] + (1-float64(a.Beta1))*step
			step = m.x[i]
		}
		p.x[i] = p.x[i]*(1-rate*float64(a.WeightDecay)) - step
	}
}

// updates digests the rules.
func (w *digester) updates() {
	const n = 9001
	p, g, m, v := w.in(n), w.in(n), w.in(n), w.in(n)
	w.d.Mul(v, v, v)
	for step := range 3 {
		w.d.Adam(p, g, m, v, op.Adam{Rate: 0.1, Beta1: 0.9, Beta2: 0.98, Eps: 1e-9, Step: step + 1, WeightDecay: 0.01, ClipValue: 1, GradScale: 0.7})
		w.d.Adam(p, g, m, v, op.Adam{Rate: 0.1, Beta1: 0.9, Beta2: 0.98, Eps: 1e-9, Step: step + 1, L2: 0.1, Late: true})
	}
	w.done("adam", p, m, v)
	for _, nesterov := range []bool{false, true} {
		p, g, m = w.in(n), w.in(n), w.in(n)
		w.d.SGD(p, g, none, op.SGD{Rate: 0.1, L2: 0.1, ClipValue: 1, GradScale: 0.7})
		w.d.SGD(p, g, m, op.SGD{Rate: 0.1, Momentum: 0.9, L2: 0.1, Nesterov: nesterov})
		w.done(named("sgd %v", nesterov), p, m)
	}
	for _, shape := range [][]int{{20011}, {301, 137}, {2, 77, 600}} {
		for _, beta1 := range []float32{0, 0.9} {
			p, g, m, row := w.in(shape...), w.in(shape...), w.in(shape...), w.in(shape...)
			var col tensor.Tensor
			if c := len(shape); c > 1 {
				row, col = w.in(shape[:c-1]...), w.in(append(append([]int(nil), shape[:c-2]...), shape[c-1])...)
				w.d.Mul(col, col, col)
			}
			w.d.Mul(row, row, row)
			all := []tensor.Tensor{p, m, row}
			if !col.IsZero() {
				all = append(all, col)
			}
			for step := range 2 {
				w.d.Adafactor(p, g, row, col, m, op.Adafactor{
					Rate: 0.1, Decay: 0.8, Eps: 1e-30, Clip: 0.9, Step: step + 2, Scaled: true, MinScale: 1e-3, Beta1: beta1, WeightDecay: 0.1, GradScale: 0.5,
				})
			}
			w.done(named("adafactor %v", shape), all...)
		}
	}
}
