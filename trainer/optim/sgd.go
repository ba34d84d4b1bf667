package optim

import (
	"espalier/trainer/ckpt"
	"espalier/trainer/nn"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// SGDConfig is the settings of stochastic gradient descent with momentum, as
// torch has it; see op.SGD.
type SGDConfig struct {
	Momentum, Dampening float64
	Nesterov            bool
	WeightDecay         float64 // part of the gradient, after clipping
	ClipNorm, ClipValue float64 // as in AdamConfig
	Group               Group
}

// SGD is an optimiser with its state.
type SGD struct {
	config SGDConfig
	trained
	spans []span
	m     tensor.Tensor // laid out as the gradients; zero without momentum
}

// NewSGD makes the trained parameters of ps ready for training and returns
// their optimiser.
func NewSGD(ps *nn.Params, c SGDConfig) *SGD {
	s := &SGD{config: c, trained: newTrained(ps, c.ClipNorm), spans: nil}
	s.spans = spans(ps, c.Group, c.WeightDecay)
	if c.Momentum != 0 {
		s.m = s.dev.Keep(tensor.Float32, ps.Grads().Len())
		for i := range s.spans {
			p := &s.spans[i]
			p.m = s.m.Slice(p.At, p.At+p.Value.Len())
		}
	}
	return s
}

// Update changes the parameters by one step at the given rate; see Optimizer.
func (s *SGD) Update(rate float64) float64 {
	norm, scale := s.begin()
	for i := range s.spans {
		p := &s.spans[i]
		s.dev.SGD(p.Value, p.Grad, p.m, op.SGD{
			Rate: float32(rate * p.scale), Momentum: float32(s.config.Momentum), Dampening: float32(s.config.Dampening),
			L2: float32(p.decay), Nesterov: s.config.Nesterov, First: s.step == 1,
			ClipValue: float32(s.config.ClipValue), GradScale: scale,
		})
	}
	return norm
}

// Free gives the memory of the state back.
func (s *SGD) Free() {
	s.dev.Free(s.m)
	s.trained.free()
}

// Names of the state in a file.
const (
	sgdMomentPrefix = "sgd.m/"
	sgdStepName     = "sgd.step"
)

// each calls f for every parameter with its part of the state.
func (s *SGD) each(f func(p *nn.Param, m tensor.Tensor)) {
	if s.m.IsZero() {
		return
	}
	for _, sp := range s.spans {
		for _, p := range sp.Params {
			at := p.Grad.Off - sp.Grad.Off
			f(p, sp.m.Slice(at, at+p.Len()).View(p.Shape...))
		}
	}
}

// Tensors returns the state as tensors to be written.
func (s *SGD) Tensors() []ckpt.Tensor {
	out := []ckpt.Tensor{s.stepTensor(sgdStepName)}
	s.each(func(p *nn.Param, m tensor.Tensor) { out = append(out, ckpt.Of(s.dev, sgdMomentPrefix+p.Path, m)) })
	return out
}

// Restore takes the state from f, as Tensors wrote it.
func (s *SGD) Restore(f *ckpt.File) error {
	err := s.restoreStep(f, sgdStepName)
	s.each(func(p *nn.Param, m tensor.Tensor) {
		if err == nil {
			err = f.Into(s.dev, m, sgdMomentPrefix+p.Path)
		}
	})
	return err
}
