// Package hyperformer is HyperFormer and HyperFormer++ (Karimi Mahabadi et al.
// 2021, sections 2.2 to 2.5): hypernetworks that the tasks share make the
// weights of sequential adapters, s + LN(A(s)), and of their LayerNorms, from an
// embedding of the task. In HyperFormer++ a stack has one hypernetwork, whose
// input is
//
//	e = LN(W_2 relu(W_1 [z; l; b] + c_1) + c_2)
//
// with embeddings of the task, the layer and the block (0 for feed-forwards, 1
// for self-attentions); HyperFormer has a hypernetwork for each adapter and no
// other input than the task. The gains of the model's norms are trained besides.
package hyperformer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"espalier/trainer/grad"
	"espalier/trainer/nn"
	"espalier/trainer/op"
	"espalier/trainer/peft"
	"espalier/trainer/peft/adapter"
)

// Method is the settings. The zero value of a field means its default.
type Method struct {
	Networks   string `yaml:"networks" json:"networks" doc:"a hypernetwork for each stack (HyperFormer++, the default), kind (self-attentions and feed-forwards of a stack) or site (HyperFormer)"`
	TaskWidth  int    `yaml:"task_width" json:"task_width" doc:"of the embeddings; by default 64"`
	Hidden     int    `yaml:"hidden" json:"hidden" doc:"hidden width of the projector; by default 128"`
	Width      int    `yaml:"width" json:"width" doc:"of what the projector gives; by default 64. Networks for each site have a projector only if it is not task_width"`
	Reduction  int    `yaml:"reduction" json:"reduction" doc:"width of the stream over that of an adapter; by default 32"`
	Bottleneck int    `yaml:"bottleneck" json:"bottleneck" doc:"width of an adapter, in place of reduction"`
	Act        string `yaml:"act" json:"act" doc:"gelu_new (tanh form, the default), gelu (exact), relu, silu or tanh"`
	Norms      *bool  `yaml:"norms" json:"norms" doc:"train the gains of the model's norms; by default true"`
}

// Check fills in defaults and reports every fault at once.
func (m *Method) Check() error {
	m.Networks, m.Act = cmp.Or(m.Networks, "stack"), cmp.Or(m.Act, "gelu_new")
	m.TaskWidth, m.Hidden, m.Width = cmp.Or(m.TaskWidth, 64), cmp.Or(m.Hidden, 128), cmp.Or(m.Width, 64)
	m.Reduction = cmp.Or(m.Reduction, 32)
	if m.Norms == nil {
		yes := true
		m.Norms = &yes
	}
	var errs []error
	if !slices.Contains([]string{"stack", "kind", "site"}, m.Networks) {
		errs = append(errs, fmt.Errorf("networks: %q, want stack, kind or site", m.Networks))
	}
	if min(m.TaskWidth, m.Hidden, m.Width, m.Reduction) < 1 || m.Bottleneck < 0 {
		errs = append(errs, fmt.Errorf("task_width: %d, hidden: %d, width: %d, reduction: %d, bottleneck: %d, want at least 1",
			m.TaskWidth, m.Hidden, m.Width, m.Reduction, m.Bottleneck))
	}
	_, err := adapter.Act(m.Act)
	return errors.Join(append(errs, err)...)
}

// A linear is a map with a bias.
type linear struct{ weight, bias *nn.Param }

func (l linear) apply(t *grad.Tape, x grad.Var, o grad.Out) grad.Var {
	return t.Linear(x, l.weight.Var(t), l.bias.Var(t), o)
}

// A group is sites whose weights one hypernetwork makes at once.
type group struct {
	subs          []*peft.Sub
	layer, block  []int32
	tasks         *nn.Param
	layers        *nn.Param // nil: no such input
	blocks        *nn.Param // likewise
	in, out       linear    // the projector; zero without
	gain, shift   *nn.Param // of its norm; nil without
	heads         [6]linear // down, its bias, up, its bias, gain and shift of the norm
	memo          peft.Memo
	width, narrow int
}

// A builder declares the parameters.
type builder struct {
	*Method
	e      *peft.Editor
	tasks  *nn.Param
	narrow int
}

// Edit adds the hypernetworks and an adapter behind each self-attention and
// feed-forward.
func (m *Method) Edit(e *peft.Editor) error {
	if err := m.Check(); err != nil {
		return fmt.Errorf("hyperformer: %w", err)
	}
	narrow, err := adapter.Bottleneck(m.Bottleneck, m.Reduction, e.Layout().Width)
	if err != nil {
		return fmt.Errorf("hyperformer: %w", err)
	}
	b := &builder{m, e, e.PerTask(e.New("hyperformer.tasks", nn.Normal(1), e.Tasks(), m.TaskWidth)), narrow}
	groups := b.sites()
	if m.Networks != "site" {
		groups = b.stacks()
	}
	act, err := adapter.Act(m.Act)
	if err != nil {
		return fmt.Errorf("hyperformer: %w", err)
	}
	var place adapter.Place
	if err := place.Check(); err != nil {
		return err
	}
	for _, g := range groups {
		for i, sub := range g.subs {
			place.Attach(e, sub, act, func(p *peft.Pass) adapter.Weights { return g.weights(p, i) })
		}
	}
	if *m.Norms {
		e.TrainNorms()
	}
	return nil
}

func (b *builder) linear(path string, in, out int) linear {
	return linear{b.e.New(path+".weight", nn.Normal(0.01), out, in), b.e.New(path+".bias", nn.Const(0), out)}
}

// heads declares what makes an adapter of a vector.
func (b *builder) heads(path string) [6]linear {
	d, r := b.e.Layout().Width, b.narrow
	var out [6]linear
	for i, h := range []struct {
		name string
		n    int
	}{{"down", r * d}, {"down_bias", r}, {"up", d * r}, {"up_bias", d}, {"norm_gain", d}, {"norm_shift", d}} {
		out[i] = b.linear(path+"."+h.name, b.Width, h.n)
	}
	return out
}

// subs returns the sub-layers of a stack that have an adapter.
func (b *builder) subs(s peft.Stack) []*peft.Sub {
	return slices.DeleteFunc(slices.Clone(b.e.Layout().Subs), func(sub *peft.Sub) bool {
		return sub.Stack != s || sub.Kind == peft.CrossAttention
	})
}

// stacks declares networks for each stack, or for each kind of its sub-layers.
func (b *builder) stacks() []*group {
	var out []*group
	for _, s := range []peft.Stack{peft.Encoder, peft.Decoder} {
		subs, n := b.subs(s), b.e.Layout().Layers[s]
		if len(subs) == 0 {
			continue
		}
		path := "hyperformer." + s.String()
		d, inputs := b.TaskWidth, 2
		g := group{tasks: b.tasks, layers: b.e.New(path+".layers", nn.Normal(1), n, d)}
		if b.Networks == "stack" {
			g.blocks, inputs = b.e.New(path+".blocks", nn.Normal(1), 2, d), 3
		}
		g.in, g.out = b.linear(path+".projector.in", inputs*d, b.Hidden), b.linear(path+".projector.out", b.Hidden, b.Width)
		g.gain, g.shift = b.e.New(path+".norm.weight", nn.Const(1), b.Width), b.e.New(path+".norm.bias", nn.Const(0), b.Width)
		if b.Networks == "stack" {
			out = append(out, b.finish(g, path, subs...))
			continue
		}
		for _, k := range []peft.Kind{peft.FeedForward, peft.SelfAttention} {
			own := slices.DeleteFunc(slices.Clone(subs), func(sub *peft.Sub) bool { return sub.Kind != k })
			out = append(out, b.finish(g, path+"."+k.String(), own...))
		}
	}
	return out
}

// sites declares a network for each site.
func (b *builder) sites() []*group {
	if b.Networks != "site" {
		return nil
	}
	g := group{tasks: b.tasks}
	if b.TaskWidth != b.Width {
		g.in, g.out = b.linear("hyperformer.projector.in", b.TaskWidth, b.Hidden), b.linear("hyperformer.projector.out", b.Hidden, b.Width)
	}
	var out []*group
	for _, s := range []peft.Stack{peft.Encoder, peft.Decoder} {
		for _, sub := range b.subs(s) {
			out = append(out, b.finish(g, "hyperformer."+sub.Path, sub))
		}
	}
	return out
}

// finish makes a group of sites with heads of its own.
func (b *builder) finish(g group, path string, subs ...*peft.Sub) *group {
	g.subs, g.heads, g.memo = subs, b.heads(path), b.e.Memo()
	g.width, g.narrow = b.e.Layout().Width, b.narrow
	for _, sub := range subs {
		g.layer = append(g.layer, int32(sub.Layer))
		g.block = append(g.block, map[peft.Kind]int32{peft.FeedForward: 0, peft.SelfAttention: 1}[sub.Kind])
	}
	return &g
}

// embed returns the input of the heads for each site, [sites, width].
func (g *group) embed(p *peft.Pass) grad.Var {
	t, n := p.Tape, len(g.subs)
	x := t.Repeat(p.Row(g.tasks.Var(t), p.Task), n)
	if g.layers != nil {
		parts := []grad.Var{x, t.Gather(g.layers.Var(t), t.Ints(g.layer, n), 1)}
		if g.blocks != nil {
			parts = append(parts, t.Gather(g.blocks.Var(t), t.Ints(g.block, n), 1))
		}
		x = t.Join(1, parts...)
	}
	if g.in.weight != nil {
		x = g.out.apply(t, g.in.apply(t, x, grad.Out{Act: op.ReLU}), grad.Out{})
	}
	if g.gain != nil {
		x = t.Norm(x, g.gain.Var(t), g.shift.Var(t), op.Norm{Kind: op.LayerNorm, Eps: 1e-6})
	}
	return x
}

// weights returns the weights of adapter i, made once a pass.
func (g *group) weights(p *peft.Pass, i int) adapter.Weights {
	made := p.Once(g.memo, func() []grad.Var {
		t, d, r := p.Tape, g.width, g.narrow
		x := g.embed(p)
		var all [6]grad.Var
		for k, h := range g.heads {
			all[k] = h.apply(t, x, grad.Out{})
		}
		var out []grad.Var
		for i := range g.subs {
			for k, shape := range [6][]int{{r, d}, {r}, {d, r}, {d}, {d}, {d}} {
				out = append(out, t.View(p.Row(all[k], i), shape...))
			}
		}
		return out
	})[6*i:]
	return adapter.Weights{Down: made[0], DownBias: made[1], Up: made[2], UpBias: made[3], Gain: made[4], Shift: made[5]}
}
