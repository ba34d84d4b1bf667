// Package hyperpelt is HyperPELT and HyperPrefix for text (Zhang et al. 2022,
// sections 3.2 and 3.3): one hypernetwork for all layers of a frozen model
// makes prefixes of its attentions, and parallel adapters of its feed-forwards,
// from embeddings of the task, the layer and the type of block. See package
// hyper for the equations. The gains of the model's norms are trained besides.
package hyperpelt

import (
	"fmt"

	"espalier/trainer/peft"
	"espalier/trainer/peft/hyper"
)

// Method is HyperPELT: prefixes and adapters.
type Method struct {
	hyper.Settings `yaml:",inline"`
}

// Edit adds the task's branch.
func (m *Method) Edit(e *peft.Editor) error {
	m.Prefixes, m.Adapters = true, true
	return edit(e, &m.Settings, "hyperpelt")
}

// Prefix is HyperPrefix: prefixes alone.
type Prefix struct {
	hyper.Settings `yaml:",inline"`
}

// Edit adds the task's branch.
func (m *Prefix) Edit(e *peft.Editor) error {
	m.Prefixes, m.Adapters = true, false
	return edit(e, &m.Settings, "hyperprefix")
}

func edit(e *peft.Editor, s *hyper.Settings, name string) error {
	b, err := hyper.New(e, s)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	b.Task()
	return nil
}
