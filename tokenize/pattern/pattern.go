// Package pattern finds regular expressions as the Oniguruma library does in the
// form that the Hugging Face tokenizers library uses it: leftmost matches, the
// first alternative that fits, Ruby's syntax, its Unicode tables.
//
// It has what the patterns of public tokenizers need: characters, classes with
// properties, ranges, nesting and intersections, groups, alternatives, greedy,
// lazy and possessive repetition of single characters, optional groups, looking
// ahead, looking back at single characters, anchors, and case folding of ASCII.
// Others are refused by [Compile], those too that could take more than polynomial
// time.
//
// A [Pattern] is immutable and safe for concurrent use.
package pattern

import (
	"unicode/utf8"
)

// A Pattern is a compiled expression.
type Pattern struct {
	source string
	code   []inst
	heads  [256]bool // bytes that a match may begin with
	empty  bool      // a match may be empty
}

type op uint8

const (
	opSet    op = iota // set, from least to most times
	opFork             // goes on at the next place, or else at x
	opJump             // goes on at x
	opAhead            // what is between here and x fits (or, if not is set, does not) from here on
	opBehind           // the character before is in the set (or, if not is set, is not, or none is there)
	opAtom             // what is between here and x, without going back into it
	opLine             // a line begins
	opEnd              // a line ends
	opFirst            // the text begins
	opLast             // the text ends; before a last line break if least is set
	opEdge             // at a word's edge, or, if not is set, not at one
	opMatch
)

// Ways to repeat.
const (
	greedy = iota
	lazy
	possessive
)

const unbounded = 1 << 30

type inst struct {
	op          op
	set         *set
	least, most int
	way         int
	not         bool
	x           int
}

// String returns the expression.
func (p *Pattern) String() string { return p.source }

// Find returns the first match in text that begins at a place or behind it. It
// sees what is before the place.
func (p *Pattern) Find(text string, from int) (start, end int, ok bool) {
	for at := from; at <= len(text); {
		if at < len(text) {
			if !p.heads[text[at]] {
				at++
				continue
			}
		} else if !p.empty {
			return 0, 0, false
		}
		if end := p.match(text, 0, at); end >= 0 {
			return at, end, true
		}
		if at == len(text) {
			break
		}
		if x := &p.code[0]; x.op == opSet && x.least <= 1 && x.most == unbounded {
			// all that could be behind the run was tried: from within it nothing fits
			begin := at
			for at < len(text) {
				n := x.set.step(text, at)
				if n == 0 {
					break
				}
				at += n
			}
			if at > begin {
				continue
			}
		}
		at += runeLen(text, at)
	}
	return 0, 0, false
}

func runeLen(text string, at int) int {
	if text[at] < utf8.RuneSelf {
		return 1
	}
	_, size := utf8.DecodeRuneInString(text[at:])
	return size
}

// match returns where the instructions from pc on end at text[at:], -1 if they do
// not fit.
func (p *Pattern) match(text string, pc, at int) int {
	for {
		x := &p.code[pc]
		switch x.op {
		case opMatch:
			return at
		case opSet:
			if x.least == 1 && x.most == 1 {
				n := x.set.step(text, at)
				if n == 0 {
					return -1
				}
				at += n
				break
			}
			n := 0
			for ; n < x.least; n++ {
				k := x.set.step(text, at)
				if k == 0 {
					return -1
				}
				at += k
			}
			if x.way == lazy {
				for {
					if end := p.match(text, pc+1, at); end >= 0 {
						return end
					}
					k := 0
					if n < x.most {
						k = x.set.step(text, at)
					}
					if k == 0 {
						return -1
					}
					at += k
					n++
				}
			}
			first := at
			for ; n < x.most; n++ {
				k := x.set.step(text, at)
				if k == 0 {
					break
				}
				at += k
			}
			if x.way == greedy && at > first && p.code[pc+1].op != opMatch {
				for {
					if end := p.match(text, pc+1, at); end >= 0 {
						return end
					}
					if at == first {
						return -1
					}
					at = before(text, at)
				}
			}
		case opFork:
			if end := p.match(text, pc+1, at); end >= 0 {
				return end
			}
			pc = x.x
			continue
		case opJump:
			pc = x.x
			continue
		case opAhead:
			if (p.match(text, pc+1, at) >= 0) == x.not {
				return -1
			}
			pc = x.x
			continue
		case opAtom:
			if at = p.match(text, pc+1, at); at < 0 {
				return -1
			}
			pc = x.x
			continue
		default:
			if !x.holds(text, at) {
				return -1
			}
		}
		pc++
	}
}

// before returns where the character before a place begins.
func before(text string, at int) int {
	if text[at-1] < utf8.RuneSelf {
		return at - 1
	}
	_, size := utf8.DecodeLastRuneInString(text[:at])
	return at - size
}

// holds reports whether what an instruction says of a place is so.
func (x *inst) holds(text string, at int) bool {
	switch x.op {
	case opBehind:
		return (at > 0 && x.set.step(text, before(text, at)) > 0) != x.not
	case opLine:
		return at == 0 || text[at-1] == '\n' && at < len(text)
	case opEnd:
		return at == len(text) || text[at] == '\n'
	case opFirst:
		return at == 0
	case opLast:
		return at == len(text) || x.least > 0 && at == len(text)-1 && text[at] == '\n'
	}
	l := at > 0 && x.set.step(text, before(text, at)) > 0
	return (l != (x.set.step(text, at) > 0)) != x.not
}
