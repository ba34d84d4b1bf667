// Package optim is update rules and learning-rate schedules.
//
// An [Adam] updates the trained parameters of an nn.Params from their
// gradients, which the caller has summed and zeroes again. Its state is saved
// beside the parameters, under their paths, so that a run resumes to the bit.
// It is used from the goroutine that uses the device.
package optim

import (
	"errors"
	"fmt"
	"math"

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
	ClipNorm          float64 // gradients are scaled to this norm over all parameters; 0 means no clipping
	ClipValue         float64 // then each element is clipped to ±ClipValue; 0 means no clipping
	// Group, if set, gives a parameter its own share of the rate and its own
	// weight decay.
	Group func(p *nn.Param) (rateScale, weightDecay float64)
}

// Adam is an optimiser with its state.
type Adam struct {
	config AdamConfig
	ps     *nn.Params
	spans  []span
	m, v   tensor.Tensor // laid out as the gradients
	norm2  tensor.Tensor // one element
	step   int
	read   [1]float32
}

type span struct {
	nn.Span
	m, v         tensor.Tensor
	scale, decay float64
}

// NewAdam makes the trained parameters of ps ready for training and returns
// their optimiser.
func NewAdam(ps *nn.Params, c AdamConfig) *Adam {
	ps.Train()
	dev := ps.Device()
	a := &Adam{config: c, ps: ps}
	size := ps.Grads().Len()
	a.m, a.v = dev.Keep(tensor.Float32, size), dev.Keep(tensor.Float32, size)
	a.norm2 = dev.Keep(tensor.Float32, 1)
	group := c.Group
	if group == nil {
		group = func(*nn.Param) (float64, float64) { return 1, c.WeightDecay }
	}
	index := map[[2]float64]int{}
	spans := ps.Spans(func(p *nn.Param) int {
		r, d := group(p)
		k := [2]float64{r, d}
		if _, ok := index[k]; !ok {
			index[k] = len(index)
		}
		return index[k]
	})
	for _, s := range spans {
		r, d := group(s.Params[0])
		end := s.At + s.Value.Len()
		a.spans = append(a.spans, span{Span: s, m: a.m.Slice(s.At, end), v: a.v.Slice(s.At, end), scale: r, decay: d})
	}
	return a
}

// Step returns the number of updates made.
func (a *Adam) Step() int { return a.step }

// Update changes the parameters by one step at the given rate. It returns the
// norm of all gradients before clipping if ClipNorm is set, else 0.
func (a *Adam) Update(rate float64) float64 {
	dev := a.ps.Device()
	a.step++
	norm, scale := 0.0, float32(1)
	if c := a.config.ClipNorm; c > 0 {
		dev.SumSquares(a.norm2, a.ps.Grads())
		dev.Read(a.read[:], a.norm2)
		norm = math.Sqrt(float64(a.read[0]))
		scale = float32(min(1, c/(norm+1e-6)))
	}
	for i := range a.spans {
		s := &a.spans[i]
		dev.Adam(s.Value, s.Grad, s.m, s.v, op.Adam{
			Rate: float32(rate * s.scale), Beta1: float32(a.config.Beta1), Beta2: float32(a.config.Beta2), Eps: float32(a.config.Eps),
			Step: a.step, WeightDecay: float32(s.decay), ClipValue: float32(a.config.ClipValue), GradScale: scale,
		})
	}
	return norm
}

// Free gives the memory of the state back.
func (a *Adam) Free() {
	dev := a.ps.Device()
	dev.Free(a.m)
	dev.Free(a.v)
	dev.Free(a.norm2)
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
	dev := a.ps.Device()
	out := []ckpt.Tensor{{Name: stepName, Ints: []int64{int64(a.step)}}}
	a.each(func(p *nn.Param, m, v tensor.Tensor) {
		out = append(out, ckpt.Of(dev, momentPrefix+p.Path, m), ckpt.Of(dev, variancePrefix+p.Path, v))
	})
	return out
}

// Restore takes the state from f, as Tensors wrote it.
func (a *Adam) Restore(f *ckpt.File) error {
	dev := a.ps.Device()
	step, err := f.Ints(stepName)
	if err != nil {
		return err
	}
	if len(step) != 1 || step[0] < 0 {
		return fmt.Errorf("optim: %s is %v", stepName, step)
	}
	var errs []error
	a.each(func(p *nn.Param, m, v tensor.Tensor) {
		errs = append(errs, f.Into(dev, m, momentPrefix+p.Path), f.Into(dev, v, variancePrefix+p.Path))
	})
	a.step = int(step[0])
	return errors.Join(errs...)
}
