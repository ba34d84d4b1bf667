// Package hyper generates prefixes and parallel adapters from hyper-embeddings
// (Zhang et al. 2022, HyperPELT, sections 3.2 to 3.4): it is what the methods
// of that paper share.
//
// A site is an attention or a feed-forward of the model. Its input is the rows
// of three embeddings side by side, [z; l; b], N rows of width 3d: what the
// branch is about (a task, or the cells of an image), the layer, and the type
// of block. A projector of two maps makes a hyper-embedding I of N rows of it.
// Heads, shared by all sites, make of I
//
//	K = I W_K' + c_K, V = I W_V' + c_V       keys and values of N places,
//	vec(W_down) = H_d mean(I) + c_d, ...     weights of a parallel adapter,
//
// and a site computes y = h + drop(FFN(x)) + lambda A(x), x = norm(h).
//
// The projector's first map is applied to each table by itself, since its
// products add up; see spec 3.2. All sites are computed at once, once a pass.
//
// A [Builder] declares the tables; [Builder.Branch] adds a branch. A branch
// whose rows differ by example, as those of images, has weights that do too.
package hyper

import (
	"fmt"

	"espalier/trainer/grad"
	"espalier/trainer/nn"
	"espalier/trainer/peft"
	"espalier/trainer/peft/adapter"
)

// Rows returns what a branch is about: [Rows, width], or [Pass.Inputs, Rows,
// width] if it differs by example.
type Rows func(p *peft.Pass) grad.Var

// A Builder adds branches to a model.
type Builder struct {
	s          *Settings
	e          *peft.Editor
	width      int // of the stream
	bottleneck int
	prefixes   bool
	adapters   bool
	tables     [2]tables // of each stack; the same one twice if they share it
	tasks      [2]*nn.Param
	branches   []*branch
	params     []*nn.Param // all but the tasks' embeddings
}

// tables are the embeddings that the branches share.
type tables struct{ layer, block *nn.Param }

// blocks is the number of types of blocks: self-attention and feed-forward of
// the encoder, then self-attention, cross-attention and feed-forward of the
// decoder.
const blocks = 5

// Parts says what is generated.
type Parts uint8

// Prefixes, adapters, or both.
const (
	PrefixesAlone Parts = iota
	WithAdapters
	AdaptersAlone // for tests of what each part does
)

// New checks settings and declares the tables.
func New(e *peft.Editor, s *Settings, parts Parts) (*Builder, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	b := &Builder{s: s, e: e, width: e.Layout().Width, prefixes: parts != AdaptersAlone, adapters: parts != PrefixesAlone}
	if b.adapters {
		var err error
		if b.bottleneck, err = adapter.Bottleneck(s.Bottleneck, s.Reduction, b.width); err != nil {
			return nil, err
		}
		if s.Pool == "rows" && b.bottleneck > s.Rows {
			return nil, fmt.Errorf("pool: %d rows cannot become the %d of an adapter", s.Rows, b.bottleneck)
		}
	}
	b.tables = b.declare("hyper")
	if s.Norms == "trained" {
		e.TrainNorms()
	}
	return b, nil
}

// declare declares layer and block embeddings under a path.
func (b *Builder) declare(path string) [2]tables {
	one := func(path string) tables {
		return tables{b.table(path+".layers", b.layers()), b.table(path+".blocks", blocks)}
	}
	if b.s.Tables == "one" {
		t := one(path)
		return [2]tables{t, t}
	}
	return [2]tables{one(path + ".encoder"), one(path + ".decoder")}
}

func (b *Builder) table(path string, n int) *nn.Param {
	return b.new(path, nn.Normal(1), n, b.s.Rows, b.width)
}

func (b *Builder) perTask(path string, n int) *nn.Param {
	return b.e.PerTask(b.e.New(path, nn.Normal(1), n, b.s.Rows, b.width))
}

// new declares a parameter.
func (b *Builder) new(path string, init nn.Init, shape ...int) *nn.Param {
	p := b.e.New(path, init, shape...)
	b.params = append(b.params, p)
	return p
}

// FixAll freezes all that is declared but the embeddings of the tasks: a
// checkpoint gives the values. It comes behind the branches.
func (b *Builder) FixAll() { b.e.Fix(b.params...) }

// layers returns the rows of a layer table.
func (b *Builder) layers() int {
	n := b.e.Layout().Layers
	if b.s.LayerTable == "each" {
		return n[0] + n[1]
	}
	return max(n[0], n[1])
}

// Task declares the embeddings of the tasks and adds their branch.
func (b *Builder) Task() {
	n := b.e.Tasks()
	if b.s.Tables == "all" {
		b.tasks = [2]*nn.Param{b.perTask("hyper.encoder.tasks", n), b.perTask("hyper.decoder.tasks", n)}
	} else {
		t := b.perTask("hyper.tasks", n)
		b.tasks = [2]*nn.Param{t, t}
	}
	row := func(z *nn.Param) Rows {
		return func(p *peft.Pass) grad.Var { return p.Row(z.Var(p.Tape), p.Task) }
	}
	b.branch("hyper.task", b.tables, [2]Rows{row(b.tasks[0]), row(b.tasks[1])}, b.s.Norms == "generated")
}

// Tables says which layer and block embeddings a branch reads.
type Tables bool

// A branch shares the first one's tables or has its own.
const (
	Shared   Tables = false
	Separate Tables = true
)

// Branch adds a branch with networks of its own, called name.
func (b *Builder) Branch(name string, t Tables, rows Rows) {
	path, own := "hyper."+name, b.tables
	if t == Separate {
		own = b.declare(path)
	}
	b.branch(path, own, [2]Rows{rows, rows}, false)
}
