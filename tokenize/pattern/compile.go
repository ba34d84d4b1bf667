package pattern

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of an expression.
const (
	maxSource = 1 << 16
	maxCode   = 1 << 14
	maxDepth  = 100
	maxLoops  = 6 // without bound, one behind another
)

// Compile reads an expression.
func Compile(source string) (*Pattern, error) {
	c := &compiler{p: &Pattern{source: source}, s: source}
	err := fmt.Errorf("more than %d bytes", maxSource)
	if len(source) <= maxSource {
		err = c.alternatives(0)
	}
	if err == nil && c.i < len(source) {
		err = c.fail("unexpected )")
	}
	if err != nil {
		if len(source) > 200 {
			source = source[:200] + "..."
		}
		return nil, fmt.Errorf("pattern %q: %w", source, err)
	}
	c.emit(inst{op: opMatch})
	p := c.p
	p.empty = p.begin(0, map[int]bool{})
	if p.empty {
		for i := range p.heads {
			p.heads[i] = true
		}
	}
	return p, nil
}

// Literal returns the pattern that finds a text.
func Literal(text string) *Pattern {
	c := &compiler{p: &Pattern{source: text}}
	for _, r := range text {
		c.one(spans{{r, r}})
	}
	c.emit(inst{op: opMatch})
	c.p.empty = c.p.begin(0, map[int]bool{})
	return c.p
}

type compiler struct {
	p     *Pattern
	s     string
	i     int
	fold  bool
	loops int // unbounded ones on the way
	last  rune
	sets  []*set
	spans []spans // of each
}

func (c *compiler) fail(format string, args ...any) error {
	return fmt.Errorf("at %d: %s", c.i, fmt.Sprintf(format, args...))
}

func (c *compiler) emit(x inst) int {
	c.p.code = append(c.p.code, x)
	return len(c.p.code) - 1
}

// set returns the set of ranges; equal ones are made once.
func (c *compiler) set(s spans) *set {
	for i, old := range c.spans {
		if slices.Equal(old, s) {
			return c.sets[i]
		}
	}
	c.spans, c.sets = append(c.spans, s), append(c.sets, newSet(s))
	return c.sets[len(c.sets)-1]
}

func (c *compiler) one(s spans) { c.emit(inst{op: opSet, set: c.set(s), least: 1, most: 1}) }

func (c *compiler) peek(s string) bool { return strings.HasPrefix(c.s[c.i:], s) }

func (c *compiler) take(s string) bool {
	if c.peek(s) {
		c.i += len(s)
		return true
	}
	return false
}

// alternatives compiles until a closing parenthesis or the end.
func (c *compiler) alternatives(depth int) error {
	if depth > maxDepth {
		return c.fail("nested too deeply")
	}
	fold, loops, most := c.fold, c.loops, c.loops
	var jumps []int
	for {
		begin := len(c.p.code)
		c.loops, c.last = loops, 0
		if err := c.sequence(depth); err != nil {
			return err
		}
		most = max(most, c.loops)
		if len(c.p.code) > maxCode {
			return c.fail("too long")
		}
		if !c.take("|") {
			break
		}
		// the alternative moves on by one place, for a fork before it
		c.shift(begin, 1)
		c.p.code = append(c.p.code, inst{})
		copy(c.p.code[begin+1:], c.p.code[begin:])
		for k := range jumps {
			if jumps[k] >= begin {
				jumps[k]++
			}
		}
		jumps = append(jumps, c.emit(inst{op: opJump}))
		c.p.code[begin] = inst{op: opFork, x: len(c.p.code)}
	}
	for _, k := range jumps {
		c.p.code[k].x = len(c.p.code)
	}
	c.fold, c.loops, c.last = fold, most, 0
	return nil
}

// shift moves what instructions from a place on say of places.
func (c *compiler) shift(from, by int) {
	for k := from; k < len(c.p.code); k++ {
		switch c.p.code[k].op {
		case opFork, opJump, opAhead, opAtom:
			c.p.code[k].x += by
		default:
		}
	}
}

func (c *compiler) sequence(depth int) error {
	for c.i < len(c.s) && c.s[c.i] != '|' && c.s[c.i] != ')' {
		if err := c.item(depth); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) item(depth int) error {
	begin := len(c.p.code)
	switch {
	case c.peek("("):
		c.i++
		group, err := c.group(depth)
		if err != nil || !group {
			return err
		}
		return c.repeatGroup(begin)
	case c.take("^"):
		c.emit(inst{op: opLine})
		return c.noRepeat()
	case c.take("$"):
		c.emit(inst{op: opEnd})
		return c.noRepeat()
	case c.take(`\A`):
		c.emit(inst{op: opFirst})
		return c.noRepeat()
	case c.take(`\z`):
		c.emit(inst{op: opLast})
		return c.noRepeat()
	case c.take(`\Z`):
		c.emit(inst{op: opLast, least: 1})
		return c.noRepeat()
	case c.peek(`\b`) || c.peek(`\B`):
		not := c.s[c.i+1] == 'B'
		c.i += 2
		c.emit(inst{op: opEdge, set: c.set(words()), not: not})
		return c.noRepeat()
	}
	s, err := c.character()
	if err != nil {
		return err
	}
	return c.repeat(s)
}

func (c *compiler) noRepeat() error {
	if c.i < len(c.s) && strings.IndexByte("*+?{", c.s[c.i]) >= 0 {
		return c.fail("repetition of a place")
	}
	return nil
}

// group compiles what a parenthesis begins; false says that it stands for no
// text.
func (c *compiler) group(depth int) (bool, error) {
	fold, loops := c.fold, c.loops
	at := -1
	switch {
	case c.take("?:"):
	case c.take("?i:"):
		c.fold = true
	case c.take("?-i:"):
		c.fold = false
	case c.take("?i)"):
		// what follows in the group is an alternative of its own
		c.fold = true
		if strings.IndexByte(c.s[c.i:], '|') >= 0 {
			return false, c.fail("(?i) before alternatives")
		}
		return false, nil
	case c.take("?>"):
		at = c.emit(inst{op: opAtom})
	case c.take("?="):
		at = c.emit(inst{op: opAhead})
	case c.take("?!"):
		at = c.emit(inst{op: opAhead, not: true})
	case c.peek("?<=") || c.peek("?<!"):
		not := c.s[c.i+2] == '!'
		c.i += 3
		s, err := c.character()
		if err == nil && !c.take(")") {
			err = c.fail("looking back at more than a character")
		}
		if err != nil {
			return false, err
		}
		c.emit(inst{op: opBehind, set: c.set(s), not: not})
		return false, c.noRepeat()
	case c.peek("?"):
		return false, c.fail("a kind of group that is not read")
	}
	if err := c.alternatives(depth + 1); err != nil {
		return false, err
	}
	if !c.take(")") {
		return false, c.fail("( without )")
	}
	c.fold = fold
	if at < 0 {
		return true, nil
	}
	c.loops = loops
	if c.p.code[at].op == opAtom {
		c.loops++
	}
	c.emit(inst{op: opMatch})
	c.p.code[at].x = len(c.p.code)
	if c.p.code[at].op == opAtom {
		return true, nil
	}
	return false, c.noRepeat()
}

// quantifier reads how often something is repeated.
func (c *compiler) quantifier() (least, most, way int, err error) {
	least, most = 1, 1
	braces := false
	switch {
	case c.take("*"):
		least, most = 0, unbounded
	case c.take("+"):
		most = unbounded
	case c.take("?"):
		least = 0
	case c.peek("{"):
		end := strings.IndexByte(c.s[c.i:], '}')
		if end < 0 {
			return 0, 0, 0, c.fail("{ without }")
		}
		from, to, comma := strings.Cut(c.s[c.i+1:c.i+end], ",")
		least, err = strconv.Atoi(from)
		if from == "" && comma && to != "" {
			least, err = 0, nil
		}
		if most = least; err == nil && comma {
			if most = unbounded; to != "" {
				most, err = strconv.Atoi(to)
			}
		}
		if err != nil || least < 0 || least > 1000 || most < least || most > 1000 && most != unbounded {
			return 0, 0, 0, c.fail("repetition that is not read")
		}
		c.i += end + 1
		braces = true
	default:
		return 1, 1, greedy, nil
	}
	switch {
	case c.take("?"):
		way = lazy
		if braces && least == most {
			return 0, 0, 0, c.fail("repetition that is not read")
		}
	case c.peek("+") && braces:
		return 0, 0, 0, c.fail("repetition of a repetition")
	case c.take("+"):
		way = possessive
	}
	if c.i < len(c.s) && strings.IndexByte("*+?{", c.s[c.i]) >= 0 {
		return 0, 0, 0, c.fail("repetition of a repetition")
	}
	return least, most, way, nil
}

// repeat compiles a character and how often it is there.
func (c *compiler) repeat(s spans) error {
	least, most, way, err := c.quantifier()
	if err != nil {
		return err
	}
	if most == unbounded {
		if c.loops++; c.loops > maxLoops {
			return c.fail("more than %d repetitions without bound", maxLoops)
		}
	}
	if most == 0 {
		return nil
	}
	c.emit(inst{op: opSet, set: c.set(s), least: least, most: most, way: way})
	return nil
}

// repeatGroup compiles how often a group is there: once or not at all.
func (c *compiler) repeatGroup(begin int) error {
	least, most, way, err := c.quantifier()
	switch {
	case err != nil:
		return err
	case most > 1 || most == 0:
		return c.fail("repetition of a group")
	case least == 1:
		return nil
	case way == lazy:
		return c.fail("lazy option")
	}
	by := 1
	if way == possessive {
		by = 2
	}
	c.shift(begin, by)
	c.p.code = append(c.p.code, make([]inst, by)...)
	copy(c.p.code[begin+by:], c.p.code[begin:])
	if way == possessive { // an atom of the option
		c.p.code[begin+1] = inst{op: opFork, x: len(c.p.code)}
		c.emit(inst{op: opMatch})
		c.p.code[begin] = inst{op: opAtom, x: len(c.p.code)}
		return nil
	}
	c.p.code[begin] = inst{op: opFork, x: len(c.p.code)}
	return nil
}

// begin sets which bytes a match from an instruction on may begin with and
// reports whether it may be empty.
func (p *Pattern) begin(pc int, seen map[int]bool) bool {
	for !seen[pc] {
		seen[pc] = true
		x := &p.code[pc]
		switch x.op {
		case opMatch:
			return true
		case opSet:
			for b := range p.heads {
				if b >= utf8.RuneSelf || x.set.ascii[b>>6]>>(b&63)&1 != 0 {
					p.heads[b] = true
				}
			}
			if x.least > 0 {
				return false
			}
			pc++
		case opFork:
			if p.begin(pc+1, seen) {
				return true
			}
			pc = x.x
		case opJump:
			pc = x.x
		case opAtom:
			if !p.begin(pc+1, seen) {
				return false
			}
			pc = x.x
		case opAhead:
			pc = x.x
		default:
			pc++
		}
	}
	return false
}
