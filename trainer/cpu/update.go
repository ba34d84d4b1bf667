package cpu

import (
	"math"

	"espalier/trainer/kernel/elem"
	"espalier/trainer/kernel/scalar"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// An adamJob is an update cut into pieces.
type adamJob struct {
	p, g, m, v []float32
	a          elem.Adam
}

// Adam updates p, m and v in place.
func (d *Device) Adam(p, g, m, v tensor.Tensor, a op.Adam) {
	j := &d.adam
	*j = adamJob{p: Floats(p), g: Floats(g), m: Floats(m), v: Floats(v)}
	if len(j.g) != len(j.p) || len(j.m) != len(j.p) || len(j.v) != len(j.p) {
		panic("cpu: update operands do not fit")
	}
	j.a = elem.Adam{
		Scale: a.GradScale, Clip: a.ClipValue, Beta1: a.Beta1, Beta2: a.Beta2, Eps: a.Eps,
		Rate:  float32(float64(a.Rate) / (1 - scalar.Pow(float64(a.Beta1), a.Step))),
		Root:  float32(1 / math.Sqrt(1-scalar.Pow(float64(a.Beta2), a.Step))),
		Decay: 1 - float32(a.Rate*a.WeightDecay),
	}
	if a.GradScale == 0 {
		j.a.Scale = 1
	}
	if a.ClipValue <= 0 {
		j.a.Clip = float32(math.Inf(1))
	}
	d.pool.Run(j, (len(j.p)+piece-1)/piece)
}

// Tile updates one piece.
func (j *adamJob) Tile(_, t int) {
	lo, hi := t*piece, min((t+1)*piece, len(j.p))
	j.a.Update(j.p[lo:hi], j.g[lo:hi], j.m[lo:hi], j.v[lo:hi])
}
