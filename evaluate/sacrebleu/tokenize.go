package sacrebleu

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"espalier/evaluate/pytext"
)

// A Tokenizer turns a line into tokens between single blanks.
type Tokenizer func(line string) string

// Tokenizers are the tokenizers by their names.
var Tokenizers = map[string]Tokenizer{"13a": Tok13a, "zh": TokZh, "intl": TokIntl, "char": TokChar, "none": TokNone}

// TokNone leaves the line as it is.
func TokNone(line string) string { return line }

// TokChar puts a blank between all characters.
func TokChar(line string) string {
	var b strings.Builder
	b.Grow(2 * len(line))
	for i, r := range line {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

var entities = []struct{ name, char string }{{"&quot;", `"`}, {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}}

// Tok13a is the tokenizer of mteval-v13a: it decodes four entities, once each
// in this order, and separates punctuation.
func Tok13a(line string) string { return collapse(string((&passes{}).mteval(line))) }

// passes separate a line's pieces by blanks; their buffers are used again.
type passes struct{ one, two []byte }

// mteval is Tok13a but for the blanks between the pieces, of which there may
// be any number.
func (p *passes) mteval(line string) []byte {
	if strings.Contains(line, "<skipped>") {
		line = strings.ReplaceAll(line, "<skipped>", "")
	}
	if strings.Contains(line, "\n") {
		line = strings.ReplaceAll(strings.ReplaceAll(line, "-\n", ""), "\n", " ")
	}
	if strings.Contains(line, "&") {
		for _, e := range entities {
			line = strings.ReplaceAll(line, e.name, e.char)
		}
	}
	p.one = symbols(append(p.one[:0], ' '), line)
	p.one = append(p.one, ' ')
	return p.points()
}

// western separates punctuation and collapses blanks.
func western(line string) string {
	p := passes{}
	p.one = symbols(nil, line)
	return collapse(string(p.points()))
}

// Symbols puts blanks around every ASCII symbol save apostrophe, comma, hyphen
// and period.
func Symbols(line string) string { return string(symbols(nil, line)) }

// Points separates periods and commas that do not stand between digits, and
// hyphens behind digits.
func Points(line string) string { return string((&passes{one: []byte(line)}).points()) }

// symbols appends what Symbols returns.
func symbols(b []byte, line string) []byte {
	for i := 0; i < len(line); i++ {
		if c := line[i]; symbol(c) {
			b = append(b, ' ', c, ' ')
		} else {
			b = append(b, c)
		}
	}
	return b
}

// points is Points of the first buffer.
func (p *passes) points() []byte {
	b, next := p.one, p.two[:0]
	if bytes.IndexByte(b, '.') >= 0 || bytes.IndexByte(b, ',') >= 0 {
		// A character that is no digit, then a period or comma.
		for i := 0; i < len(b); i++ {
			next = append(next, b[i])
			if i+1 < len(b) && !digit(b[i]) && point(b[i+1]) {
				next = append(next, ' ', b[i+1], ' ')
				i++
			}
		}
		// A period or comma, then a character that is no digit.
		b = b[:0]
		for i := 0; i < len(next); i++ {
			if point(next[i]) && i+1 < len(next) && !digit(next[i+1]) {
				b = append(b, ' ', next[i], ' ', next[i+1])
				i++
				continue
			}
			b = append(b, next[i])
		}
		next = next[:0]
	}
	if bytes.IndexByte(b, '-') < 0 {
		p.one, p.two = b, next
		return b
	}
	for i := 0; i < len(b); i++ {
		next = append(next, b[i])
		if digit(b[i]) && i+1 < len(b) && b[i+1] == '-' {
			next = append(next, ' ', '-', ' ')
			i++
		}
	}
	p.one, p.two = b, next
	return next
}

func symbol(c byte) bool {
	switch {
	case c >= '{' && c <= '~', c >= '[' && c <= '`', c >= ' ' && c <= '&', c >= '(' && c <= '+', c >= ':' && c <= '@', c == '/':
		return true
	}
	return false
}

func digit(c byte) bool { return c >= '0' && c <= '9' }
func point(c byte) bool { return c == '.' || c == ',' }

// collapse joins the words of a line by single blanks.
func collapse(line string) string { return strings.Join(pytext.Fields(line), " ") }

// chinese are the ranges of sacrebleu 2.6, its mistyped ones included: they
// reach from U+2001 to U+2A6D instead of into the supplementary planes.
var chinese = [][2]rune{
	{0x2001, 0x2a6d},
	{0x2e80, 0x2eff},
	{0x2f00, 0x2fdf},
	{0x2ff0, 0x2fff},
	{0x3000, 0x303f},
	{0x3100, 0x312f},
	{0x31a0, 0x31bf},
	{0x31c0, 0x31ef},
	{0x3200, 0x33ff},
	{0x3400, 0x4db5},
	{0x4e00, 0x9fbb},
	{0xf900, 0xfa2d},
	{0xfa30, 0xfa6a},
	{0xfa70, 0xfad9},
	{0xfe10, 0xfe1f},
	{0xfe30, 0xfe4f},
	{0xff00, 0xffef},
}

func isChinese(r rune) bool {
	for _, x := range chinese {
		if r < x[0] {
			return false
		}
		if r <= x[1] {
			return true
		}
	}
	return false
}

// TokZh puts blanks around each Chinese character and separates the rest as
// 13a does, without entities and without blanks at the ends.
func TokZh(line string) string {
	var b strings.Builder
	b.Grow(2 * len(line))
	for _, r := range pytext.Strip(line) {
		if isChinese(r) {
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
		} else {
			b.WriteRune(r)
		}
	}
	return western(b.String())
}

// TokIntl separates by Unicode categories: punctuation behind and before
// anything but numbers, and symbols everywhere.
func TokIntl(line string) string {
	rs := []rune(line)
	out := make([]rune, 0, len(rs)+len(rs)/4)
	for i := 0; i < len(rs); i++ {
		out = append(out, rs[i])
		if i+1 < len(rs) && !unicode.IsNumber(rs[i]) && unicode.IsPunct(rs[i+1]) {
			out = append(out, ' ', rs[i+1], ' ')
			i++
		}
	}
	rs = rs[:0]
	for i := 0; i < len(out); i++ {
		if unicode.IsPunct(out[i]) && i+1 < len(out) && !unicode.IsNumber(out[i+1]) {
			rs = append(rs, ' ', out[i], ' ', out[i+1])
			i++
			continue
		}
		rs = append(rs, out[i])
	}
	out = out[:0]
	for _, r := range rs {
		if unicode.IsSymbol(r) {
			out = append(out, ' ', r, ' ')
		} else {
			out = append(out, r)
		}
	}
	return collapse(string(out))
}

// valid replaces what is no UTF-8, so that every character has a width.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\ufffd")
}
