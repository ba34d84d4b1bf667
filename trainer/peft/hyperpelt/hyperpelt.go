// Package hyperpelt is HyperPELT and HyperPrefix for text (Zhang et al. 2022,
// sections 3.2 and 3.3): one hypernetwork for all layers of a frozen model
// makes prefixes of its attentions, and parallel adapters of its feed-forwards,
// from embeddings of the task, the layer and the type of block. See package
// hyper for the equations. The gains of the model's norms are trained besides.
// TaskEmbed is what the paper does with few examples (section 4.3).
package hyperpelt

import (
	"errors"
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
	_, err := edit(e, &m.Settings, hyper.WithAdapters, "hyperpelt")
	return err
}

// Prefix is HyperPrefix: prefixes alone.
type Prefix struct {
	hyper.Settings `yaml:",inline"`
}

// Edit adds the task's branch.
func (m *Prefix) Edit(e *peft.Editor) error {
	_, err := edit(e, &m.Settings, hyper.PrefixesAlone, "hyperprefix")
	return err
}

// TaskEmbed trains the embedding of a task alone: everything else comes from a
// checkpoint of HyperPELT with the same settings, and the embedding starts as
// that of another task.
type TaskEmbed struct {
	hyper.Settings `yaml:",inline"`
}

// Check fills in defaults and reports every fault at once.
func (m *TaskEmbed) Check() error {
	if m.Norms == "" {
		m.Norms = "frozen"
	}
	err := m.Settings.Check()
	if m.Norms != "frozen" {
		err = errors.Join(err, fmt.Errorf("norms: %q, only the task's embedding is trained", m.Norms))
	}
	return err
}

// Edit adds the task's branch.
func (m *TaskEmbed) Edit(e *peft.Editor) error {
	if err := m.Check(); err != nil {
		return fmt.Errorf("task-embed: %w", err)
	}
	b, err := edit(e, &m.Settings, hyper.WithAdapters, "task-embed")
	if err != nil {
		return err
	}
	b.FixAll()
	return nil
}

func edit(e *peft.Editor, s *hyper.Settings, parts hyper.Parts, name string) (*hyper.Builder, error) {
	b, err := hyper.New(e, s, parts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	b.Task()
	return b, nil
}
