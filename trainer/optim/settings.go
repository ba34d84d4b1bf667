package optim

import (
	"cmp"
	"errors"
	"fmt"

	"espalier/trainer/nn"
)

// Kinds of optimisers: AdamKind has its weight decay in the gradient, AdamWKind
// decoupled, AdamWHFKind as Hugging Face's transformers had it before 5.
const (
	AdamKind      = "adam"
	AdamWKind     = "adamw"
	AdamWHFKind   = "adamw_hf"
	AdafactorKind = "adafactor"
	SGDKind       = "sgd"
)

// Settings choose an optimiser. A field that the kind does not use must be
// left out.
type Settings struct {
	Kind        string   `yaml:"kind" json:"kind" doc:"adam, adamw, adamw_hf (transformers before 5), adafactor or sgd; by default adamw"`
	Beta1       float64  `yaml:"beta1" json:"beta1,omitempty" doc:"adam: by default 0.9; adafactor: of a mean of updates, by default none"`
	Beta2       float64  `yaml:"beta2" json:"beta2,omitempty" doc:"adam: by default 0.999"`
	Eps         float64  `yaml:"eps" json:"eps,omitempty" doc:"adam: by default 1e-8; adafactor: 1e-30"`
	Uncorrected bool     `yaml:"uncorrected" json:"uncorrected,omitempty" doc:"adam: the means keep their bias"`
	WeightDecay float64  `yaml:"weight_decay" json:"weight_decay,omitempty" doc:"by default none; decoupled but for adam and sgd"`
	Decay       float64  `yaml:"decay" json:"decay,omitempty" doc:"adafactor: exponent of the means' memory; by default 0.8"`
	Scale       bool     `yaml:"scale" json:"scale,omitempty" doc:"adafactor: the rate goes by the size of each parameter"`
	MinScale    float64  `yaml:"min_scale" json:"min_scale,omitempty" doc:"adafactor: least such size; by default 1e-3"`
	ClipUpdate  *float64 `yaml:"clip_update" json:"clip_update,omitempty" doc:"adafactor: largest root mean square of an update; by default 1, 0 for none"`
	Momentum    float64  `yaml:"momentum" json:"momentum,omitempty" doc:"sgd: by default none"`
	Dampening   float64  `yaml:"dampening" json:"dampening,omitempty" doc:"sgd: by default none"`
	Nesterov    bool     `yaml:"nesterov" json:"nesterov,omitempty" doc:"sgd"`
	ClipNorm    float64  `yaml:"clip_norm" json:"clip_norm,omitempty" doc:"gradients are scaled to this norm first; by default not"`
	ClipValue   float64  `yaml:"clip_value" json:"clip_value,omitempty" doc:"each gradient is then clipped to this; by default not; not with adafactor"`
}

// Check fills in defaults and reports every fault at once.
func (s *Settings) Check() error {
	s.Kind = cmp.Or(s.Kind, AdamWKind)
	var errs []error
	fault := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	adam := false
	switch s.Kind {
	case AdamKind, AdamWKind, AdamWHFKind:
		adam = true
		s.Beta1, s.Beta2, s.Eps = cmp.Or(s.Beta1, 0.9), cmp.Or(s.Beta2, 0.999), cmp.Or(s.Eps, 1e-8)
	case AdafactorKind:
		s.Eps, s.Decay = cmp.Or(s.Eps, 1e-30), cmp.Or(s.Decay, 0.8)
		if s.Scale {
			s.MinScale = cmp.Or(s.MinScale, 1e-3)
		}
		if s.ClipUpdate == nil {
			one := 1.0
			s.ClipUpdate = &one
		}
	case SGDKind:
	default:
		return fmt.Errorf("kind: %q, want adam, adamw, adamw_hf, adafactor or sgd", s.Kind)
	}
	factor, sgd := s.Kind == AdafactorKind, s.Kind == SGDKind
	clip := 0.0
	if s.ClipUpdate != nil {
		clip = *s.ClipUpdate
	}
	for _, f := range []struct {
		name         string
		value, below float64
		used         bool
	}{
		{"beta1", s.Beta1, 1, adam || factor},
		{"beta2", s.Beta2, 1, adam},
		{"eps", s.Eps, 1, adam || factor},
		{"weight_decay", s.WeightDecay, 1, true},
		{"decay", s.Decay, 10, factor},
		{"min_scale", s.MinScale, 1e30, factor && s.Scale},
		{"clip_update", clip, 1e30, factor},
		{"momentum", s.Momentum, 1, sgd},
		{"dampening", s.Dampening, 1, sgd && s.Momentum != 0 && !s.Nesterov},
		{"clip_norm", s.ClipNorm, 1e30, true},
		{"clip_value", s.ClipValue, 1e30, !factor},
	} {
		switch {
		case f.value != 0 && !f.used:
			fault("%s: not used by %s with the other settings", f.name, s.Kind)
		case !(f.value >= 0 && f.value < f.below):
			fault("%s: %g, want 0 or more and less than %g", f.name, f.value, f.below)
		}
	}
	for _, f := range []struct {
		name      string
		set, used bool
	}{
		{"uncorrected", s.Uncorrected, adam},
		{"scale", s.Scale, factor},
		{"nesterov", s.Nesterov, sgd && s.Momentum != 0},
	} {
		if f.set && !f.used {
			fault("%s: not used by %s with the other settings", f.name, s.Kind)
		}
	}
	return errors.Join(errs...)
}

// New makes the trained parameters of ps ready for training and returns the
// optimiser of checked settings. A group overrides the weight decay.
func (s *Settings) New(ps *nn.Params, group Group) Optimizer {
	switch s.Kind {
	case SGDKind:
		return NewSGD(ps, SGDConfig{
			Momentum: s.Momentum, Dampening: s.Dampening, Nesterov: s.Nesterov, WeightDecay: s.WeightDecay,
			ClipNorm: s.ClipNorm, ClipValue: s.ClipValue, Group: group,
		})
	case AdafactorKind:
		return NewAdafactor(ps, AdafactorConfig{
			Decay: s.Decay, Eps: s.Eps, Scale: s.Scale, MinScale: s.MinScale, Clip: *s.ClipUpdate, Beta1: s.Beta1,
			WeightDecay: s.WeightDecay, ClipNorm: s.ClipNorm, Group: group,
		})
	}
	return NewAdam(ps, AdamConfig{
		Beta1: s.Beta1, Beta2: s.Beta2, Eps: s.Eps, WeightDecay: s.WeightDecay, L2: s.Kind == AdamKind,
		Uncorrected: s.Uncorrected, Late: s.Kind == AdamWHFKind, ClipNorm: s.ClipNorm, ClipValue: s.ClipValue, Group: group,
	})
}
