package cpu

import (
	"math"

	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// Adam updates p, m and v in place.
func (d *Device) Adam(p, g, m, v tensor.Tensor, a op.Adam) {
	ps, gs, ms, vs := Floats(p), Floats(g), Floats(m), Floats(v)
	if len(gs) != len(ps) || len(ms) != len(ps) || len(vs) != len(ps) {
		panic("cpu: update operands do not fit")
	}
	rate := float32(float64(a.Rate) / (1 - math.Pow(float64(a.Beta1), float64(a.Step))))
	root := float32(1 / math.Sqrt(1-math.Pow(float64(a.Beta2), float64(a.Step))))
	decay := 1 - float32(a.Rate*a.WeightDecay)
	scale := a.GradScale
	if scale == 0 {
		scale = 1
	}
	d.span(len(ps), piece, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			x := gs[i] * scale
			if a.ClipValue > 0 {
				x = min(max(x, -a.ClipValue), a.ClipValue)
			}
			ms[i] = float32(a.Beta1*ms[i]) + float32((1-a.Beta1)*x)
			vs[i] = float32(a.Beta2*vs[i]) + float32((1-a.Beta2)*float32(x*x))
			ps[i] = float32(ps[i]*decay) - rate*ms[i]/(float32(sqrt32(vs[i])*root)+a.Eps)
		}
	})
}
