package ptb

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// compiled is what all lexers share.
type compiled struct {
	nfa    *nfa
	rules  []rule
	bodies []*nfa // of rules whose lookahead has no fixed length
	aheads []*nfa
	fixed  []int // length of a rule's lookahead, -1 if it varies
}

var compile = sync.OnceValue(func() *compiled {
	defs := make(map[string]*node)
	for _, n := range names {
		defs[n.name] = parse(defs, n.pattern)
	}
	c := &compiled{rules: rules}
	var whole []*node
	for _, r := range rules {
		body := parse(defs, r.pattern)
		if r.ahead == "" {
			whole = append(whole, body)
			c.bodies, c.aheads, c.fixed = append(c.bodies, nil), append(c.aheads, nil), append(c.fixed, 0)
			continue
		}
		ahead := parse(defs, r.ahead)
		whole = append(whole, &node{op: opCat, subs: []*node{body, ahead}})
		c.bodies = append(c.bodies, newNFA([]*node{body}))
		c.aheads = append(c.aheads, newNFA([]*node{ahead}))
		c.fixed = append(c.fixed, ahead.length())
	}
	c.nfa = newNFA(whole)
	return c
})

// length returns the number of symbols of everything that n matches, -1 if it
// varies.
func (n *node) length() int {
	switch n.op {
	case opSet:
		return 1
	case opCat:
		total := 0
		for _, s := range n.subs {
			l := s.length()
			if l < 0 {
				return -1
			}
			total += l
		}
		return total
	case opAlt:
		l := n.subs[0].length()
		for _, s := range n.subs[1:] {
			if s.length() != l {
				return -1
			}
		}
		return l
	}
	if l := n.subs[0].length(); l >= 0 && n.min == n.max {
		return l * n.min
	}
	return -1
}

// A lexer cuts a stream of text into tokens. Text is fed piece by piece; a
// token is cut as soon as no further text could change it.
type lexer struct {
	c      *compiled
	d      *dfa
	bodies []*dfa
	aheads []*dfa

	text []byte
	syms []symbol
	ends []int32 // ends[i] is the byte after symbol i; empty while text is ASCII
	pos  int     // symbols that are done
}

func newLexer() *lexer {
	c := compile()
	l := &lexer{c: c, d: newDFA(c.nfa), bodies: make([]*dfa, len(c.rules)), aheads: make([]*dfa, len(c.rules))}
	for i := range c.rules {
		if c.fixed[i] < 0 {
			l.bodies[i], l.aheads[i] = newDFA(c.bodies[i]), newDFA(c.aheads[i])
		}
	}
	return l
}

// forget drops all text.
func (l *lexer) forget() { l.text, l.syms, l.ends, l.pos = l.text[:0], l.syms[:0], l.ends[:0], 0 }

// feed appends text to the stream. Invalid UTF-8 reads as U+FFFD.
func (l *lexer) feed(s string) {
	i := 0
	if len(l.ends) == 0 {
		for i < len(s) && s[i] < utf8.RuneSelf {
			i++
		}
		l.text = append(l.text, s[:i]...)
		l.syms = append(l.syms, s[:i]...)
		if i == len(s) {
			return
		}
		for j := range l.syms {
			l.ends = append(l.ends, int32(j+1))
		}
	}
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		l.text = append(l.text, s[i:i+n]...)
		i += n
		sym, times := symbolOf(r)
		for range times {
			l.syms = append(l.syms, sym)
			l.ends = append(l.ends, int32(len(l.text)))
		}
	}
}

// begin returns the byte at which symbol i begins.
func (l *lexer) begin(i int) int {
	if i == 0 || len(l.ends) == 0 {
		return i
	}
	return int(l.ends[i-1])
}

// plainWord returns the end of the run of ASCII letters at the lexer's place if
// a blank or a line feed follows it and no rule splits it: what most text is
// made of, cut without the automaton.
func (l *lexer) plainWord() int {
	i := l.pos
	for i < len(l.syms) && letters[l.syms[i]] {
		i++
	}
	if n := i - l.pos; n == 0 || i == len(l.syms) || l.syms[i] != ' ' && l.syms[i] != '\n' || (n == 5 || n == 6) && splits(l.syms[l.pos:i]) {
		return 0
	}
	return i
}

var letters = func() (t [256]bool) {
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = true, true
	}
	return t
}()

// splits reports the words of letters alone that two rules cut in two.
func splits(word []symbol) bool {
	switch strings.ToLower(string(word)) {
	case "cannot", "gonna", "gotta", "lemme", "gimme", "wanna":
		return true
	}
	return false
}

// next finds the next match: its rule and the symbols of its token. It returns
// false if more text is needed, or none is left at the end of the stream.
func (l *lexer) next(end bool) (r, from, to int, ok bool) {
	from = l.pos
	if from == len(l.syms) {
		return 0, 0, 0, false
	}
	state, best, bestEnd := int32(0), int32(-1), 0
	i := from
	for ; i < len(l.syms); i++ {
		n := l.d.next[state][l.syms[i]]
		if n == unknown {
			n = l.d.step(state, l.syms[i])
		}
		if n == dead {
			break
		}
		state = n
		if a := l.d.accept[state]; a >= 0 {
			best, bestEnd = a, i+1
		}
	}
	if i == len(l.syms) && !end {
		return 0, 0, 0, false
	}
	r, to = int(best), bestEnd
	switch k := l.c.fixed[r]; {
	case k > 0:
		to -= k
	case k < 0:
		for to--; to > from; to-- {
			if l.aheads[r].matches(l.syms[to:bestEnd]) && l.bodies[r].matches(l.syms[from:to]) {
				break
			}
		}
	}
	switch rule := &l.c.rules[r]; rule.act {
	case cutTail:
		to -= rule.n
		l.pos = to
	case emitThenDot:
		l.pos = to - 1
	default:
		l.pos = to
	}
	return r, from, to, true
}

// drop forgets text that is done.
func (l *lexer) drop() {
	rest := string(l.text[l.begin(l.pos):])
	l.text, l.syms, l.ends, l.pos = l.text[:0], l.syms[:0], l.ends[:0], 0
	l.feed(rest)
}
