package t5

import (
	"math"
	"slices"

	"espalier/trainer/grad"
	"espalier/trainer/op"
	"espalier/trainer/peft"
	"espalier/trainer/tensor"
)

// Places of dropout. With a stack and a layer they make a site.
const (
	atTokens = iota + 1
	atSelf
	atSelfOut
	atCross
	atCrossOut
	atHidden
	atFeedForward
	atEnd
)

// drop is dropout at a place of a layer.
func (m *Model) drop(t *grad.Tape, place int, s peft.Stack, layer int) op.Dropout {
	return t.Drop(float32(*m.config.Drop), grad.Site(place<<40|int(s)<<32|layer))
}

func (m *Model) show(t *grad.Tape, s peft.Stack, i int, v grad.Var) {
	if m.trace != nil {
		t.Pin(v)
		m.trace(s.String(), i, v)
	}
}

// layer computes what becomes of the residual stream h, with which nothing else
// is computed afterwards, nor with what f made on the way.
func (m *Model) layer(p *peft.Pass, h grad.Var, f func(h grad.Var) grad.Var) grad.Var {
	mark := p.Tape.Mark()
	y := f(h)
	p.Tape.Trim(mark, y)
	if y != h {
		p.Tape.Done(h)
	}
	return y
}

// linear applies a map with its edits and then what o says.
func (m *Model) linear(p *peft.Pass, l *linear, x grad.Var, o grad.Out) grad.Var {
	t := p.Tape
	x = m.edits.Input(p, l.at, x)
	w := l.weight.Var(t)
	if r, ok := m.rounding(l); ok {
		w, o.Back = t.Leaf(r[0], tensor.Tensor{}), r[1]
	} else if !l.packed.IsZero() && !t.Recording() {
		w = t.Leaf(l.packed, tensor.Tensor{})
	}
	if !m.edits.HasOutput(l.at) {
		return t.Linear(x, w, 0, o)
	}
	y := m.edits.Output(p, l.at, x, t.Linear(x, w, 0, grad.Out{Back: o.Back}))
	if o.Act != op.None {
		y = t.Activate(y, o.Act)
	}
	y = t.Dropout(y, o.Drop)
	if o.Residual != 0 {
		y = t.Add(y, o.Residual)
	}
	return y
}

// rounding returns a frozen map's weight as the backbone has it for products that
// round, if it has.
func (m *Model) rounding(l *linear) (r [2]tensor.Tensor, ok bool) {
	if m.back == nil || !l.weight.Frozen || l.at == m.head.at {
		return r, false
	}
	r, ok = m.back.rounding[l.weight.Path]
	return r, ok
}

// norm normalises rows with their mean square.
func (m *Model) norm(p *peft.Pass, n *norm, x grad.Var) grad.Var {
	gain := m.edits.Gain(p, n.at)
	if gain == 0 {
		gain = n.gain.Var(p.Tape)
	}
	return p.Tape.Norm(x, gain, 0, op.Norm{Kind: op.RMSNorm, Eps: m.config.Eps})
}

// close ends a sub-layer whose last map l reads y: h is the residual stream, x
// what the sub-layer read.
func (m *Model) close(p *peft.Pass, s *peft.Sub, l *linear, h, x, y grad.Var, drop op.Dropout) grad.Var {
	t := p.Tape
	if m.edits.HasInner(s) {
		y = m.edits.Inner(p, s, h, x, m.linear(p, l, y, grad.Out{}))
		y = t.Add(t.Dropout(y, drop), h)
	} else {
		y = m.linear(p, l, y, grad.Out{Drop: drop, Residual: h})
	}
	return m.edits.Outer(p, s, h, x, y)
}

// feedForward is a feed-forward sub-layer.
func (m *Model) feedForward(p *peft.Pass, f *feedForward, h grad.Var) grad.Var {
	t, s := p.Tape, f.sub
	x := m.norm(p, &f.norm, h)
	hidden := m.drop(t, atHidden, s.Stack, s.Layer)
	var y grad.Var
	if f.gated {
		y = t.Mul(m.linear(p, &f.in, x, grad.Out{Act: m.act}), m.linear(p, &f.gate, x, grad.Out{}))
		y = t.Dropout(y, hidden)
	} else {
		y = m.linear(p, &f.in, x, grad.Out{Act: m.act, Drop: hidden})
	}
	return m.close(p, s, &f.out, h, x, y, m.drop(t, atFeedForward, s.Stack, s.Layer))
}

// keys projects x to an attention's keys and values, with its prefixes before
// them.
func (m *Model) keys(p *peft.Pass, a *attention, x grad.Var) (k, v grad.Var) {
	k, v = m.linear(p, &a.k, x, grad.Out{}), m.linear(p, &a.v, x, grad.Out{})
	for _, f := range slices.Backward(m.edits.Prefixes(a.sub)) { // the first one stands first
		pk, pv := f.Make(p)
		k, v = m.before(p, pk, k), m.before(p, pv, v)
	}
	return k, v
}

// before joins a part, [n, width] or one for each row, and x, [rows, tokens,
// width].
func (m *Model) before(p *peft.Pass, part, x grad.Var) grad.Var {
	t := p.Tape
	if len(t.Value(part).Shape) == 2 {
		part = t.Repeat(part, t.Dim(x, 0))
	}
	return t.Join(1, part, x)
}

// attend is the part of an attention behind its keys and values.
func (m *Model) attend(p *peft.Pass, a *attention, h, x, k, v, bias grad.Var, o op.Attention) grad.Var {
	t, s := p.Tape, a.sub
	place, out := atSelf, atSelfOut
	if s.Kind == peft.CrossAttention {
		place, out = atCross, atCrossOut
	}
	// A query of which all keys are hidden attends to all of them alike: the bias is
	// lost in this.
	o.MaskValue = -math.MaxFloat32
	o.Heads, o.Scale, o.Dropout = m.config.Heads, 1, m.drop(t, place, s.Stack, s.Layer)
	q := m.linear(p, &a.q, x, grad.Out{})
	y := m.edits.Heads(p, s, q, t.Attention(q, k, v, bias, o))
	return m.close(p, s, &a.o, h, x, y, m.drop(t, out, s.Stack, s.Layer))
}

// A line is the tokens of a stack for one pass.
type line struct {
	rows, n int
	at      []int32   // place of each token for the relative bias, or nowhere
	mask    []float32 // [rows, n], nil if all tokens are real

	masks []tensor.Tensor // of keys behind each list of prefixes
	bias  []grad.Var      // of self-attention, likewise
}

// self is a sub-layer of self-attention over a line.
func (m *Model) self(p *peft.Pass, st *stack, a *attention, h grad.Var, l *line) grad.Var {
	x := m.norm(p, &a.norm, h)
	k, v := m.keys(p, a, x)
	o := op.Attention{Mask: m.maskOf(p, l, a.prefix)}
	if st.kind == peft.Decoder {
		o.Causal, o.Past = true, m.prefixLen(a.prefix)
	}
	return m.attend(p, a, h, x, k, v, m.biasOf(p, st, l, a.prefix), o)
}

// embed returns a line and its embedded tokens ids [rows, n], with the vectors
// beside them. mask may be nil.
func (m *Model) embed(p *peft.Pass, st *stack, ids []int32, mask []float32, rows, n int) (grad.Var, *line) {
	t := p.Tape
	x := t.Gather(m.table.Var(t), t.Ints(ids, rows, n), 1)
	l := &line{rows: rows, n: n, mask: mask, at: sequence(0, n)}
	for _, e := range m.edits.Tokens(st.kind) {
		v := e.Make(p)
		if len(t.Value(v).Shape) == 2 {
			v = t.Repeat(v, rows)
		}
		l.extend(p, e)
		if e.Back {
			x = t.Join(1, x, v)
		} else {
			x = t.Join(1, v, x)
		}
	}
	m.show(t, st.kind, 0, x)
	return t.Dropout(x, m.drop(t, atTokens, st.kind, 0)), l
}

// extend adds vectors beside the tokens.
func (l *line) extend(p *peft.Pass, e peft.Tokens) {
	at := sequence(0, e.Len)
	move := int32(e.Len)
	switch {
	case e.Apart:
		move = 0
		for i := range at {
			at[i] = nowhere
		}
	case e.Back:
		at, move = sequence(int32(l.n), e.Len), 0
	}
	for i := range l.at {
		if l.at[i] != nowhere {
			l.at[i] += move
		}
	}
	if e.Back {
		l.at = append(l.at, at...)
	} else {
		l.at = append(at, l.at...)
	}
	hidden := e.Visual && p.Counts != nil
	if hidden && l.mask == nil {
		l.mask = seen(nil, l.rows*l.n, l.rows*l.n)
	}
	if l.mask != nil {
		wide := make([]float32, 0, l.rows*(l.n+e.Len))
		for r := range l.rows {
			row, real := l.mask[r*l.n:][:l.n], e.Len
			if hidden {
				real = p.Counts[r]
			}
			if e.Back {
				wide = seen(append(wide, row...), real, e.Len)
			} else {
				wide = append(seen(wide, real, e.Len), row...)
			}
		}
		l.mask = wide
	}
	l.n += e.Len
}

// seen appends n numbers of a mask, of which the first ones are 1.
func seen(mask []float32, ones, n int) []float32 {
	for i := range n {
		if i < ones {
			mask = append(mask, 1)
		} else {
			mask = append(mask, 0)
		}
	}
	return mask
}

// A Source is a batch of source texts.
type Source struct {
	Rows, Len int
	IDs       []int32   // [Rows, Len]
	Mask      []float32 // [Rows, Len], 0 where there is no token; nil: all are tokens
}

// Memory is encoded sources.
type Memory struct {
	Value grad.Var // [rows, tokens, d]
	line  *line
}

// encode runs the encoder.
func (m *Model) encode(p *peft.Pass, s *Source) Memory {
	x, l := m.embed(p, &m.encoder, s.IDs, s.Mask, s.Rows, s.Len)
	for i := range m.encoder.layers {
		b := &m.encoder.layers[i]
		x = m.layer(p, x, func(x grad.Var) grad.Var { return m.self(p, &m.encoder, b.self, x, l) })
		x = m.layer(p, x, func(x grad.Var) grad.Var { return m.feedForward(p, b.ffn, x) })
		if i+1 < len(m.encoder.layers) {
			m.show(p.Tape, peft.Encoder, i+1, x)
		}
	}
	x = m.norm(p, &m.encoder.norm, x)
	m.show(p.Tape, peft.Encoder, len(m.encoder.layers), x)
	return Memory{p.Tape.Dropout(x, m.drop(p.Tape, atEnd, peft.Encoder, 0)), l}
}

// decode runs the decoder over rows of inputs [rows, n] and returns its
// normalised result, [rows, front+n, d] with the vectors before the tokens.
func (m *Model) decode(p *peft.Pass, mem Memory, ids []int32, mask []float32, rows, n int) grad.Var {
	t := p.Tape
	x, l := m.embed(p, &m.decoder, ids, mask, rows, n)
	for i := range m.decoder.layers {
		b := &m.decoder.layers[i]
		x = m.layer(p, x, func(x grad.Var) grad.Var { return m.self(p, &m.decoder, b.self, x, l) })
		x = m.layer(p, x, func(x grad.Var) grad.Var {
			y := m.norm(p, &b.cross.norm, x)
			k, v := m.keys(p, b.cross, mem.Value)
			return m.attend(p, b.cross, x, y, k, v, 0, op.Attention{Mask: m.maskOf(p, mem.line, b.cross.prefix)})
		})
		x = m.layer(p, x, func(x grad.Var) grad.Var { return m.feedForward(p, b.ffn, x) })
		if i+1 < len(m.decoder.layers) {
			m.show(t, peft.Decoder, i+1, x)
		}
	}
	x = m.norm(p, &m.decoder.norm, x)
	m.show(t, peft.Decoder, len(m.decoder.layers), x)
	return t.Dropout(x, m.drop(t, atEnd, peft.Decoder, 0))
}

// logits projects rows of the decoder's result to the vocabulary.
func (m *Model) logits(p *peft.Pass, x grad.Var) grad.Var {
	return m.linear(p, &m.head, m.scaled(p.Tape, x), grad.Out{})
}

// scaled is what the head reads.
func (m *Model) scaled(t *grad.Tape, x grad.Var) grad.Var {
	if *m.config.Tied {
		return t.Scale(x, 1/root(m.config.Width))
	}
	return x
}
