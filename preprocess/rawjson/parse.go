package rawjson

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// A Parser reads one value strictly, pulled by its caller:
//
//	p.Reset(element)
//	if p.Begin(Object) {
//		for name, ok := p.Member(); ok; name, ok = p.Member() {
//			switch string(name) {
//			case "id":
//				id, kind = p.Number()
//			default:
//				p.Skip()
//			}
//		}
//	}
//	p.End()
//	if err := p.Err(); err != nil { ... }
//
// Each Member or Item must be followed by exactly one call that consumes its
// value. A call that meets a value of another kind skips it and says which kind
// it was. After an error every call does nothing.
type Parser struct {
	b       []byte
	i       int
	comma   bool // a value stands before the place in this object or array
	depth   int
	err     *SyntaxError
	scratch []byte // decoded texts
	nest    []byte // brackets that Skip is inside of
}

// Reset makes the parser read b from its start.
func (p *Parser) Reset(b []byte) {
	p.b, p.i, p.comma, p.depth, p.err = b, 0, false, 0, nil
	p.scratch = p.scratch[:0]
}

// Err returns the first error, nil if there was none.
func (p *Parser) Err() *SyntaxError { return p.err }

// Offset returns the place of the next byte to be read.
func (p *Parser) Offset() int { return p.i }

func (p *Parser) fail(at int, reason string) {
	if p.err == nil {
		p.err = &SyntaxError{Offset: int64(at), Reason: reason}
		p.i = len(p.b)
	}
}

// bad fails at the next byte with the reason for bytes that fit no rule.
func (p *Parser) bad() {
	if p.i >= len(p.b) {
		p.fail(len(p.b), EndsEarly)
		return
	}
	p.fail(p.i, "not JSON")
}

func (p *Parser) blank() {
	b, i := p.b, p.i
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	p.i = i
}

// Kind returns the kind of the next value without reading it.
func (p *Parser) Kind() Kind {
	if p.err != nil {
		return Invalid
	}
	p.blank()
	if p.i >= len(p.b) {
		return Invalid
	}
	return kindOf[p.b[p.i]]
}

// Begin enters an object or array. It reports false, without reading anything,
// if the next value is of another kind.
func (p *Parser) Begin(k Kind) bool {
	if p.Kind() != k {
		if p.err == nil && p.Kind() == Invalid {
			p.bad()
		}
		return false
	}
	if p.depth++; p.depth > maxDepth {
		p.fail(p.i, "nested too deep")
		return false
	}
	p.i++
	p.comma = false
	return true
}

// Member reads the next name of the object last begun. At the object's end it
// reads that and reports false. The name lives until the next call.
func (p *Parser) Member() (name []byte, ok bool) {
	if !p.next('}') {
		return nil, false
	}
	if p.i >= len(p.b) || p.b[p.i] != '"' {
		p.bad()
		return nil, false
	}
	name = p.text()
	p.blank()
	if p.i >= len(p.b) || p.b[p.i] != ':' {
		p.bad()
		return nil, false
	}
	p.i++
	return name, p.err == nil
}

// Item reports whether the array last begun has another item, which the next
// call must consume. At the array's end it reads that and reports false.
func (p *Parser) Item() bool { return p.next(']') }

// next moves to the next member or item, or past the closing bracket.
func (p *Parser) next(end byte) bool {
	if p.err != nil {
		return false
	}
	p.blank()
	if p.i < len(p.b) && p.b[p.i] == end {
		p.i++
		p.depth--
		p.comma = true
		return false
	}
	if p.comma {
		if p.i >= len(p.b) || p.b[p.i] != ',' {
			p.bad()
			return false
		}
		p.i++
		p.blank()
		p.comma = false
	}
	if p.i >= len(p.b) {
		p.bad()
		return false
	}
	return true
}

// Text reads a string. If the next value is none, it skips it and returns its
// kind. The text lives until Reset, and in the caller's bytes where it holds no
// escapes.
func (p *Parser) Text() (text []byte, got Kind) {
	if got = p.Kind(); got != Text {
		p.Skip()
		return nil, got
	}
	text = p.text()
	p.comma = true
	return text, Text
}

// Number reads a number and returns its literal. If the next value is none, it
// skips it and returns its kind.
func (p *Parser) Number() (literal []byte, got Kind) {
	if got = p.Kind(); got != Number {
		p.Skip()
		return nil, got
	}
	literal = p.number()
	p.comma = true
	return literal, Number
}

// Bool reads true or false. If the next value is neither, it skips it and
// returns its kind.
func (p *Parser) Bool() (v bool, got Kind) {
	got = p.Kind()
	if got == Bool {
		v = p.b[p.i] == 't'
	}
	p.Skip()
	return v, got
}

// Skip reads the next value, whatever it is, as strictly as the rest.
func (p *Parser) Skip() {
	if p.err != nil {
		return
	}
	switch p.Kind() {
	case Null:
		p.word("null")
	case Bool:
		if p.b[p.i] == 't' {
			p.word("true")
		} else {
			p.word("false")
		}
	case Number:
		p.number()
	case Text:
		mark := len(p.scratch)
		p.text()
		p.scratch = p.scratch[:mark]
	case Array, Object:
		p.skipNested()
	default:
		p.bad()
	}
	p.comma = true
}

// Raw reads the next value, whatever it is, as strictly as the rest, and returns
// it as it stands in the caller's bytes.
func (p *Parser) Raw() []byte {
	if p.err != nil {
		return nil
	}
	p.blank()
	from := p.i
	if p.Skip(); p.err != nil {
		return nil
	}
	return p.b[from:p.i]
}

// skipNested reads an array or object without recursion.
func (p *Parser) skipNested() {
	nest := p.nest[:0]
	first := true // nothing stands in the innermost bracket yet
	for p.err == nil {
		c := byte(0)
		if p.blank(); p.i < len(p.b) {
			c = p.b[p.i]
		}
		if n := len(nest); n > 0 {
			if c == nest[n-1] {
				p.i++
				if nest = nest[:n-1]; n == 1 {
					break
				}
				first = false
				continue
			}
			if !first {
				if c != ',' {
					p.bad()
					break
				}
				p.i++
				p.blank()
			}
			if nest[n-1] == '}' {
				if p.i >= len(p.b) || p.b[p.i] != '"' {
					p.bad()
					break
				}
				p.Skip() // a string: no recursion
				p.blank()
				if p.i >= len(p.b) || p.b[p.i] != ':' {
					p.bad()
					break
				}
				p.i++
			}
		}
		switch p.Kind() {
		case Array, Object:
			if len(nest)+p.depth >= maxDepth {
				p.fail(p.i, "nested too deep")
				continue
			}
			nest = append(nest, p.b[p.i]+2) // '[' + 2 is ']', '{' + 2 is '}'
			p.i++
			first = true
		default:
			p.Skip()
			first = false
		}
	}
	p.nest = nest[:0]
}

// End checks that nothing but blanks follows the value.
func (p *Parser) End() {
	if p.err == nil {
		if p.blank(); p.i < len(p.b) {
			p.fail(p.i, "data after the value")
		}
	}
}

func (p *Parser) word(w string) {
	if len(p.b)-p.i < len(w) || string(p.b[p.i:p.i+len(w)]) != w {
		p.fail(p.i, "not JSON")
		return
	}
	p.i += len(w)
}

func (p *Parser) number() []byte {
	b, i := p.b, p.i
	digits := func() bool {
		from := i
		for i < len(b) && '0' <= b[i] && b[i] <= '9' {
			i++
		}
		return i > from
	}
	if b[i] == '-' {
		i++
	}
	ok := true
	if i < len(b) && b[i] == '0' {
		i++
	} else {
		ok = digits()
	}
	if ok && i < len(b) && b[i] == '.' {
		i++
		ok = digits()
	}
	if ok && i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		ok = digits()
	}
	if !ok {
		p.fail(p.i, "not JSON")
		return nil
	}
	lit := b[p.i:i]
	p.i = i
	return lit
}

// text reads a string, whose opening quote is the next byte.
func (p *Parser) text() []byte {
	from := p.i + 1
	i := plain(p.b, from)
	if i < len(p.b) && p.b[i] == '"' {
		p.i = i + 1
		return p.b[from:i]
	}
	if i < len(p.b) && p.b[i] == '\\' {
		return p.escaped(from, i)
	}
	p.noText(i)
	return nil
}

// noText fails at a byte that may not stand in a text.
func (p *Parser) noText(i int) {
	switch {
	case i >= len(p.b):
		p.fail(len(p.b), EndsEarly)
	case class[p.b[i]] == cControl:
		p.fail(i, "control character in text")
	default:
		p.fail(i, "invalid UTF-8")
	}
}

// escaped reads on from the first escape of a string that starts at from.
func (p *Parser) escaped(from, i int) []byte {
	b, mark := p.b, len(p.scratch)
	out := append(p.scratch, b[from:i]...)
	for i < len(b) {
		end := plain(b, i)
		out = append(out, b[i:end]...)
		i = end
		switch {
		case i == len(b):
		case b[i] == '"':
			p.i = i + 1
			p.scratch = out
			return out[mark:]
		case b[i] != '\\':
			p.noText(i)
			return nil
		case i+1 >= len(b):
			i = len(b)
		case b[i+1] != 'u':
			c := unescape(b[i+1])
			if c == 0 {
				p.fail(i, "unknown escape in text")
				return nil
			}
			out = append(out, c)
			i += 2
		default:
			r, ok := hex4(b, i+2)
			if !ok {
				p.fail(i, "unknown escape in text")
				return nil
			}
			at := i
			i += 6
			if utf16.IsSurrogate(r) {
				low, ok := rune(0), false
				if i+1 < len(b) && b[i] == '\\' && b[i+1] == 'u' {
					low, ok = hex4(b, i+2)
				}
				if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
					p.fail(at, "lone surrogate in text")
					return nil
				}
				i += 6
			}
			out = utf8.AppendRune(out, r)
		}
	}
	p.noText(len(b))
	return nil
}

func unescape(c byte) byte {
	switch c {
	case '"', '\\', '/':
		return c
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return 0
}

func hex4(b []byte, i int) (rune, bool) {
	if len(b)-i < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// Integer returns the value of a literal that Number returned. Ok is false if
// the literal is no integer by its digits (22.0 and 1e3 are none) or does not
// fit.
func Integer(literal []byte) (v int64, ok bool) {
	if !IsInteger(literal) {
		return 0, false
	}
	v, err := strconv.ParseInt(string(literal), 10, 64)
	return v, err == nil
}

// IsInteger reports whether a literal has digits only, after an optional sign.
func IsInteger(literal []byte) bool {
	for i, c := range literal {
		if (c < '0' || c > '9') && (i > 0 || c != '-') {
			return false
		}
	}
	return len(literal) > 0
}
