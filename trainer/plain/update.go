package plain

import (
	"cmp"
	"math"

	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// gradient is a scaled and clipped gradient and that of a penalty.
func gradient(g, p []float64, scale, clip, l2 float32) []float64 {
	y := make([]float64, len(g))
	for i, v := range g {
		v *= float64(cmp.Or(scale, 1))
		if clip > 0 {
			v = math.Max(-float64(clip), math.Min(float64(clip), v))
		}
		y[i] = v + float64(l2)*p[i]
	}
	return y
}

// Adam is one update.
func (d *Device) Adam(p, g, m, v tensor.Tensor, a op.Adam) {
	x, mean, square := Floats(p), Floats(m), Floats(v)
	bias1, bias2 := 1.0, 1.0
	if a.Step > 0 {
		bias1, bias2 = 1-math.Pow(a.Beta1, float64(a.Step)), 1-math.Pow(a.Beta2, float64(a.Step))
	}
	rate, eps := float64(a.Rate)/bias1, float64(a.Eps)
	decay := 1 - float64(a.Rate)*float64(a.WeightDecay)
	for i, u := range gradient(numbers(g), x, a.GradScale, a.ClipValue, a.L2) {
		mean[i] = a.Beta1*mean[i] + (1-a.Beta1)*u
		square[i] = a.Beta2*square[i] + (1-a.Beta2)*u*u
		if a.Late {
			x[i] -= rate * math.Sqrt(bias2) * mean[i] / (math.Sqrt(square[i]) + eps)
			x[i] *= decay
		} else {
			x[i] = x[i]*decay - rate*mean[i]/(math.Sqrt(square[i])/math.Sqrt(bias2)+eps)
		}
	}
	d.put(p, x)
	d.put(m, mean)
	d.put(v, square)
}

// SGD is one update.
func (d *Device) SGD(p, g, m tensor.Tensor, s op.SGD) {
	x, mean := Floats(p), Floats(m)
	momentum := float64(s.Momentum)
	for i, u := range gradient(numbers(g), x, s.GradScale, s.ClipValue, s.L2) {
		if momentum != 0 {
			if s.First {
				mean[i] = u
			} else {
				mean[i] = momentum*mean[i] + (1-float64(s.Dampening))*u
			}
			if s.Nesterov {
				u += momentum * mean[i]
			} else {
				u = mean[i]
			}
		}
		x[i] -= float64(s.Rate) * u
	}
	d.put(p, x)
	if momentum != 0 {
		d.put(m, mean)
	}
}

// Adafactor is one update.
func (d *Device) Adafactor(p, g, row, col, m tensor.Tensor, a op.Adafactor) {
	x, rows, cols, mean := Floats(p), Floats(row), Floats(col), Floats(m)
	if len(x) == 0 {
		return
	}
	old := 1 - math.Pow(float64(a.Step), -float64(a.Decay))
	u := gradient(numbers(g), x, a.GradScale, 0, 0)
	square := make([]float64, len(u))
	for i, v := range u {
		square[i] = v*v + float64(a.Eps)
	}
	// settle moves running means on by the means of squares over count numbers.
	settle := func(running []float64, count int, place func(i int) int) {
		sums := make([]float64, len(running))
		for i, s := range square {
			sums[place(i)] += s
		}
		for i, s := range sums {
			running[i] = old*running[i] + (1-old)*s/float64(count)
		}
	}
	if col.IsZero() {
		settle(rows, 1, func(i int) int { return i })
		for i := range u {
			u[i] /= math.Sqrt(rows[i])
		}
	} else {
		r, c := p.Dim(-2), p.Dim(-1)
		settle(rows, c, func(i int) int { return i / c })
		settle(cols, r, func(i int) int { return i/(r*c)*c + i%c })
		for i := range u {
			all := 0.0
			for _, v := range rows[i/(r*c)*r:][:r] {
				all += v
			}
			u[i] /= math.Sqrt(rows[i/c] * cols[i/(r*c)*c+i%c] / (all / float64(r)))
		}
	}
	rate := float64(a.Rate)
	if a.Scaled {
		rate *= math.Max(float64(a.MinScale), d.rms(x))
	}
	clip := 1.0
	if a.Clip > 0 {
		clip = math.Max(1, d.rms(u)/float64(a.Clip))
	}
	for i, v := range u {
		v *= rate / clip
		if a.Beta1 != 0 {
			mean[i] = float64(a.Beta1)*mean[i] + (1-float64(a.Beta1))*v
			v = mean[i]
		}
		x[i] = x[i]*(1-rate*float64(a.WeightDecay)) - v
	}
	d.put(p, x)
	d.put(row, rows)
	if !col.IsZero() {
		d.put(col, cols)
	}
	if a.Beta1 != 0 {
		d.put(m, mean)
	}
}

func (d *Device) rms(x []float64) float64 { return math.Sqrt(d.dot(x, x) / float64(len(x))) }
