package optim

import (
	"errors"

	"espalier/trainer/ckpt"
	"espalier/trainer/nn"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// AdamConfig is the settings of Adam (Kingma 2015) and AdamW (Loshchilov
// 2019), bias-corrected: p -= rate/(1-Beta1^t) * m / (sqrt(v)/sqrt(1-Beta2^t) + Eps).
type AdamConfig struct {
	Beta1, Beta2, Eps float64
	WeightDecay       float64 // decoupled; 0 is plain Adam
	L2                bool    // weight decay is part of the gradient, after clipping, as torch's Adam has it
	Uncorrected       bool    // the bias of the means stays
	Late              bool    // Eps and weight decay as Hugging Face's transformers had them before 5; see op.Adam
	ClipNorm          float64 // gradients are scaled to this norm over all parameters; 0 means no clipping
	ClipValue         float64 // then each element is clipped to ±ClipValue; 0 means no clipping
	Group             Group
}

// Adam is an optimiser with its state.
type Adam struct {
	config AdamConfig
	trained
	spans []span
	m, v  tensor.Tensor // laid out as the gradients
}

// NewAdam makes the trained parameters of ps ready for training and returns
// their optimiser.
func NewAdam(ps *nn.Params, c AdamConfig) *Adam {
	a := &Adam{config: c, trained: newTrained(ps, c.ClipNorm)}
	dev, size := ps.Device(), ps.Grads().Len()
	a.m, a.v = dev.Keep(tensor.Float32, size), dev.Keep(tensor.Float32, size)
	a.spans = spans(ps, c.Group, c.WeightDecay)
	for i := range a.spans {
		s := &a.spans[i]
		s.m, s.v = a.m.Slice(s.At, s.At+s.Value.Len()), a.v.Slice(s.At, s.At+s.Value.Len())
	}
	return a
}

// Update changes the parameters by one step at the given rate; see Optimizer.
func (a *Adam) Update(rate float64) float64 {
	norm, scale := a.begin()
	for i := range a.spans {
		s := &a.spans[i]
		o := op.Adam{
			Rate: float32(rate * s.scale), Beta1: a.config.Beta1, Beta2: a.config.Beta2, Eps: float32(a.config.Eps),
			Step: a.step, WeightDecay: float32(s.decay),
			ClipValue: float32(a.config.ClipValue), GradScale: scale, Late: a.config.Late,
		}
		if a.config.L2 {
			o.L2, o.WeightDecay = o.WeightDecay, 0
		}
		if a.config.Uncorrected {
			o.Step = 0
		}
		a.dev.Adam(s.Value, s.Grad, s.m, s.v, o)
	}
	return norm
}

// Free gives the memory of the state back.
func (a *Adam) Free() {
	a.dev.Free(a.m)
	a.dev.Free(a.v)
	a.trained.free()
}

// Names of the state in a file: the prefixes of a parameter's path, and the
// number of updates.
const (
	momentPrefix   = "adam.m/"
	variancePrefix = "adam.v/"
	stepName       = "adam.step"
)

// each calls f for every parameter with its parts of the state.
func (a *Adam) each(f func(p *nn.Param, m, v tensor.Tensor)) {
	for _, s := range a.spans {
		for _, p := range s.Params {
			at := p.Grad.Off - s.Grad.Off
			m, v := s.m.Slice(at, at+p.Len()), s.v.Slice(at, at+p.Len())
			f(p, m.View(p.Shape...), v.View(p.Shape...))
		}
	}
}

// Tensors returns the state as tensors to be written.
func (a *Adam) Tensors() []ckpt.Tensor {
	out := []ckpt.Tensor{a.stepTensor(stepName)}
	a.each(func(p *nn.Param, m, v tensor.Tensor) {
		out = append(out, ckpt.Of(a.dev, momentPrefix+p.Path, m), ckpt.Of(a.dev, variancePrefix+p.Path, v))
	})
	return out
}

// Restore takes the state from f, as Tensors wrote it.
func (a *Adam) Restore(f *ckpt.File) error {
	errs := []error{a.restoreStep(f, stepName)}
	a.each(func(p *nn.Param, m, v tensor.Tensor) {
		errs = append(errs, f.Into(a.dev, m, momentPrefix+p.Path), f.Into(a.dev, v, variancePrefix+p.Path))
	})
	return errors.Join(errs...)
}
