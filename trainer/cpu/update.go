package cpu

import (
	"cmp"
	"math"

	"espalier/trainer/kernel/scalar"
	"espalier/trainer/kernel/update"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// An updateJob is an update of Adam or SGD cut into pieces.
type updateJob struct {
	p, g, m, v []float32
	adam       update.Adam
	sgd        update.SGD
	isSGD      bool
}

// clip is the bound of gradients that an update names.
func clip(value float32) float32 {
	if value <= 0 {
		return float32(math.Inf(1))
	}
	return value
}

// Adam updates p, m and v in place.
func (d *Device) Adam(p, g, m, v tensor.Tensor, a op.Adam) {
	j := &d.update
	*j = updateJob{p: Floats(p), g: Floats(g), m: Floats(m), v: Floats(v)}
	if len(j.g) != len(j.p) || len(j.m) != len(j.p) || len(j.v) != len(j.p) {
		panic("cpu: update operands do not fit")
	}
	j.adam = update.Adam{
		Scale: cmp.Or(a.GradScale, 1), Clip: clip(a.ClipValue), Beta1: float32(a.Beta1), Beta2: float32(a.Beta2), Eps: a.Eps,
		Rest1: float32(1 - a.Beta1), Rest2: float32(1 - a.Beta2),
		Rate: a.Rate, Root: 1, Decay: 1 - float32(a.Rate*a.WeightDecay), L2: a.L2,
	}
	if a.Step > 0 { // the roundings of Beta and Rest cancel
		j.adam.Rest1, j.adam.Rest2 = 1-j.adam.Beta1, 1-j.adam.Beta2
		j.adam.Rate = float32(float64(a.Rate) / (1 - scalar.Pow(float64(j.adam.Beta1), a.Step)))
		j.adam.Root = float32(1 / math.Sqrt(1-scalar.Pow(float64(j.adam.Beta2), a.Step)))
	}
	if a.Late {
		j.adam.Eps *= j.adam.Root
		j.adam.Rate *= j.adam.Decay
	}
	d.pool.Run(j, (len(j.p)+piece-1)/piece)
}

// SGD updates p and m in place.
func (d *Device) SGD(p, g, m tensor.Tensor, s op.SGD) {
	j := &d.update
	*j = updateJob{p: Floats(p), g: Floats(g), isSGD: true}
	if s.Momentum != 0 {
		j.m = Floats(m)
	}
	if len(j.g) != len(j.p) || (j.m != nil && len(j.m) != len(j.p)) {
		panic("cpu: update operands do not fit")
	}
	j.sgd = update.SGD{
		Scale: cmp.Or(s.GradScale, 1), Clip: clip(s.ClipValue), Rate: s.Rate, L2: s.L2,
		Momentum: s.Momentum, Rest: 1 - s.Dampening,
	}
	if s.Nesterov {
		j.sgd.Ahead = s.Momentum
	}
	if s.First {
		j.sgd.Momentum, j.sgd.Rest = 0, 1
	}
	d.pool.Run(j, (len(j.p)+piece-1)/piece)
}

// Tile updates one piece.
func (j *updateJob) Tile(_, t int) {
	lo, hi := t*piece, min((t+1)*piece, len(j.p))
	p, g := j.p[lo:hi], j.g[lo:hi]
	switch {
	case !j.isSGD:
		j.adam.Update(p, g, j.m[lo:hi], j.v[lo:hi])
	case j.m == nil:
		j.sgd.Update(p, g, nil)
	default:
		j.sgd.Update(p, g, j.m[lo:hi])
	}
}
