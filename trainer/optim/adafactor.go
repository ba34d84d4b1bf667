package optim

import (
	"espalier/trainer/ckpt"
	"espalier/trainer/nn"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// AdafactorConfig is the settings of Adafactor (Shazeer 2018) as Hugging Face's
// transformers have it; see op.Adafactor. Its relative steps are the schedule
// [Relative], or with warm-up Noam of width 1.
type AdafactorConfig struct {
	Decay       float64 // the means' share of the past is 1 - t^-Decay
	Eps         float64 // added to squares
	Scale       bool    // the rate is multiplied by a parameter's root mean square, at least MinScale
	MinScale    float64
	Clip        float64 // the update's root mean square is kept below; 0 means no clipping
	Beta1       float64 // of a mean of the updates; 0 means none
	WeightDecay float64 // decoupled
	ClipNorm    float64 // as in AdamConfig
	Group       Group
}

// Adafactor is an optimiser with its state.
type Adafactor struct {
	config AdafactorConfig
	trained
	params []factored
}

// A factored is a parameter and its means: of rows and columns, or, of a
// vector, of all elements.
type factored struct {
	*nn.Param
	row, col, m  tensor.Tensor
	scale, decay float64
}

// NewAdafactor makes the trained parameters of ps ready for training and
// returns their optimiser.
func NewAdafactor(ps *nn.Params, c AdafactorConfig) *Adafactor {
	a := &Adafactor{config: c, trained: newTrained(ps, c.ClipNorm)}
	group := orWhole(c.Group, c.WeightDecay)
	for _, p := range ps.All() {
		if p.Frozen {
			continue
		}
		f := factored{Param: p}
		f.scale, f.decay = group(p)
		if n := len(p.Shape); n < 2 {
			f.row = a.dev.Keep(tensor.Float32, p.Shape...)
		} else {
			f.row = a.dev.Keep(tensor.Float32, p.Shape[:n-1]...)
			f.col = a.dev.Keep(tensor.Float32, append(append([]int(nil), p.Shape[:n-2]...), p.Shape[n-1])...)
		}
		if c.Beta1 != 0 {
			f.m = a.dev.Keep(tensor.Float32, p.Shape...)
		}
		a.params = append(a.params, f)
	}
	return a
}

// Update changes the parameters by one step at the given rate; see Optimizer.
func (a *Adafactor) Update(rate float64) float64 {
	norm, scale := a.begin()
	for i := range a.params {
		p := &a.params[i]
		a.dev.Adafactor(p.Value, p.Grad, p.row, p.col, p.m, op.Adafactor{
			Rate: float32(rate * p.scale), Decay: float32(a.config.Decay), Eps: float32(a.config.Eps), Clip: float32(a.config.Clip),
			Step: a.step, Scaled: a.config.Scale, MinScale: float32(a.config.MinScale), Beta1: float32(a.config.Beta1),
			WeightDecay: float32(p.decay), GradScale: scale,
		})
	}
	return norm
}

// Free gives the memory of the state back.
func (a *Adafactor) Free() {
	a.each(func(_ string, t tensor.Tensor) { a.dev.Free(t) })
	a.trained.free()
}

const adafactorStepName = "adafactor.step"

// each calls f for every tensor of the state with its name in a file.
func (a *Adafactor) each(f func(name string, t tensor.Tensor)) {
	for i := range a.params {
		p := &a.params[i]
		if p.col.IsZero() {
			f("adafactor.v/"+p.Path, p.row)
		} else {
			f("adafactor.row/"+p.Path, p.row)
			f("adafactor.col/"+p.Path, p.col)
		}
		if !p.m.IsZero() {
			f("adafactor.m/"+p.Path, p.m)
		}
	}
}

// Tensors returns the state as tensors to be written.
func (a *Adafactor) Tensors() []ckpt.Tensor {
	out := []ckpt.Tensor{a.stepTensor(adafactorStepName)}
	a.each(func(name string, t tensor.Tensor) { out = append(out, ckpt.Of(a.dev, name, t)) })
	return out
}

// Restore takes the state from f, as Tensors wrote it.
func (a *Adafactor) Restore(f *ckpt.File) error {
	err := a.restoreStep(f, adafactorStepName)
	a.each(func(name string, t tensor.Tensor) {
		if err == nil {
			err = f.Into(a.dev, t, name)
		}
	})
	return err
}
