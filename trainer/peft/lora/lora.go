// Package lora adds low-rank changes to linear maps (Hu et al. 2021, eq. 3):
// y = x W' + s * drop(x) A' B', with A [r, in] and B [out, r], and s = alpha/r,
// or alpha/sqrt(r) where it is rank-stabilised (Kalajdzievski 2023). B starts as
// zero, so that training starts with the model as it is.
package lora

import (
	"errors"
	"fmt"
	"math"

	"espalier/trainer/grad"
	"espalier/trainer/nn"
	"espalier/trainer/op"
	"espalier/trainer/peft"
)

// Method is the settings. The zero value of a field means its default.
type Method struct {
	Maps       []string `yaml:"maps" json:"maps" doc:"patterns of the linear maps; by default **.q and **.v"`
	Rank       int      `yaml:"rank" json:"rank" doc:"by default 8"`
	Alpha      float64  `yaml:"alpha" json:"alpha" doc:"by default 2*rank"`
	Stabilised bool     `yaml:"stabilised" json:"stabilised" doc:"divide alpha by the root of the rank"`
	Drop       float64  `yaml:"drop" json:"drop" doc:"dropout of what the change reads; by default none"`
	Norms      bool     `yaml:"norms" json:"norms" doc:"train the gains of all norms besides"`
}

// Check fills in defaults and reports every fault at once.
func (m *Method) Check() error {
	if len(m.Maps) == 0 {
		m.Maps = []string{"**.q", "**.v"}
	}
	if m.Rank == 0 {
		m.Rank = 8
	}
	if m.Alpha == 0 {
		m.Alpha = 2 * float64(m.Rank)
	}
	var errs []error
	if m.Rank < 1 {
		errs = append(errs, fmt.Errorf("rank: %d, want at least 1", m.Rank))
	}
	if !(m.Drop >= 0 && m.Drop < 1) {
		errs = append(errs, fmt.Errorf("drop: %g, want 0 or more and less than 1", m.Drop))
	}
	return errors.Join(errs...)
}

// Edit adds path.lora_A.weight and path.lora_B.weight for each map.
func (m *Method) Edit(e *peft.Editor) error {
	if err := m.Check(); err != nil {
		return fmt.Errorf("lora: %w", err)
	}
	scale := m.Alpha / float64(m.Rank)
	if m.Stabilised {
		scale = m.Alpha / math.Sqrt(float64(m.Rank))
	}
	for _, l := range e.Maps(m.Maps...) {
		a := e.New(l.Path+".lora_A.weight", nn.FanIn(l.In), m.Rank, l.In)
		b := e.New(l.Path+".lora_B.weight", nn.Const(0), l.Out, m.Rank)
		site := e.Site()
		e.Output(l, func(p *peft.Pass, x, y grad.Var) grad.Var {
			t := p.Tape
			x = t.Dropout(x, t.Drop(float32(m.Drop), site))
			low := t.Scale(t.Linear(x, a.Var(t), 0, grad.Out{}), scale)
			return t.Linear(low, b.Var(t), 0, grad.Out{Act: op.None, Residual: y})
		})
	}
	if m.Norms {
		e.TrainNorms()
	}
	return nil
}
