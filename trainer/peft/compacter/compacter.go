// Package compacter is Compacter (Karimi Mahabadi et al. 2021, section 3):
// adapters whose matrices are sums of Kronecker products,
//
//	y = x H + b,  H = sum over i of A_i (x) B_i,  B_i = s_i t_i
//
// with n matrices A_i of size n, the rule, which all maps share, and B_i of low
// rank. Compacter has adapters behind self-attentions and feed-forwards,
// Compacter++ behind feed-forwards only. The gains of the model's norms are
// trained besides.
package compacter

import (
	"cmp"
	"errors"
	"fmt"

	"espalier/trainer/grad"
	"espalier/trainer/nn"
	"espalier/trainer/peft"
	"espalier/trainer/peft/adapter"
)

// Method is the settings. The zero value of a field means its default.
type Method struct {
	adapter.Sites `yaml:",inline"`
	adapter.Place `yaml:",inline"`
	Reduction     int    `yaml:"reduction" json:"reduction" doc:"width of the stream over that of an adapter; by default 32"`
	Bottleneck    int    `yaml:"bottleneck" json:"bottleneck" doc:"width of an adapter, in place of reduction"`
	Parts         int    `yaml:"parts" json:"parts" doc:"Kronecker products of a sum, n; by default 4"`
	Rank          int    `yaml:"rank" json:"rank" doc:"of the right factors; by default 1"`
	Full          bool   `yaml:"full" json:"full" doc:"train the right factors themselves"`
	OwnRules      bool   `yaml:"own_rules" json:"own_rules" doc:"a rule for each map, rather than one for all"`
	Act           string `yaml:"act" json:"act" doc:"gelu_new (tanh form, the default), gelu (exact), relu, silu or tanh"`
	Norms         *bool  `yaml:"norms" json:"norms" doc:"train the gains of the model's norms; by default true"`
}

// Check fills in defaults and reports every fault at once.
func (m *Method) Check() error {
	errs := []error{m.Sites.Check(), m.Place.Check()}
	m.Reduction, m.Parts, m.Rank = cmp.Or(m.Reduction, 32), cmp.Or(m.Parts, 4), cmp.Or(m.Rank, 1)
	m.Act = cmp.Or(m.Act, "gelu_new")
	if m.Norms == nil {
		yes := true
		m.Norms = &yes
	}
	if min(m.Reduction, m.Parts, m.Rank) < 1 || m.Bottleneck < 0 {
		errs = append(errs, fmt.Errorf("reduction: %d, parts: %d, rank: %d, bottleneck: %d, want at least 1", m.Reduction, m.Parts, m.Rank, m.Bottleneck))
	}
	_, err := adapter.Act(m.Act)
	return errors.Join(append(errs, err)...)
}

// A sum is a linear map whose matrix is a sum of Kronecker products.
type sum struct {
	rule        *nn.Param // [n, n, n]
	left, right *nn.Param // [n, in/n, rank] and [n, rank, out/n]; right is nil if left is the whole
	bias        *nn.Param
	n, in, out  int
}

// Edit adds sub.compacter.down.left and so on for each site.
func (m *Method) Edit(e *peft.Editor) error {
	if err := m.Check(); err != nil {
		return fmt.Errorf("compacter: %w", err)
	}
	d := e.Layout().Width
	r, err := adapter.Bottleneck(m.Bottleneck, m.Reduction, d)
	if err != nil {
		return fmt.Errorf("compacter: %w", err)
	}
	if d%m.Parts != 0 || r%m.Parts != 0 {
		return fmt.Errorf("compacter: parts: %d, want a divisor of the widths %d and %d", m.Parts, d, r)
	}
	act, err := adapter.Act(m.Act)
	if err != nil {
		return fmt.Errorf("compacter: %w", err)
	}
	var rule *nn.Param
	if !m.OwnRules {
		rule = m.rule(e, "compacter.rule")
	}
	for _, sub := range m.Subs(e) {
		down := m.declare(e, sub.Path+".compacter.down", rule, d, r)
		up := m.declare(e, sub.Path+".compacter.up", rule, r, d)
		memo := e.Memo()
		m.Attach(e, sub, act, func(p *peft.Pass) adapter.Weights {
			w := p.Once(memo, func() []grad.Var { return []grad.Var{down.matrix(p.Tape), up.matrix(p.Tape)} })
			return adapter.Weights{Down: w[0], DownBias: down.bias.Var(p.Tape), Up: w[1], UpBias: up.bias.Var(p.Tape)}
		})
	}
	if *m.Norms {
		e.TrainNorms()
	}
	return nil
}

func (m *Method) rule(e *peft.Editor, path string) *nn.Param {
	return e.New(path, nn.Normal(1e-4), m.Parts, m.Parts, m.Parts)
}

func (m *Method) declare(e *peft.Editor, path string, rule *nn.Param, in, out int) *sum {
	n := m.Parts
	s := &sum{rule: rule, n: n, in: in, out: out}
	if rule == nil {
		s.rule = m.rule(e, path+".rule")
	}
	if m.Full {
		s.left = e.New(path+".whole", nn.Xavier(in/n, out/n), n, in/n, out/n)
	} else {
		s.left = e.New(path+".left", nn.Xavier(in/n, m.Rank), n, in/n, m.Rank)
		s.right = e.New(path+".right", nn.Xavier(m.Rank, out/n), n, m.Rank, out/n)
	}
	s.bias = e.New(path+".bias", nn.Const(0), out)
	return s
}

// matrix returns the transpose of H, [out, in].
func (s *sum) matrix(t *grad.Tape) grad.Var {
	n, in, out := s.n, s.in/s.n, s.out/s.n
	b := s.left.Var(t)
	if s.right != nil {
		b = t.MatMul(b, s.right.Var(t), false)
	}
	a := t.Permute(t.View(s.rule.Var(t), n, n*n), 1, 0)
	h := t.View(t.MatMul(a, t.View(b, n, in*out), false), n, n, in, out)
	return t.View(t.Permute(h, 1, 3, 0, 2), s.out, s.in)
}
