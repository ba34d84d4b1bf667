package optim

import (
	"cmp"
	"errors"
	"fmt"
	"math"
)

// Kinds of schedules.
const (
	Constant    = "constant"
	Noam        = "noam"
	StepDecay   = "step"
	Linear      = "linear"
	Cosine      = "cosine"
	InverseSqrt = "inverse_sqrt"
	MeshSqrt    = "rsqrt"
	Relative    = "relative"
)

// A Schedule is a learning rate as a function of the update. With w warm-up
// updates and T in all, the rate before update t (from 0) is
//
//	constant  Rate
//	noam      Rate * Width^-0.5 * min((t+1)^-0.5, (t+1) * w^-1.5)    (Vaswani 2017, eq. 3)
//	step      Rate * Decay^floor((epoch-Start)/Every) once epoch > Start, epoch = floor(t/EpochSteps)
//	linear    Rate * (T-t)/(T-w)
//	cosine    Min + (Rate-Min)/2 * (1 + cos(pi * (t-w)/(T-w)))
//	inverse_sqrt  Rate * (S/(t-w+S))^0.5, S = Timescale
//	rsqrt     Rate * max(t, w)^-0.5      (T5's pre-training)
//	relative  Rate * max(t+1, w)^-0.5    (Adafactor's relative steps; with its warm-up they are noam of width 1)
//
// All but noam, rsqrt and relative rise linearly from 0 over the warm-up, as the
// schedules of Hugging Face's transformers do: Rate * t/w.
type Schedule struct {
	Kind       string  `yaml:"kind" json:"kind"`
	Rate       float64 `yaml:"rate" json:"rate,omitempty"` // noam: a factor, by default 1
	Warmup     int     `yaml:"warmup" json:"warmup,omitempty"`
	Total      int     `yaml:"total" json:"total,omitempty"`             // linear, cosine
	Min        float64 `yaml:"min" json:"min,omitempty"`                 // cosine
	Timescale  int     `yaml:"timescale" json:"timescale,omitempty"`     // inverse_sqrt: by default the warm-up, or 10000 without
	Width      int     `yaml:"width" json:"width,omitempty"`             // noam: width of the model
	Start      int     `yaml:"start" json:"start,omitempty"`             // step: last epoch before the decay
	Every      int     `yaml:"every" json:"every,omitempty"`             // step: epochs, by default 3
	Decay      float64 `yaml:"decay" json:"decay,omitempty"`             // step: by default 0.8
	EpochSteps int     `yaml:"epoch_steps" json:"epoch_steps,omitempty"` // step
}

// Check fills in defaults and reports every fault at once. A field that the
// kind does not use is a fault.
func (s *Schedule) Check() error {
	s.Kind = cmp.Or(s.Kind, Constant)
	var errs []error
	need := func(ok bool, name string, value any, want string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s: %v, want %s", name, value, want))
		}
	}
	switch s.Kind {
	case Noam:
		s.Rate = cmp.Or(s.Rate, 1)
		s.Warmup = cmp.Or(s.Warmup, 10000)
		need(s.Width > 0, "width", s.Width, "at least 1")
	case StepDecay:
		s.Every, s.Decay = cmp.Or(s.Every, 3), cmp.Or(s.Decay, 0.8)
		need(s.EpochSteps > 0, "epoch_steps", s.EpochSteps, "at least 1")
		need(s.Every > 0, "every", s.Every, "at least 1")
		need(s.Decay > 0, "decay", s.Decay, "more than 0")
		need(s.Start >= 0, "start", s.Start, "at least 0")
	case Linear, Cosine:
		need(s.Total > s.Warmup, "total", s.Total, "more than warmup")
	case InverseSqrt:
		s.Timescale = cmp.Or(s.Timescale, s.Warmup, 10000)
		need(s.Timescale > 0, "timescale", s.Timescale, "at least 1")
	case MeshSqrt, Relative:
		s.Rate = cmp.Or(s.Rate, 1)
		s.Warmup = cmp.Or(s.Warmup, 10000)
	case Constant:
	default:
		errs = append(errs, fmt.Errorf("kind: %q, want %s", s.Kind, "constant, noam, step, linear, cosine, inverse_sqrt, rsqrt or relative"))
	}
	need(s.Rate > 0, "rate", s.Rate, "more than 0")
	need(s.Warmup >= 0, "warmup", s.Warmup, "at least 0")
	only := func(set bool, name string, kinds ...string) {
		for _, k := range kinds {
			if k == s.Kind {
				return
			}
		}
		if set {
			errs = append(errs, fmt.Errorf("%s: not used by %s", name, s.Kind))
		}
	}
	only(s.Width != 0, "width", Noam)
	only(s.Total != 0, "total", Linear, Cosine)
	only(s.Min != 0, "min", Cosine)
	only(s.Timescale != 0, "timescale", InverseSqrt)
	only(s.Start != 0, "start", StepDecay)
	only(s.Every != 0, "every", StepDecay)
	only(s.Decay != 0, "decay", StepDecay)
	only(s.EpochSteps != 0, "epoch_steps", StepDecay)
	return errors.Join(errs...)
}

// At returns the rate of update t, counted from 0.
func (s *Schedule) At(t int) float64 {
	switch s.Kind {
	case Noam:
		n, w := float64(t+1), float64(s.Warmup)
		return s.Rate * math.Pow(float64(s.Width), -0.5) * min(math.Pow(n, -0.5), n*math.Pow(w, -1.5))
	case MeshSqrt:
		return s.Rate / math.Sqrt(float64(max(t, s.Warmup)))
	case Relative:
		return s.Rate / math.Sqrt(float64(max(t+1, s.Warmup)))
	}
	if t < s.Warmup {
		return s.Rate * float64(t) / float64(s.Warmup)
	}
	switch s.Kind {
	case StepDecay:
		if epoch := t / s.EpochSteps; epoch > s.Start {
			return s.Rate * math.Pow(s.Decay, float64((epoch-s.Start)/s.Every))
		}
	case Linear:
		return s.Rate * max(0, float64(s.Total-t)) / float64(s.Total-s.Warmup)
	case InverseSqrt:
		return s.Rate * math.Sqrt(float64(s.Timescale)/float64(t-s.Warmup+s.Timescale))
	case Cosine:
		x := min(1, float64(t-s.Warmup)/float64(s.Total-s.Warmup))
		return s.Min + (s.Rate-s.Min)/2*(1+math.Cos(math.Pi*x))
	}
	return s.Rate
}
