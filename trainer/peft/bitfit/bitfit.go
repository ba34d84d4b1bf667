// Package bitfit trains the biases of a frozen model alone (Ben Zaken et al.
// 2022, section 3). A model whose linear maps have none, as T5, is given them,
// y = W x + b with b zero at first, so that all maps of attentions and
// feed-forwards have one.
package bitfit

import (
	"fmt"

	"espalier/trainer/grad"
	"espalier/trainer/nn"
	"espalier/trainer/peft"
)

// Method is the settings. The zero value of a field means its default.
type Method struct {
	Maps  []string `yaml:"maps" json:"maps" doc:"patterns of the linear maps; by default all of attentions and feed-forwards"`
	Norms bool     `yaml:"norms" json:"norms" doc:"train the gains of all norms besides"`
}

// Edit trains path.bias of each map, and adds it where the model has none.
func (m *Method) Edit(e *peft.Editor) error {
	patterns := m.Maps
	if len(patterns) == 0 {
		patterns = []string{"**"}
	}
	n := 0
	for _, l := range e.Maps(patterns...) {
		if l.Sub == nil && len(m.Maps) == 0 {
			continue // an output head
		}
		n++
		path := l.Path + ".bias"
		if e.Param(path) != nil {
			e.Train(path)
			continue
		}
		b := e.New(path, nn.Const(0), l.Out)
		e.Output(l, func(p *peft.Pass, _, y grad.Var) grad.Var { return p.Tape.Add(y, b.Var(p.Tape)) })
	}
	if n == 0 {
		return fmt.Errorf("bitfit: no linear map of the model fits %q", patterns)
	}
	if m.Norms {
		e.TrainNorms()
	}
	return nil
}
