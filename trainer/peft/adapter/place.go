package adapter

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"espalier/trainer/grad"
	"espalier/trainer/op"
	"espalier/trainer/peft"
)

// Sites says which sub-layers have an adapter.
type Sites struct {
	Sites []string `yaml:"sites" json:"sites" doc:"self, cross (attentions) and feed_forward; by default self and feed_forward"`
}

// Check fills in the default and reports every fault at once.
func (s *Sites) Check() error {
	if len(s.Sites) == 0 {
		s.Sites = []string{"self", "feed_forward"}
	}
	var errs []error
	for _, name := range s.Sites {
		if _, ok := kinds[name]; !ok {
			errs = append(errs, fmt.Errorf("sites: %q, want self, cross or feed_forward", name))
		}
	}
	return errors.Join(errs...)
}

var kinds = map[string]peft.Kind{"self": peft.SelfAttention, "cross": peft.CrossAttention, "feed_forward": peft.FeedForward}

// Subs returns the sub-layers, in the order of the model.
func (s *Sites) Subs(e *peft.Editor) []*peft.Sub {
	var out []*peft.Sub
	for _, sub := range e.Layout().Subs {
		if slices.ContainsFunc(s.Sites, func(name string) bool { return kinds[name] == sub.Kind }) {
			out = append(out, sub)
		}
	}
	return out
}

// Place says how an adapter is joined to a sub-layer.
type Place struct {
	Position string `yaml:"position" json:"position" doc:"sequential (the default), stream or parallel"`
	Input    string `yaml:"input" json:"input" doc:"what a parallel adapter reads: norm (what the sub-layer reads, the default) or stream"`
}

// Check fills in defaults and reports every fault at once.
func (pl *Place) Check() error {
	pl.Position, pl.Input = cmp.Or(pl.Position, "sequential"), cmp.Or(pl.Input, "norm")
	var errs []error
	if !slices.Contains([]string{"sequential", "stream", "parallel"}, pl.Position) {
		errs = append(errs, fmt.Errorf("position: %q, want sequential, stream or parallel", pl.Position))
	}
	if pl.Input != "norm" && pl.Input != "stream" {
		errs = append(errs, fmt.Errorf("input: %q, want norm or stream", pl.Input))
	}
	return errors.Join(errs...)
}

// Attach adds an adapter to a sub-layer, whose weights are what make returns.
// pl must have been checked.
func (pl *Place) Attach(e *peft.Editor, sub *peft.Sub, act op.Act, make func(p *peft.Pass) Weights) {
	add := func(p *peft.Pass, x, y grad.Var) grad.Var {
		w := make(p)
		return w.Apply(p, x, act, y)
	}
	switch {
	case pl.Position == "sequential":
		e.Inner(sub, func(p *peft.Pass, _, _, s grad.Var) grad.Var { return add(p, s, s) })
	case pl.Position == "stream":
		e.Inner(sub, func(p *peft.Pass, h, _, s grad.Var) grad.Var { return add(p, p.Tape.Add(s, h), s) })
	case pl.Input == "stream":
		e.Outer(sub, func(p *peft.Pass, h, _, y grad.Var) grad.Var { return add(p, h, y) })
	default:
		e.Outer(sub, func(p *peft.Pass, _, x, y grad.Var) grad.Var { return add(p, x, y) })
	}
}
