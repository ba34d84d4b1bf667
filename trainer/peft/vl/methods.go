package vl

import (
	"cmp"
	"errors"
	"fmt"

	"espalier/trainer/grad"
	"espalier/trainer/nn"
	"espalier/trainer/peft"
	"espalier/trainer/peft/adapter"
	"espalier/trainer/peft/full"
	"espalier/trainer/peft/hyper"
)

// Tokens is the model with image tokens, of which all parameters are trained, or
// those of some paths.
type Tokens struct {
	Embedding `yaml:",inline"`
	Train     []string `yaml:"train" json:"train" doc:"patterns of the model's parameters that are trained; by default all"`
}

// Check fills in defaults and reports every fault at once.
func (m *Tokens) Check() error { return m.Embedding.check() }

// Edit adds visual.features, visual.boxes and visual.image_order.
func (m *Tokens) Edit(e *peft.Editor) error {
	if err := m.Check(); err != nil {
		return fmt.Errorf("visual tokens: %w", err)
	}
	if err := m.Embedding.edit(e); err != nil {
		return fmt.Errorf("visual tokens: %w", err)
	}
	return (&full.Method{Train: m.Train}).Edit(e)
}

// Adapter is the frozen model with image tokens and adapters. By default these
// are those of VL-Adapter's own code: one for all tasks behind self-attentions,
// cross-attentions and feed-forwards, width 1/8, no LayerNorm.
type Adapter struct {
	Embed   Embedding      `yaml:"embed" json:"embed" doc:"the image tokens"`
	Adapter adapter.Method `yaml:"adapter" json:"adapter" doc:"adapters; by default sites [self, cross, feed_forward], reduction 8, no post_norm"`
}

// Check fills in defaults and reports every fault at once.
func (m *Adapter) Check() error {
	a := &m.Adapter
	if len(a.Sites.Sites) == 0 {
		a.Sites.Sites = []string{"self", "cross", "feed_forward"}
	}
	a.Reduction = cmp.Or(a.Reduction, 8)
	if a.PostNorm == nil {
		a.PostNorm = new(bool)
	}
	return errors.Join(m.Embed.check(), a.Check())
}

// Edit adds visual.* and the adapters.
func (m *Adapter) Edit(e *peft.Editor) error {
	if err := m.Check(); err != nil {
		return fmt.Errorf("vl-adapter: %w", err)
	}
	if err := m.Embed.edit(e); err != nil {
		return fmt.Errorf("vl-adapter: %w", err)
	}
	return m.Adapter.Edit(e)
}

// HyperPELT is package hyperpelt's method with a second branch, whose rows are
// the cells of an image behind a linear map: an image brings prefixes and
// adapters, and no tokens. Its networks and factors are its own; the task's
// prefix comes first.
type HyperPELT struct {
	hyper.Settings `yaml:",inline"`
	VisualTables   string `yaml:"visual_tables" json:"visual_tables" doc:"layer and block embeddings of the visual branch: shared with the task's (the default) or own"`
}

// Check fills in defaults and reports every fault at once.
func (m *HyperPELT) Check() error {
	m.Reduction = cmp.Or(m.Reduction, 16)
	m.VisualTables = cmp.Or(m.VisualTables, "shared")
	err := m.Settings.Check()
	if m.VisualTables != "shared" && m.VisualTables != "own" {
		err = errors.Join(err, fmt.Errorf("visual_tables: %q, want shared or own", m.VisualTables))
	}
	return err
}

// Edit adds both branches and visual.projection.
func (m *HyperPELT) Edit(e *peft.Editor) error {
	if err := m.Check(); err != nil {
		return fmt.Errorf("vl-hyperpelt: %w", err)
	}
	g := e.Given()
	if g.Visual == 0 {
		return fmt.Errorf("vl-hyperpelt: %w", errNoImages)
	}
	if g.Cells != m.Rows {
		return fmt.Errorf("vl-hyperpelt: rows: %d, an image has %d cells; they must be as many", m.Rows, g.Cells)
	}
	b, err := hyper.New(e, &m.Settings, hyper.WithAdapters)
	if err != nil {
		return fmt.Errorf("vl-hyperpelt: %w", err)
	}
	b.Task()
	w := e.New("visual.projection.weight", nn.FanIn(g.Visual), e.Layout().Width, g.Visual)
	c := e.New("visual.projection.bias", nn.Const(0), e.Layout().Width)
	tables := hyper.Shared
	if m.VisualTables == "own" {
		tables = hyper.Separate
	}
	b.Branch("visual", tables, func(p *peft.Pass) grad.Var {
		return p.Tape.Linear(p.Visual, w.Var(p.Tape), c.Var(p.Tape), grad.Out{})
	})
	return nil
}
