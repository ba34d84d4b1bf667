// Package adapter is bottleneck adapters, A(x) = W_up act(W_down x + b_down) +
// b_up, behind or beside the sub-layers of a model:
//
//	sequential   s + LN(A(s))           (Houlsby et al. 2019; HyperFormer)
//	stream       s + LN(A(s + h))       (Pfeiffer et al. 2021)
//	parallel     y + scale A(x)         (He et al. 2022, eq. 8)
//
// where h is the residual stream, x = norm(h) what the sub-layer reads, s what
// it gives before dropout and the residual, and y = h + drop(s). The LayerNorm
// is optional.
//
// With several tasks, one adapter serves all, or each has its own, which share
// the LayerNorms (Adapters-dagger of Karimi Mahabadi et al. 2021).
//
// The package also has the parts of which other methods make adapters with
// weights of other kinds: [Weights], [Place] and [Sites].
package adapter

import (
	"cmp"
	"errors"
	"fmt"

	"espalier/trainer/grad"
	"espalier/trainer/nn"
	"espalier/trainer/peft"
)

// Method is the settings. The zero value of a field means its default.
type Method struct {
	Sites      `yaml:",inline"`
	Place      `yaml:",inline"`
	Reduction  int      `yaml:"reduction" json:"reduction" doc:"width of the stream over that of an adapter; by default 32"`
	Bottleneck int      `yaml:"bottleneck" json:"bottleneck" doc:"width of an adapter, in place of reduction"`
	Act        string   `yaml:"act" json:"act" doc:"gelu_new (tanh form, the default), gelu (exact), relu, silu or tanh"`
	PostNorm   *bool    `yaml:"post_norm" json:"post_norm" doc:"LayerNorm on what an adapter gives; by default true, false if parallel"`
	PerTask    bool     `yaml:"per_task" json:"per_task" doc:"an adapter for each task; LayerNorms are shared"`
	Scale      *float64 `yaml:"scale" json:"scale" doc:"factor of what an adapter gives; by default 1"`
	LearnScale bool     `yaml:"learn_scale" json:"learn_scale" doc:"train the factor, one for each adapter"`
	Norms      *bool    `yaml:"norms" json:"norms" doc:"train the gains of the model's norms; by default true"`
	Init       string   `yaml:"init" json:"init" doc:"small (deviation 0.01, the default) or lora (W_up is zero)"`
}

// Check fills in defaults and reports every fault at once.
func (m *Method) Check() error {
	errs := []error{m.Sites.Check(), m.Place.Check()}
	m.Reduction, m.Act, m.Init = cmp.Or(m.Reduction, 32), cmp.Or(m.Act, "gelu_new"), cmp.Or(m.Init, "small")
	if m.PostNorm == nil {
		yes := m.Position != "parallel"
		m.PostNorm = &yes
	}
	if m.Norms == nil {
		yes := true
		m.Norms = &yes
	}
	if m.Scale == nil {
		one := 1.0
		m.Scale = &one
	}
	if m.Reduction < 1 || m.Bottleneck < 0 {
		errs = append(errs, fmt.Errorf("reduction: %d, bottleneck: %d, want at least 1", m.Reduction, m.Bottleneck))
	}
	if m.Init != "small" && m.Init != "lora" {
		errs = append(errs, fmt.Errorf("init: %q, want small or lora", m.Init))
	}
	_, err := Act(m.Act)
	return errors.Join(append(errs, err)...)
}

// own is the parameters of one adapter.
type own struct {
	down, downBias, up, upBias *nn.Param
	gain, shift, scale         *nn.Param
}

// Edit adds sub.adapter.down.weight and so on for each site.
func (m *Method) Edit(e *peft.Editor) error {
	if err := m.Check(); err != nil {
		return fmt.Errorf("adapter: %w", err)
	}
	d := e.Layout().Width
	r, err := Bottleneck(m.Bottleneck, m.Reduction, d)
	if err != nil {
		return fmt.Errorf("adapter: %w", err)
	}
	act, err := Act(m.Act)
	if err != nil {
		return fmt.Errorf("adapter: %w", err)
	}
	for _, sub := range m.Subs(e) {
		a := m.declare(e, sub.Path+".adapter", d, r)
		m.Attach(e, sub, act, func(p *peft.Pass) Weights { return m.weights(p, a) })
	}
	if *m.Norms {
		e.TrainNorms()
	}
	return nil
}

func (m *Method) declare(e *peft.Editor, path string, d, r int) *own {
	a := &own{}
	in, out := nn.Normal(0.01), nn.Normal(0.01)
	if m.Init == "lora" {
		in, out = nn.FanIn(d), nn.Const(0)
	}
	each := func(name string, init nn.Init, shape ...int) *nn.Param {
		if m.PerTask {
			return e.PerTask(e.New(path+name, init, append([]int{e.Tasks()}, shape...)...))
		}
		return e.New(path+name, init, shape...)
	}
	a.down, a.downBias = each(".down.weight", in, r, d), each(".down.bias", nn.Const(0), r)
	a.up, a.upBias = each(".up.weight", out, d, r), each(".up.bias", nn.Const(0), d)
	if *m.PostNorm {
		a.gain, a.shift = e.New(path+".norm.weight", nn.Const(1), d), e.New(path+".norm.bias", nn.Const(0), d)
	}
	if m.LearnScale {
		a.scale = e.New(path+".scale", nn.Const(*m.Scale), 1)
	}
	return a
}

func (m *Method) weights(p *peft.Pass, a *own) Weights {
	t := p.Tape
	pick := func(x *nn.Param) grad.Var {
		if m.PerTask {
			return p.Row(x.Var(t), p.Task)
		}
		return x.Var(t)
	}
	w := Weights{
		Down: pick(a.down), DownBias: pick(a.downBias), Up: pick(a.up), UpBias: pick(a.upBias),
		Gain: a.gain.Var(t), Shift: a.shift.Var(t),
	}
	switch {
	case m.LearnScale:
		w.Up, w.UpBias = p.Scale(w.Up, a.scale.Var(t)), p.Scale(w.UpBias, a.scale.Var(t))
	case *m.Scale != 1:
		w.Up, w.UpBias = t.Scale(w.Up, *m.Scale), t.Scale(w.UpBias, *m.Scale)
	}
	return w
}
