package peft

import (
	"errors"
	"fmt"
	"slices"

	"espalier/trainer/grad"
	"espalier/trainer/nn"
)

// An Editor is what a method edits a model with.
type Editor struct {
	layout *Layout
	params *nn.Params
	given  Given
	own    int // parameters that the model declared itself
	train  []string
	fixed  []string
	sites  int
	edits  *Edits
	loaded []func() error
	errs   []error
}

// Given is what the edited model will be run on.
type Given struct {
	Tasks  []string // names, in the order of Pass.Task
	Visual int      // length of a visual feature; 0 without images
	Cells  int      // vectors of an image: 49 of a grid of 7x7
}

// NewEditor returns an editor of a model whose parameters are declared in ps
// and not yet allocated.
func NewEditor(l *Layout, ps *nn.Params, g Given) *Editor {
	return &Editor{layout: l, params: ps, given: g, own: len(ps.All()), edits: &Edits{
		prefix: make([][]Prefix, len(l.Subs)), heads: make([][]HeadsHook, len(l.Subs)),
		inner: make([][]SubHook, len(l.Subs)), outer: make([][]SubHook, len(l.Subs)),
		input: make([][]InputHook, len(l.Maps)), output: make([][]OutputHook, len(l.Maps)),
		gain: make([]GainHook, len(l.Norms)),
	}}
}

// Layout returns the model's description.
func (e *Editor) Layout() *Layout { return e.layout }

// Given returns what the model will be run on.
func (e *Editor) Given() Given { return e.given }

// Tasks returns the number of tasks, at least 1.
func (e *Editor) Tasks() int { return max(1, len(e.given.Tasks)) }

// New declares a trained parameter of the method. Paths of several methods
// must not meet, so they start with a name of the method or of what is edited.
func (e *Editor) New(path string, init nn.Init, shape ...int) *nn.Param {
	return e.params.New(path, init, shape...)
}

// PerTask says that the rows of a parameter, its first axis, are the tasks, in
// the order of Given.Tasks: when training goes on with other tasks, rows are
// taken by name.
func (e *Editor) PerTask(p *nn.Param) *nn.Param {
	if p.Shape[0] != e.Tasks() {
		panic("peft: a parameter per task needs a row for each")
	}
	e.edits.perTask = append(e.edits.perTask, p.Path)
	return p
}

// Param returns a parameter of the model, or nil. Its Value exists from Loaded
// on.
func (e *Editor) Param(path string) *nn.Param { return e.params.Get(path) }

// Fix freezes parameters of the method: their values come from a checkpoint, and
// only others are trained further.
func (e *Editor) Fix(ps ...*nn.Param) {
	for _, p := range ps {
		e.fixed = append(e.fixed, p.Path)
		e.edits.fixed = append(e.edits.fixed, p.Path)
	}
}

// Train trains the model's parameters whose paths have one of the patterns. What
// no method trains is frozen.
func (e *Editor) Train(patterns ...string) {
	e.fail(missing("parameter", patterns, func(yield func(string) bool) {
		for _, p := range e.params.All()[:e.own] {
			if !yield(p.Path) {
				return
			}
		}
	}))
	e.train = append(e.train, patterns...)
}

// TrainNorms trains the gains of all norms.
func (e *Editor) TrainNorms() {
	for _, n := range e.layout.Norms {
		e.Train(n.Path + ".weight")
	}
}

// Subs returns the sub-layers of a kind in a stack.
func (e *Editor) Subs(stack Stack, kind Kind) []*Sub {
	var out []*Sub
	for _, s := range e.layout.Subs {
		if s.Stack == stack && s.Kind == kind {
			out = append(out, s)
		}
	}
	return out
}

// Maps returns the linear maps whose paths have one of the patterns, each of
// which must fit one.
func (e *Editor) Maps(patterns ...string) []*Map {
	e.fail(missing("linear map", patterns, func(yield func(string) bool) {
		for _, m := range e.layout.Maps {
			if !yield(m.Path) {
				return
			}
		}
	}))
	var out []*Map
	for _, m := range e.layout.Maps {
		if matchAny(patterns, m.Path) {
			out = append(out, m)
		}
	}
	return out
}

// Prefix attaches keys and values to an attention.
func (e *Editor) Prefix(s *Sub, p Prefix) {
	if s.Kind == FeedForward {
		panic("peft: a feed-forward has no keys")
	}
	e.edits.prefix[s.index] = append(e.edits.prefix[s.index], p)
}

// Heads attaches a hook to an attention.
func (e *Editor) Heads(s *Sub, f HeadsHook) {
	e.edits.heads[s.index] = append(e.edits.heads[s.index], f)
}

// Inner attaches a hook to what a sub-layer gives, before dropout and the
// residual.
func (e *Editor) Inner(s *Sub, f SubHook) {
	e.edits.inner[s.index] = append(e.edits.inner[s.index], f)
}

// Outer attaches a hook to the residual stream behind a sub-layer.
func (e *Editor) Outer(s *Sub, f SubHook) {
	e.edits.outer[s.index] = append(e.edits.outer[s.index], f)
}

// Input attaches a hook to what a linear map reads.
func (e *Editor) Input(m *Map, f InputHook) {
	e.edits.input[m.index] = append(e.edits.input[m.index], f)
}

// Output attaches a hook to what a linear map gives.
func (e *Editor) Output(m *Map, f OutputHook) {
	e.edits.output[m.index] = append(e.edits.output[m.index], f)
}

// Gain attaches what takes the place of a norm's gain.
func (e *Editor) Gain(n *Norm, f GainHook) { e.edits.gain[n.index] = f }

// Tokens attaches vectors to a stack's embedded tokens.
func (e *Editor) Tokens(s Stack, t Tokens) { e.edits.tokens[s] = append(e.edits.tokens[s], t) }

// Begin attaches what runs at the start of each pass.
func (e *Editor) Begin(f func(p *Pass)) { e.edits.begin = append(e.edits.begin, f) }

// A Memo names what is computed once; see Pass.Once.
type Memo int

// Memo returns a new one.
func (e *Editor) Memo() Memo {
	e.edits.memos++
	return Memo(e.edits.memos - 1)
}

// Site returns a place of dropout that differs from all others, those of the
// model included.
func (e *Editor) Site() grad.Site {
	e.sites++
	return grad.Site(1<<63 | uint64(e.sites))
}

// Loaded calls f once the parameters of the model and the method have their
// initial values, which f may change: a prompt starts as rows of the token
// table.
func (e *Editor) Loaded(f func() error) { e.loaded = append(e.loaded, f) }

// Set gives a parameter of the method values, within a function of Loaded.
func (e *Editor) Set(p *nn.Param, x []float32) error { return e.params.Set(p.Path, x) }

// Read copies a parameter's values out, within a function of Loaded.
func (e *Editor) Read(p *nn.Param) []float32 {
	x := make([]float32, p.Len())
	e.params.Device().Read(x, p.Value)
	return x
}

func (e *Editor) fail(err error) {
	if err != nil {
		e.errs = append(e.errs, err)
	}
}

// Apply lets methods edit the model one after the other.
func (e *Editor) Apply(methods ...Method) error {
	for _, m := range methods {
		if err := m.Edit(e); err != nil {
			return fmt.Errorf("peft: %w", err)
		}
	}
	return errors.Join(e.errs...)
}

// Finish marks the parameters that are frozen and returns the edits. Whoever
// made the editor calls it before the parameters are allocated.
func (e *Editor) Finish() *Edits {
	own := map[string]bool{}
	for _, p := range e.params.All()[:e.own] {
		own[p.Path] = true
	}
	e.params.Freeze(func(path string) bool {
		return own[path] && !matchAny(e.train, path) || slices.Contains(e.fixed, path)
	})
	return e.edits
}

// RunLoaded calls what Loaded was given.
func (e *Editor) RunLoaded() error {
	for _, f := range e.loaded {
		if err := f(); err != nil {
			return fmt.Errorf("peft: %w", err)
		}
	}
	return nil
}
