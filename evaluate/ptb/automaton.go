package ptb

import (
	"encoding/binary"
	"slices"
)

// An nfa is a non-deterministic automaton for a list of patterns (Thompson's
// construction).
type nfa struct {
	states []nfaState
	start  int32
}

type nfaState struct {
	set      symbolSet // symbols that lead to next; empty for an empty move
	next     int32
	alt      int32 // second empty move, -1 if none
	accept   int32 // rule, -1 if none
	consumes bool
}

func (a *nfa) add(s nfaState) int32 {
	a.states = append(a.states, s)
	return int32(len(a.states) - 1)
}

func (a *nfa) empty(next, alt int32) int32 {
	return a.add(nfaState{next: next, alt: alt, accept: -1})
}

// build returns the start of an automaton that matches n and goes on to next.
func (a *nfa) build(n *node, next int32) int32 {
	switch n.op {
	case opSet:
		return a.add(nfaState{set: n.set, next: next, alt: -1, accept: -1, consumes: true})
	case opCat:
		for _, s := range slices.Backward(n.subs) {
			next = a.build(s, next)
		}
		return next
	case opAlt:
		start := a.build(n.subs[len(n.subs)-1], next)
		for _, s := range slices.Backward(n.subs[:len(n.subs)-1]) {
			start = a.empty(a.build(s, next), start)
		}
		return start
	}
	sub := n.subs[0]
	if n.max < 0 {
		loop := a.empty(-1, next)
		a.states[loop].next = a.build(sub, loop)
		next = loop
	} else {
		end := next
		for range n.max - n.min {
			next = a.empty(a.build(sub, next), end)
		}
	}
	for range n.min {
		next = a.build(sub, next)
	}
	return next
}

// newNFA makes an automaton of which pattern i is accepted as rule i.
func newNFA(patterns []*node) *nfa {
	a := &nfa{}
	start := int32(-1)
	for i, n := range slices.Backward(patterns) {
		end := a.add(nfaState{next: -1, alt: -1, accept: int32(i)})
		s := a.build(n, end)
		if start < 0 {
			start = s
		} else {
			start = a.empty(s, start)
		}
	}
	a.start = start
	return a
}

// A dfa is the deterministic automaton of an nfa, made state by state as text
// asks for it. It may not be used by two goroutines at once.
type dfa struct {
	nfa    *nfa
	byKey  map[string]int32
	next   [][numSymbols]int32 // -1 dead, -2 not made yet
	accept []int32             // lowest rule that the state accepts, -1 if none
	sets   [][]int32           // the consuming and accepting nfa states of each state
	mark   []uint32
	round  uint32
	stack  []int32
}

const (
	dead    = -1
	unknown = -2
)

func newDFA(a *nfa) *dfa {
	d := &dfa{nfa: a, byKey: make(map[string]int32), mark: make([]uint32, len(a.states))}
	d.round++
	var set []int32
	set = d.closure(set, a.start)
	d.state(set)
	return d
}

// closure adds to set what can be reached from s by empty moves.
func (d *dfa) closure(set []int32, s int32) []int32 {
	d.stack = append(d.stack[:0], s)
	for len(d.stack) > 0 {
		s := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		if s < 0 || d.mark[s] == d.round {
			continue
		}
		d.mark[s] = d.round
		st := &d.nfa.states[s]
		if st.consumes || st.accept >= 0 {
			set = append(set, s)
			continue
		}
		d.stack = append(d.stack, st.alt, st.next)
	}
	return set
}

// state returns the number of the state that stands for set.
func (d *dfa) state(set []int32) int32 {
	if len(set) == 0 {
		return dead
	}
	slices.Sort(set)
	key := make([]byte, 0, 4*len(set))
	for _, s := range set {
		key = binary.LittleEndian.AppendUint32(key, uint32(s))
	}
	if id, ok := d.byKey[string(key)]; ok {
		return id
	}
	id := int32(len(d.next))
	d.byKey[string(key)] = id
	var row [numSymbols]int32
	for i := range row {
		row[i] = unknown
	}
	accept := int32(-1)
	for _, s := range set {
		if r := d.nfa.states[s].accept; r >= 0 && (accept < 0 || r < accept) {
			accept = r
		}
	}
	d.next = append(d.next, row)
	d.accept = append(d.accept, accept)
	d.sets = append(d.sets, slices.Clone(set))
	return id
}

// step makes the transition of a state over a symbol.
func (d *dfa) step(from int32, sym symbol) int32 {
	d.round++
	var set []int32
	for _, s := range d.sets[from] {
		st := &d.nfa.states[s]
		if st.consumes && st.set.has(sym) {
			set = d.closure(set, st.next)
		}
	}
	to := d.state(set)
	d.next[from][sym] = to
	return to
}

// matches reports whether text as a whole is accepted.
func (d *dfa) matches(text []symbol) bool {
	s := int32(0)
	for _, sym := range text {
		n := d.next[s][sym]
		if n == unknown {
			n = d.step(s, sym)
		}
		if n == dead {
			return false
		}
		s = n
	}
	return d.accept[s] >= 0
}
