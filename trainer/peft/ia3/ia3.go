// Package ia3 is (IA)3 (Liu et al. 2022, section 3.3): trained vectors that
// rescale what linear maps of a frozen model give, or what they read,
//
//	k' = l_k k, v' = l_v v, FFN(x) = W_out (l_ff act(W_in x))
//
// elementwise. They start at one.
package ia3

import (
	"fmt"

	"espalier/trainer/grad"
	"espalier/trainer/nn"
	"espalier/trainer/peft"
)

// Method is the settings. The zero value of a field means its default.
type Method struct {
	Outputs []string `yaml:"outputs" json:"outputs" doc:"patterns of the linear maps whose result is rescaled; by default **.k and **.v"`
	Inputs  []string `yaml:"inputs" json:"inputs" doc:"patterns of those whose operand is; by default **.wo"`
	Norms   bool     `yaml:"norms" json:"norms" doc:"train the gains of all norms besides"`
}

// Check fills in defaults.
func (m *Method) Check() error {
	if len(m.Outputs) == 0 && len(m.Inputs) == 0 {
		m.Outputs, m.Inputs = []string{"**.k", "**.v"}, []string{"**.wo"}
	}
	return nil
}

// Edit adds path.ia3_output and path.ia3_input.
func (m *Method) Edit(e *peft.Editor) error {
	if err := m.Check(); err != nil {
		return fmt.Errorf("ia3: %w", err)
	}
	for _, l := range e.Maps(m.Outputs...) {
		v := e.New(l.Path+".ia3_output", nn.Const(1), l.Out)
		e.Output(l, func(p *peft.Pass, _, y grad.Var) grad.Var { return p.Tape.Mul(y, v.Var(p.Tape)) })
	}
	for _, l := range e.Maps(m.Inputs...) {
		v := e.New(l.Path+".ia3_input", nn.Const(1), l.In)
		e.Input(l, func(p *peft.Pass, x grad.Var) grad.Var { return p.Tape.Mul(x, v.Var(p.Tape)) })
	}
	if m.Norms {
		e.TrainNorms()
	}
	return nil
}
