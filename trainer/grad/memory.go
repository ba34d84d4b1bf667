package grad

import (
	"slices"

	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

// Mark returns the place of the next value, for Trim.
func (t *Tape) Mark() Var { return Var(len(t.nodes)) }

// Trim says that the caller computes no more with what was computed since mark,
// but for the values to keep and those that are pinned. Backward still may.
func (t *Tape) Trim(mark Var, keep ...Var) {
	for _, v := range keep {
		t.nodes[t.root(v)].spare = true
	}
	for i := mark; i < t.Mark(); i++ {
		t.spend(i)
	}
	for _, v := range keep {
		t.nodes[t.root(v)].spare = false
	}
}

// Done is Trim of single values.
func (t *Tape) Done(values ...Var) {
	for _, v := range values {
		t.spend(t.root(v))
	}
}

// Pin keeps values for the whole step, whatever Trim and Done are told. It is
// for what is made in one place and used in others.
func (t *Tape) Pin(values ...Var) {
	for _, v := range values {
		t.nodes[t.root(v)].pinned = true
	}
}

// root returns the node whose memory v is.
func (t *Tape) root(v Var) Var {
	if b := t.nodes[v].base; b != 0 {
		return b
	}
	return v
}

func (t *Tape) spend(v Var) {
	n := &t.nodes[v]
	if n.spent || n.spare || n.pinned || !n.arena {
		return
	}
	n.spent = true
	t.settle(v)
}

// settle gives the memory of a node back if it is spent and no backward function
// has to read it, or if what it has to read can be had otherwise.
func (t *Tape) settle(v Var) {
	n := &t.nodes[v]
	if !n.arena || !n.spent || n.gone {
		return
	}
	switch {
	case n.waits == 0:
	case t.walked || n.back == nil:
		return
	case n.redo != nil: // restore computes it
	case n.waits == 1 && n.act == op.ReLU && slices.Contains(n.reads[:], v): // the node's own gradient
		n.saved = t.alloc(tensor.Int32, (n.out.Len()+31)/32)
		t.dev.Signs(n.saved, n.out)
		n.reads[slices.Index(n.reads[:], v)], n.waits = 0, 0
	default:
		return
	}
	t.dev.Release(n.out)
	n.gone = true
}

// restore computes a value again if its memory was given back.
func (t *Tape) restore(v Var) {
	r := t.root(v)
	n := &t.nodes[r]
	if n.gone {
		if n.redo == nil {
			panic("grad: the value is gone")
		}
		for _, x := range n.in {
			t.restore(x)
		}
		out := t.like(n.out)
		n.out.Store, n.out.Off, n.gone = out.Store, out.Off, false
		n.redo(t, n)
	}
	if v != r {
		t.nodes[v].out.Store, t.nodes[v].out.Off = n.out.Store, n.out.Off
	}
}
