// Package mend repairs text as CLIP's tokenizers have it repaired before they
// encode it: mojibake is undone, entities become characters, curly quotes
// straight ones, and so on.
//
// [Mender.Fix] gives what ftfy 6.3.1 (fix_text with its defaults) gives, and
// [Unescape] what Python's html.unescape gives; Unicode is that of Python 3.11.
// Most text needs nothing and is returned as it is.
package mend

import (
	"strings"
	"unicode/utf8"

	"espalier/tokenize/chars"
)

// maxSegment is the length, in characters, of what is repaired as one.
const maxSegment = 1_000_000

// A Mender repairs text, for one goroutine at a time.
type Mender struct {
	table *chars.Table
	norm  *chars.Normalizer
	buf   []byte
	runes []rune
}

// New returns a mender.
func New() *Mender { return &Mender{table: chars.Load(), norm: chars.NewNormalizer(false)} }

// Calm reports whether text has no character that Fix could do anything about.
func (m *Mender) Calm(text string) bool {
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if c == 0x7F || c < ' ' && c != '\t' && c != '\n' || c == '&' {
				return false
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if size == 1 || class(r) != 0 || replaceable(r) || removed(r) || m.table.Of(r)&chars.Composes != 0 {
			return false
		}
		i += size
	}
	return true
}

// Fix repairs text. Bytes that are not UTF-8 become U+FFFD each. What it returns
// is valid until the next call.
func (m *Mender) Fix(text string) string {
	if k := strings.IndexByte(text, '\n'); k < 0 || k == len(text)-1 {
		if len(text) <= maxSegment { // one segment
			if s, ok := m.quick(text); ok {
				return s
			}
		}
	} else if m.Calm(text) {
		return text
	}
	return m.fix(text)
}

// fix is Fix a line at a time.
func (m *Mender) fix(text string) string {
	text = strings.ToValidUTF8(valid(text), "\uFFFD")
	var b strings.Builder
	entities := true
	for text != "" {
		end := len(text)
		if k := strings.IndexByte(text, '\n'); k >= 0 {
			end = k + 1
		}
		if end > maxSegment {
			n := 0
			for i := range text[:end] {
				if n == maxSegment {
					end = i
					break
				}
				n++
			}
		}
		entities = entities && strings.IndexByte(text[:end], '<') < 0 // no entities in what may be HTML, nor behind it
		b.WriteString(m.segment(text[:end], entities))
		text = text[end:]
	}
	return b.String()
}

// valid replaces each byte that is not UTF-8.
func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return string([]rune(text))
}

// segment repairs a line until nothing changes.
func (m *Mender) segment(text string, entities bool) string {
	if s, ok := m.quick(text); ok {
		return s
	}
	return m.slow(text, entities)
}

// slow is segment step by step.
func (m *Mender) slow(text string, entities bool) string {
	for {
		before := text
		if entities && strings.IndexByte(text, '&') >= 0 {
			text = entitiesWithSemicolon(text)
		}
		text = m.fixEncoding(text)
		text = m.characters(text)
		text = m.removeEscapes(text)
		text = removeControls(text)
		text = string(m.norm.AppendNFC(nil, text))
		if text == before || m.Calm(text) {
			return text
		}
	}
}

// characters replaces C1 control characters, ligatures, half- and full-width
// forms, curly quotes and line breaks.
func (m *Mender) characters(text string) string {
	plain := true
	for _, r := range text {
		if r == '\r' || r >= 0x80 && replaceable(r) {
			plain = false
			break
		}
	}
	if plain {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '\r':
			if i+1 == len(text) || text[i+1] != '\n' {
				b.WriteByte('\n')
			}
		case 0x80 <= r && r < 0xA0:
			writeBreak(&b, windows1252(r))
		case r == 0x2BC || 0x2018 <= r && r <= 0x201B:
			b.WriteByte('\'')
		case 0x201C <= r && r <= 0x201F:
			b.WriteByte('"')
		case r == 0x2028 || r == 0x2029:
			b.WriteByte('\n')
		case ligatures[r] != "":
			for _, c := range ligatures[r] {
				writeBreak(&b, c)
			}
		case widths[r] != "":
			b.WriteString(widths[r])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// writeBreak writes a character that stands for another one, which may be a
// quote.
func writeBreak(b *strings.Builder, r rune) {
	switch {
	case r == 0x2BC || 0x2018 <= r && r <= 0x201B:
		b.WriteByte('\'')
	case 0x201C <= r && r <= 0x201F:
		b.WriteByte('"')
	case r == 0x85:
		b.WriteByte('\n')
	default:
		b.WriteRune(r)
	}
}

func replaceable(r rune) bool {
	switch {
	case r < 0xA0, r == 0x2BC, 0x2018 <= r && r <= 0x201F, r == 0x2028, r == 0x2029, r == 0x3000, 0xFF01 <= r && r <= 0xFFEF:
		return true
	case 0x132 <= r && r <= 0x1F3, 0xFB00 <= r && r <= 0xFB06:
		return ligatures[r] != ""
	}
	return false
}

// removeEscapes removes ANSI escape sequences: ESC [ numbers and semicolons, a
// letter.
func (m *Mender) removeEscapes(text string) string {
	const begin = "\x1b["
	if !strings.Contains(text, begin) {
		return text
	}
	var b strings.Builder
	for {
		k := strings.Index(text, begin)
		if k < 0 {
			b.WriteString(text)
			return b.String()
		}
		end := k + len(begin)
		for end < len(text) {
			r, size := utf8.DecodeRuneInString(text[end:])
			if r != ';' && m.table.Of(r)&chars.Digit == 0 {
				break
			}
			end += size
		}
		if end < len(text) && isLetter(rune(text[end])) {
			b.WriteString(text[:k])
			text = text[end+1:]
			continue
		}
		b.WriteString(text[:k+1]) // ESC alone
		text = text[k+1:]
	}
}

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

// removeControls removes control characters that are no white space, and a few
// invisible ones.
func removeControls(text string) string {
	return strings.Map(func(r rune) rune {
		if removed(r) {
			return -1
		}
		return r
	}, text)
}

func removed(r rune) bool {
	return r < 9 || r == 0x0B || 0x0E <= r && r < 0x20 || r == 0x7F || 0x206A <= r && r <= 0x206F || r == 0xFEFF || 0xFFF9 <= r && r <= 0xFFFC
}
