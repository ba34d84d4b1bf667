package ptb

import (
	"fmt"
	"strings"
)

// Patterns are regular expressions over symbols. A symbol is an ASCII
// character or a class of other characters, which patterns name by a letter
// of their own (see symbols.go). The syntax:
//
//	x        the character x; a backslash takes the next character literally
//	\n       any character that begins a line; \l is a line feed, \r a carriage return, \t a tab
//	.        any symbol save those of \n
//	[...]    a set; [^...] its complement; a-z a range
//	(a|b)    grouping and alternatives
//	* + ? {m} {m,n}
//	{name}   a named pattern
//	~"abc"   the letters abc in either case
//
// A node is a piece of a parsed pattern.
type node struct {
	op       nodeOp
	set      symbolSet
	subs     []*node
	min, max int // repeat; max < 0 is unbounded
}

type nodeOp uint8

const (
	opSet nodeOp = iota
	opCat
	opAlt
	opRepeat
)

// symbolSet is a set of symbols.
type symbolSet [4]uint64

func (s *symbolSet) add(sym symbol)      { s[sym>>6] |= 1 << (sym & 63) }
func (s *symbolSet) has(sym symbol) bool { return s[sym>>6]&(1<<(sym&63)) != 0 }

func (s *symbolSet) union(o symbolSet) {
	for i := range s {
		s[i] |= o[i]
	}
}

func (s *symbolSet) complement() {
	for sym := range symbol(numSymbols) {
		s[sym>>6] ^= 1 << (sym & 63)
	}
}

// A parser turns the text of a pattern into nodes. Patterns are constants of
// this package, so faults panic.
type parser struct {
	names map[string]*node
	text  string
	pos   int
}

func (p *parser) fail(what string) {
	panic(fmt.Sprintf("ptb: pattern %q at %d: %s", p.text, p.pos, what))
}

func parse(names map[string]*node, text string) *node {
	p := &parser{names: names, text: text}
	n := p.alt()
	if p.pos != len(p.text) {
		p.fail("unexpected character")
	}
	return n
}

func (p *parser) more() bool { return p.pos < len(p.text) }

func (p *parser) take(c byte) bool {
	if p.more() && p.text[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *parser) alt() *node {
	n := &node{op: opAlt, subs: []*node{p.cat()}}
	for p.take('|') {
		n.subs = append(n.subs, p.cat())
	}
	if len(n.subs) == 1 {
		return n.subs[0]
	}
	return n
}

func (p *parser) cat() *node {
	n := &node{op: opCat}
	for p.more() && p.text[p.pos] != '|' && p.text[p.pos] != ')' {
		n.subs = append(n.subs, p.repeat())
	}
	return n
}

func (p *parser) repeat() *node {
	n := p.atom()
	for p.more() {
		switch {
		case p.take('*'):
			n = &node{op: opRepeat, subs: []*node{n}, max: -1}
		case p.take('+'):
			n = &node{op: opRepeat, subs: []*node{n}, min: 1, max: -1}
		case p.take('?'):
			n = &node{op: opRepeat, subs: []*node{n}, max: 1}
		case p.text[p.pos] == '{' && p.pos+1 < len(p.text) && isDigit(p.text[p.pos+1]):
			p.pos++
			lo := p.number()
			hi := lo
			if p.take(',') {
				hi = p.number()
			}
			if !p.take('}') {
				p.fail("want }")
			}
			n = &node{op: opRepeat, subs: []*node{n}, min: lo, max: hi}
		default:
			return n
		}
	}
	return n
}

func (p *parser) number() int {
	n := 0
	for p.more() && isDigit(p.text[p.pos]) {
		n = n*10 + int(p.text[p.pos]-'0')
		p.pos++
	}
	return n
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func (p *parser) atom() *node {
	switch c := p.text[p.pos]; c {
	case '(':
		p.pos++
		n := p.alt()
		if !p.take(')') {
			p.fail("want )")
		}
		return n
	case '[':
		p.pos++
		return &node{set: p.set()}
	case '{':
		end := strings.IndexByte(p.text[p.pos:], '}')
		if end < 0 {
			p.fail("want }")
		}
		name := p.text[p.pos+1 : p.pos+end]
		n := p.names[name]
		if n == nil {
			p.fail("no pattern of the name " + name)
		}
		p.pos += end + 1
		return n
	case '~':
		p.pos++
		if !p.take('"') {
			p.fail("want a quoted word")
		}
		n := &node{op: opCat}
		for !p.take('"') {
			var s symbolSet
			c := p.text[p.pos]
			s.add(symbol(c))
			if c >= 'a' && c <= 'z' {
				s.add(symbol(c - 'a' + 'A'))
			}
			n.subs = append(n.subs, &node{set: s})
			p.pos++
		}
		return n
	case '.':
		p.pos++
		s := lineBreaks
		s.complement()
		return &node{set: s}
	}
	var s symbolSet
	s.union(p.one())
	return &node{set: s}
}

// one reads one character and returns the symbols it stands for.
func (p *parser) one() symbolSet {
	var s symbolSet
	c := p.text[p.pos]
	if c == '\\' {
		p.pos++
		c = p.text[p.pos]
		switch c {
		case 'n':
			p.pos++
			return lineBreaks
		case 'l':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		}
		p.pos++
		s.add(symbol(c))
		return s
	}
	if c < 0x80 {
		p.pos++
		s.add(symbol(c))
		return s
	}
	for r, set := range classNames {
		if strings.HasPrefix(p.text[p.pos:], string(r)) {
			p.pos += len(string(r))
			return set
		}
	}
	p.fail("unknown class")
	return s
}

func (p *parser) set() symbolSet {
	var s symbolSet
	not := p.take('^')
	for !p.take(']') {
		if !p.more() {
			p.fail("want ]")
		}
		start := p.text[p.pos]
		if start == '\\' {
			start = p.text[p.pos+1]
		}
		one := p.one()
		if p.pos+1 < len(p.text) && p.text[p.pos] == '-' && p.text[p.pos+1] != ']' {
			p.pos++
			for c := start; c <= p.text[p.pos]; c++ {
				s.add(symbol(c))
			}
			p.pos++
			continue
		}
		s.union(one)
	}
	if not {
		s.complement()
	}
	return s
}
