package hyper

import (
	"espalier/trainer/grad"
	"espalier/trainer/op"
	"espalier/trainer/peft"
)

// made returns the group's weights of a pass: keys and values of each
// attention, the weights of each adapter, the changes of each norm.
func (g *group) made(p *peft.Pass) []grad.Var {
	return p.Once(g.memo, func() []grad.Var { return g.generate(p) })
}

// An embedding is hyper-embeddings of sites: [sites, n, Rows, Width].
type embedding struct {
	value grad.Var
	n     int  // examples; 1 if all share it
	each  bool // it differs by example
}

// embed computes the hyper-embeddings of all sites.
func (g *group) embed(p *peft.Pass) embedding {
	t, s, d := p.Tape, g.b.s, g.b.width
	z := g.rows(p)
	e := embedding{n: 1}
	shape := []int{len(g.subs), s.Rows, s.Hidden}
	if of := t.Value(z).Shape; len(of) == 3 {
		e.n, e.each = of[0], true
		shape = []int{len(g.subs), e.n, s.Rows, s.Hidden}
	}
	w := g.net.in.weight.Var(t)
	part := func(i int) grad.Var { return t.Cut(w, 1, i*d, (i+1)*d) }
	pick := func(table, w grad.Var, ids []int32) grad.Var {
		y := t.Linear(table, w, 0, grad.Out{})
		y = t.View(y, t.Dim(y, 0), s.Rows*s.Hidden)
		return t.Gather(y, t.Ints(repeat(ids, e.n), len(ids)*e.n), 1)
	}
	x := t.Add(pick(g.tables.layer.Var(t), part(1), g.layer), pick(g.tables.block.Var(t), part(2), g.block))
	x = t.Add(t.View(x, shape...), t.Linear(z, part(0), g.net.in.bias.Var(t), grad.Out{}))
	x = g.net.out.apply(t, t.Activate(x, op.ReLU))
	e.value = t.View(x, len(g.subs), e.n, s.Rows, s.Width)
	return e
}

// repeat returns each id n times.
func repeat(ids []int32, n int) []int32 {
	if n == 1 {
		return ids
	}
	out := make([]int32, 0, len(ids)*n)
	for _, id := range ids {
		for range n {
			out = append(out, id)
		}
	}
	return out
}

// cut returns site i of x, which begins with an axis of sites and examples, as
// a tensor of a shape, or one for each example. The gradient of a row of a table
// is added where it belongs, that of a cut would pass over all of x.
func (e *embedding) cut(p *peft.Pass, x grad.Var, i int, shape ...int) grad.Var {
	t, size := p.Tape, e.n
	for _, n := range shape {
		size *= n
	}
	if e.each {
		shape = append([]int{e.n}, shape...)
	}
	return t.View(p.Row(t.View(x, t.Value(x).Len()/size, size), i), shape...)
}

func (g *group) generate(p *peft.Pass) []grad.Var {
	t, s := p.Tape, g.b.s
	e := g.embed(p)
	var out []grad.Var
	if g.b.prefixes {
		x := t.Cut(e.value, 0, 0, g.attentions)
		k := g.net.key.apply(t, x)
		v := k
		if g.net.value != g.net.key {
			v = g.net.value.apply(t, x)
		}
		for i := range g.attentions {
			inner := t.Dim(k, -1)
			out = append(out, e.cut(p, k, i, s.Rows, inner), e.cut(p, v, i, s.Rows, inner))
		}
	}
	if g.b.adapters {
		out = append(out, g.adapters(p, &e)...)
	}
	if g.norms {
		y := g.net.norm.apply(t, g.pool(p, e.value))
		for i := range g.subs {
			out = append(out, e.cut(p, y, i, g.b.width))
		}
	}
	return out
}

// adapters returns the weights of the group's adapters.
func (g *group) adapters(p *peft.Pass, e *embedding) []grad.Var {
	t, s, d, r := p.Tape, g.b.s, g.b.width, g.b.bottleneck
	x := t.Cut(e.value, 0, g.attentions, len(g.subs))
	pooled := g.pool(p, x)
	lambda := g.factor(p, e.n)
	var down, up, downBias, upBias, gain, shift grad.Var
	if s.Pool == "rows" {
		rows := g.fewer(p, x)
		down = g.net.down.apply(t, rows)
		up = t.Permute(g.net.up.apply(t, rows), 0, 2, 1)
	} else {
		down, up = g.net.down.apply(t, pooled), g.net.up.apply(t, pooled)
	}
	if *s.AdapterBias {
		downBias, upBias = g.net.downBias.apply(t, pooled), g.net.upBias.apply(t, pooled)
	}
	switch s.AdapterNorm {
	case "none":
		up = g.scale(p, up, lambda)
		if upBias != 0 {
			upBias = g.scale(p, upBias, lambda)
		}
	case "generated":
		gain = g.scale(p, g.net.gain.apply(t, pooled), lambda)
		shift = g.scale(p, g.net.shift.apply(t, pooled), lambda)
	}
	var out []grad.Var
	for i := range len(g.subs) - g.attentions {
		out = append(out, e.cut(p, down, i, r, d), e.cut(p, up, i, d, r))
		if *s.AdapterBias {
			out = append(out, e.cut(p, downBias, i, r), e.cut(p, upBias, i, d))
		}
		switch s.AdapterNorm {
		case "trained":
			one := grad.Var(0)
			if lambda != 0 {
				one = t.Cut(lambda, 0, i*e.n, i*e.n+1)
			}
			for _, v := range g.gains[2*i:][:2] {
				x := g.scale(p, t.View(v.Var(t), 1, d), one)
				out = append(out, t.View(x, d))
			}
		case "generated":
			out = append(out, e.cut(p, gain, i, d), e.cut(p, shift, i, d))
		}
	}
	return out
}

// pool returns one vector for each of the hyper-embeddings x, [sites, examples,
// Rows, Width]: [sites*examples, Width].
func (g *group) pool(p *peft.Pass, x grad.Var) grad.Var {
	t, s := p.Tape, g.b.s
	n := t.Dim(x, 0) * t.Dim(x, 1)
	if s.Pool != "max" {
		return t.View(p.Mean(x), n, s.Width)
	}
	values := make([]float32, t.Value(x).Len())
	t.Read(values, x)
	ids := make([]int32, 0, n*s.Width)
	for i := range n {
		for c := range s.Width {
			best := i*s.Rows*s.Width + c
			for row := range s.Rows {
				if at := (i*s.Rows+row)*s.Width + c; values[at] > values[best] {
					best = at
				}
			}
			ids = append(ids, int32(best))
		}
	}
	y := t.Gather(t.View(x, len(values), 1), t.Ints(ids, len(ids)), 1)
	return t.View(y, n, s.Width)
}

// fewer averages the rows of x, [sites, examples, Rows, Width], down to as many
// as an adapter is wide: row i is the mean of rows i*Rows/r to
// ceil((i+1)*Rows/r).
func (g *group) fewer(p *peft.Pass, x grad.Var) grad.Var {
	t, s, r := p.Tape, g.b.s, g.b.bottleneck
	n := t.Dim(x, 0) * t.Dim(x, 1)
	part := func(i int) (lo, hi int) { return i * s.Rows / r, ((i+1)*s.Rows + r - 1) / r }
	ones := make([]float32, r*s.Rows)
	for i := range r {
		lo, hi := part(i)
		for row := lo; row < hi; row++ {
			ones[i*s.Rows+row] = 1
		}
	}
	mean := t.Floats(ones, r, s.Rows)
	for i := range r {
		lo, hi := part(i)
		row := t.Value(mean).Slice(i, i+1)
		t.Device().Scale(row, row, 1/float64(hi-lo))
	}
	all := t.Add(t.Fill(0, n, r, s.Rows), mean)
	return t.MatMul(all, t.View(x, n, s.Rows, s.Width), false)
}

// factor returns lambda of each adapter, each of them n times: [adapters*n, 1,
// 1], or zero if it is fixed.
func (g *group) factor(p *peft.Pass, n int) grad.Var {
	if g.lambda == nil {
		return 0
	}
	t := p.Tape
	var ids []int32
	for _, sub := range g.subs[g.attentions:] {
		switch g.b.s.Lambda {
		case "site":
			ids = append(ids, int32(sub.Layer+int(sub.Stack)*g.b.e.Layout().Layers[0]))
		case "stack":
			ids = append(ids, int32(sub.Stack))
		default:
			ids = append(ids, 0)
		}
	}
	ids = repeat(ids, n)
	v := g.lambda.Var(t)
	return t.View(t.Gather(t.View(v, t.Dim(v, 0), 1), t.Ints(ids, len(ids)), 1), len(ids), 1, 1)
}

// scale multiplies each of the first entries of x by its factor.
func (g *group) scale(p *peft.Pass, x, factor grad.Var) grad.Var {
	t := p.Tape
	if factor == 0 {
		if f := *g.b.s.LambdaInit; f != 1 {
			return t.Scale(x, f)
		}
		return x
	}
	n := t.Dim(factor, 0)
	shape := append([]int(nil), t.Value(x).Shape...)
	return t.View(t.MatMul(factor, t.View(x, n, 1, t.Value(x).Len()/n), false), shape...)
}
