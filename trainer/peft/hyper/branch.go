package hyper

import (
	"slices"

	"espalier/trainer/grad"
	"espalier/trainer/nn"
	"espalier/trainer/peft"
	"espalier/trainer/peft/adapter"
)

// A linear is a map with a bias.
type linear struct{ weight, bias *nn.Param }

func (l linear) apply(t *grad.Tape, x grad.Var) grad.Var {
	return t.Linear(x, l.weight.Var(t), l.bias.Var(t), grad.Out{})
}

// networks are a projector and its heads.
type networks struct {
	in, out                    linear
	key, value                 linear // equal if one head makes both
	down, downBias, up, upBias linear
	gain, shift                linear // of the LayerNorm on an adapter's result
	norm                       linear // changes of the model's gains
}

// A branch is one source of weights.
type branch struct {
	b      *Builder
	path   string
	groups []*group
	lambda *nn.Param // nil if it is fixed
}

// A group is sites that are computed at once: all, or those of one stack.
type group struct {
	*branch
	subs         []*peft.Sub // attentions first
	attentions   int
	layer, block []int32 // rows of the tables
	tables       tables
	rows         Rows
	net          *networks
	memo         peft.Memo
	gains        []*nn.Param // of trained LayerNorms, gain and shift for each adapter
	norms        bool        // generate the model's gains
}

// branch adds a branch; norms says that it generates gains of the model.
func (b *Builder) branch(path string, t [2]tables, rows [2]Rows, norms bool) {
	br := &branch{b: b, path: path}
	b.branches = append(b.branches, br)
	var nets [2]*networks
	if b.s.Networks == "stack" {
		nets = [2]*networks{b.networks(path+".encoder", norms), b.networks(path+".decoder", norms)}
	} else {
		n := b.networks(path, norms)
		nets = [2]*networks{n, n}
	}
	if nets[0] == nets[1] && b.s.Tables == "one" {
		br.add(t[0], rows[0], nets[0], peft.Encoder, peft.Decoder)
	} else {
		for _, s := range []peft.Stack{peft.Encoder, peft.Decoder} {
			br.add(t[s], rows[s], nets[s], s)
		}
	}
	br.declareLambda()
	for _, g := range br.groups {
		g.attach()
	}
	if norms {
		br.generateNorms()
	}
}

// networks declares a projector and the heads that are wanted.
func (b *Builder) networks(path string, norms bool) *networks {
	s, d, r := b.s, b.width, b.bottleneck
	declare := func(name string, in, out int, init, bias nn.Init) linear {
		return linear{b.new(path+"."+name+".weight", init, out, in), b.new(path+"."+name+".bias", bias, out)}
	}
	head := func(name string, out int) linear {
		return declare(name, s.Width, out, nn.Normal(s.HeadStd), nn.Const(0))
	}
	n := &networks{
		in:  declare("projector.in", 3*d, s.Hidden, nn.FanIn(3*d), nn.FanIn(3*d)),
		out: declare("projector.out", s.Hidden, s.Width, nn.FanIn(s.Hidden), nn.FanIn(s.Hidden)),
	}
	if b.prefixes {
		inner := d
		for _, sub := range b.e.Layout().Subs {
			if sub.Kind != peft.FeedForward {
				inner = sub.Inner
			}
		}
		if s.PrefixHeads == "one" {
			n.key = head("prefix", inner)
			n.value = n.key
		} else {
			n.key, n.value = head("prefix.key", inner), head("prefix.value", inner)
		}
	}
	if b.adapters {
		if s.Pool == "rows" {
			n.down, n.up = head("adapter.down", d), head("adapter.up", d)
		} else {
			n.down, n.up = head("adapter.down", r*d), head("adapter.up", d*r)
		}
		if *s.AdapterBias {
			n.downBias, n.upBias = head("adapter.down_bias", r), head("adapter.up_bias", d)
		}
		if s.AdapterNorm == "generated" {
			n.gain, n.shift = head("adapter.gain", d), head("adapter.shift", d)
		}
	}
	if norms {
		n.norm = head("norm", d)
	}
	return n
}

// add appends the sites of stacks as one group.
func (br *branch) add(t tables, rows Rows, n *networks, stacks ...peft.Stack) {
	g := &group{branch: br, tables: t, rows: rows, net: n, memo: br.b.e.Memo()}
	for _, ffn := range []bool{false, true} {
		for _, sub := range br.b.e.Layout().Subs {
			if slices.Contains(stacks, sub.Stack) && ffn == (sub.Kind == peft.FeedForward) {
				g.site(sub)
			}
		}
		if !ffn {
			g.attentions = len(g.subs)
		}
	}
	if len(g.subs) > 0 {
		br.groups = append(br.groups, g)
	}
}

func (g *group) site(sub *peft.Sub) {
	layer := sub.Layer
	if g.b.s.LayerTable == "each" && sub.Stack == peft.Decoder {
		layer += g.b.e.Layout().Layers[peft.Encoder]
	}
	block := map[peft.Kind]int{peft.SelfAttention: 0, peft.FeedForward: 1}[sub.Kind]
	if sub.Stack == peft.Decoder {
		block = map[peft.Kind]int{peft.SelfAttention: 2, peft.CrossAttention: 3, peft.FeedForward: 4}[sub.Kind]
	}
	g.subs = append(g.subs, sub)
	g.layer, g.block = append(g.layer, int32(layer)), append(g.block, int32(block))
}

func (br *branch) declareLambda() {
	s := br.b.s
	if !br.b.adapters || s.Lambda == "fixed" {
		return
	}
	n := 1
	switch s.Lambda {
	case "site":
		n = br.b.e.Layout().Layers[0] + br.b.e.Layout().Layers[1]
	case "stack":
		n = 2
	}
	br.lambda = br.b.new(br.path+".lambda", nn.Const(*s.LambdaInit), n)
}

// attach adds the group's hooks.
func (g *group) attach() {
	b := g.b
	for i, sub := range g.subs[:g.attentions] {
		if b.prefixes {
			b.e.Prefix(sub, peft.Prefix{Len: b.s.Rows, Place: b.s.place(), Make: func(p *peft.Pass) (k, v grad.Var) {
				made := g.made(p)
				return made[2*i], made[2*i+1]
			}})
		}
	}
	if !b.adapters {
		return
	}
	act := b.s.act()
	for i, sub := range g.subs[g.attentions:] {
		if b.s.AdapterNorm == "trained" {
			path := g.path + "." + sub.Path + ".adapter_norm"
			g.gains = append(g.gains, b.new(path+".weight", nn.Const(1), b.width), b.new(path+".bias", nn.Const(0), b.width))
		}
		b.e.Outer(sub, func(p *peft.Pass, h, x, y grad.Var) grad.Var {
			if b.s.AdapterInput == "stream" {
				x = h
			}
			w := g.adapter(g.made(p), i)
			return w.Apply(p, x, act, y)
		})
	}
}

// weights is the number of Vars of an adapter.
func (g *group) weights() int {
	n := 2
	if *g.b.s.AdapterBias {
		n += 2
	}
	if g.b.s.AdapterNorm != "none" {
		n += 2
	}
	return n
}

// adapter picks the weights of adapter i.
func (g *group) adapter(made []grad.Var, i int) adapter.Weights {
	at := g.prefixVars() + i*g.weights()
	w := adapter.Weights{Down: made[at], Up: made[at+1]}
	at += 2
	if *g.b.s.AdapterBias {
		w.DownBias, w.UpBias = made[at], made[at+1]
		at += 2
	}
	if g.b.s.AdapterNorm != "none" {
		w.Gain, w.Shift = made[at], made[at+1]
	}
	return w
}

func (g *group) prefixVars() int {
	if !g.b.prefixes {
		return 0
	}
	return 2 * g.attentions
}

// generateNorms replaces the gains of sub-layers' norms by their own value plus
// what a head makes of the site's hyper-embedding. The last norm of a stack
// belongs to no site and is trained.
func (br *branch) generateNorms() {
	e := br.b.e
	for _, g := range br.groups {
		g.norms = true
		for i, sub := range g.subs {
			for _, n := range e.Layout().Norms {
				if n.Sub != sub {
					continue
				}
				base := e.Param(n.Path + ".weight")
				e.Gain(n, func(p *peft.Pass) grad.Var {
					made := g.made(p)
					return p.Tape.Add(base.Var(p.Tape), made[len(made)-len(g.subs)+i])
				})
			}
		}
	}
	for _, n := range e.Layout().Norms {
		if n.Sub == nil {
			e.Train(n.Path + ".weight")
		}
	}
}
