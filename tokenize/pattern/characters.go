package pattern

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// character reads one character or class.
func (c *compiler) character() (spans, error) {
	if c.i >= len(c.s) {
		return nil, c.fail("a character is missing")
	}
	switch c.s[c.i] {
	case '.':
		c.i++
		c.last = 0
		return lines.not(), nil
	case '[':
		c.i++
		c.last = 0
		return c.class(0)
	case '\\':
		s, err := c.escape()
		if err == nil && s.size() == 1 {
			return c.folded(s)
		}
		c.last = 0
		return s, err
	case '*', '+', '?':
		return nil, c.fail("nothing to repeat")
	}
	r, size := utf8.DecodeRuneInString(c.s[c.i:])
	if r == utf8.RuneError && size == 1 {
		return nil, c.fail("not UTF-8")
	}
	c.i += size
	return c.folded(spans{{r, r}})
}

// several are pairs of letters that one character may stand for if case does not
// count.
const several = "ss st ff fi fl"

// folded returns a character, or a class, with all that equal it if case does not
// count.
func (c *compiler) folded(s spans) (spans, error) {
	if !c.fold {
		return s, nil
	}
	letters, other := s.letters()
	if other || len(letters) > 0 && s.size() > 1000 {
		return nil, c.fail("letters beyond ASCII without regard to case")
	}
	if s.size() == 1 {
		low := s[0].from | 0x20
		if c.last != 0 && len(letters) == 1 && strings.Contains(several, string([]rune{c.last, low})) {
			return nil, c.fail("%c%c without regard to case", c.last, low)
		}
		if c.last = 0; len(letters) == 1 {
			c.last = low
		}
	}
	for _, r := range letters {
		s = append(s, span{r ^ 0x20, r ^ 0x20})
		switch r | 0x20 {
		case 's':
			s = append(s, span{0x17F, 0x17F})
		case 'k':
			s = append(s, span{0x212A, 0x212A})
		}
	}
	return tidy(s), nil
}

// escape reads what a backslash begins: a character or a class.
func (c *compiler) escape() (spans, error) {
	if c.i+1 >= len(c.s) {
		return nil, c.fail("backslash at the end")
	}
	k := c.s[c.i+1]
	c.i += 2
	one := func(r rune) (spans, error) { return spans{{r, r}}, nil }
	switch k {
	case 's':
		return append(spans{}, whites...), nil
	case 'S':
		return whites.not(), nil
	case 'd':
		return digits(), nil
	case 'D':
		return digits().not(), nil
	case 'w':
		return words(), nil
	case 'W':
		return words().not(), nil
	case 'n':
		return one('\n')
	case 'r':
		return one('\r')
	case 't':
		return one('\t')
	case 'f':
		return one('\f')
	case 'v':
		return one('\v')
	case 'a':
		return one('\a')
	case 'e':
		return one(0x1B)
	case 'p', 'P':
		return c.property(k == 'P')
	case 'x', 'u':
		return c.number(k)
	}
	if k >= utf8.RuneSelf {
		c.i--
		r, size := utf8.DecodeRuneInString(c.s[c.i:])
		c.i += size
		return one(r)
	}
	if '0' <= k && k <= '9' || 'a' <= k|0x20 && k|0x20 <= 'z' {
		return nil, c.fail(`\%c is not read`, k)
	}
	return one(rune(k))
}

func (c *compiler) property(not bool) (spans, error) {
	end := strings.IndexByte(c.s[c.i:], '}')
	if !c.peek("{") || end < 0 {
		return nil, c.fail("a property's name without braces")
	}
	name := c.s[c.i+1 : c.i+end]
	if n, ok := strings.CutPrefix(name, "^"); ok {
		name, not = n, !not
	}
	s, ok := named(name)
	if !ok {
		return nil, c.fail("property %q is not known", name)
	}
	c.i += end + 1
	if not {
		s = s.not()
	}
	return s, nil
}

func (c *compiler) number(k byte) (spans, error) {
	digits := ""
	switch {
	case k == 'x' && c.peek("{"):
		end := strings.IndexByte(c.s[c.i:], '}')
		if end < 0 {
			return nil, c.fail("{ without }")
		}
		digits = c.s[c.i+1 : c.i+end]
		c.i += end + 1
	default:
		n := 2
		if k == 'u' {
			n = 4
		}
		if c.i+n > len(c.s) {
			return nil, c.fail("a number is missing")
		}
		digits = c.s[c.i : c.i+n]
		c.i += n
	}
	v, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || v > utf8.MaxRune || k == 'x' && len(digits) == 2 && v >= 0x80 {
		return nil, c.fail("number %q is not read", digits)
	}
	return spans{{rune(v), rune(v)}}, nil
}

// class reads a class behind its opening bracket.
func (c *compiler) class(depth int) (spans, error) {
	if depth > maxDepth {
		return nil, c.fail("nested too deeply")
	}
	not := c.take("^")
	var all, s spans
	begun, meets := false, false
	for {
		switch {
		case c.i >= len(c.s):
			return nil, c.fail("[ without ]")
		case c.peek("]") && !begun:
			return nil, c.fail("an empty class")
		case c.take("]"):
			s = tidy(s)
			if meets {
				s = all.and(s)
			}
			var err error
			if c.fold {
				if not {
					return nil, c.fail("all but a class without regard to case")
				}
				if s, err = c.folded(s); err != nil {
					return nil, err
				}
			}
			if not {
				s = s.not()
			}
			return s, nil
		case c.take("&&"):
			s = tidy(s)
			if meets {
				s = all.and(s)
			}
			all, s, meets = s, nil, true
			continue
		case c.peek("[:"):
			end := strings.Index(c.s[c.i:], ":]")
			if end < 0 {
				return nil, c.fail("[: without :]")
			}
			name := c.s[c.i+2 : c.i+end]
			x, ok := map[string]spans{"space": whites, "digit": digits()}[name]
			if !ok {
				return nil, c.fail("[:%s:] is not read", name)
			}
			c.i += end + 2
			s = append(s, x...)
		case c.take("["):
			x, err := c.class(depth + 1)
			if err != nil {
				return nil, err
			}
			s = append(s, x...)
		default:
			x, err := c.member()
			if err != nil {
				return nil, err
			}
			s = append(s, x...)
		}
		begun = true
	}
}

// member reads a character, escape or range of a class.
func (c *compiler) member() (spans, error) {
	first, err := c.element()
	if err != nil {
		return nil, err
	}
	if !c.peek("-") || c.peek("-]") || first.size() != 1 {
		return first, nil
	}
	if c.peek("-[") || c.peek("-&&") {
		return nil, c.fail("a range that is not read")
	}
	c.i++
	last, err := c.element()
	if err == nil && (last.size() != 1 || last[0].from < first[0].from) {
		err = c.fail("a range that is not read")
	}
	if err != nil {
		return nil, err
	}
	return spans{{first[0].from, last[0].from}}, nil
}

func (c *compiler) element() (spans, error) {
	if c.i >= len(c.s) {
		return nil, c.fail("[ without ]")
	}
	if c.s[c.i] == '\\' {
		return c.escape()
	}
	r, size := utf8.DecodeRuneInString(c.s[c.i:])
	if r == utf8.RuneError && size == 1 {
		return nil, c.fail("not UTF-8")
	}
	c.i += size
	return spans{{r, r}}, nil
}
