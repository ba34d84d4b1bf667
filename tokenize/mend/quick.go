package mend

import (
	"sync"
	"unicode/utf8"
	"unsafe"

	"espalier/tokenize/chars"
)

// What the quick repair does about a character below U+10000; of those beyond,
// only composition counts.
const (
	keep    = 0   // nothing
	look    = 1   // it may be part of mojibake
	give    = 2   // it cannot tell
	replace = ' ' // from here on: the ASCII character that takes its place
)

// kinds has what the quick repair does about each character.
var kinds = sync.OnceValue(func() *[0x10000]uint8 {
	kinds, table := new([0x10000]uint8), chars.Load()
	for i := range kinds {
		r := rune(i)
		switch by := ascii(r); {
		case r < utf8.RuneSelf && (r == 0x7F || r < ' ' && r != '\t' && r != '\n' || r == '&'):
			kinds[i] = give
		case r < utf8.RuneSelf:
		case removed(r) || table.Of(r)&chars.Composes != 0 || replaceable(r) && by == 0 || by == '&':
			kinds[i] = give
		case replaceable(r):
			kinds[i] = by
		case class(r) != 0:
			kinds[i] = look
		}
	}
	return kinds
})

// ascii returns the visible ASCII character or blank that is always put in the
// place of a character, 0 if there is none.
func ascii(r rune) byte {
	switch {
	case r == 0x2BC || 0x2018 <= r && r <= 0x201B:
		return '\''
	case 0x201C <= r && r <= 0x201F:
		return '"'
	case len(widths[r]) == 1:
		return widths[r][0]
	}
	return 0
}

// quick is segment for a line in which nothing is to be done but to put ASCII
// characters in the place of others, as most curly quotes and full-width
// punctuation want; its second result is false if it cannot tell. The first is
// valid until the next call.
//
// It is what segment does: of a line without entities, without control and
// removed characters and without any that take part in composition, all steps but
// the second and third change nothing; the second changes nothing if no sequence
// is bad; and they change nothing in what comes out if none is bad there either.
func (m *Mender) quick(text string) (string, bool) {
	kinds := kinds()
	m.buf = m.buf[:0]
	from, before, behind := 0, false, false // of the text, of what comes out: characters to look at
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			if kinds[c] != keep {
				return "", false
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if size == 1 {
			return "", false
		}
		if r > 0xFFFF {
			if m.table.Of(r)&chars.Composes != 0 {
				return "", false
			}
			i += size
			continue
		}
		switch k := kinds[r]; k {
		case keep:
		case look:
			before, behind = true, true
		case give:
			return "", false
		default:
			before = before || class(r) != 0
			m.buf = append(append(m.buf, text[from:i]...), k)
			from = i + size
		}
		i += size
	}
	if before && m.bad(text) {
		return "", false
	}
	if from == 0 {
		return text, true
	}
	m.buf = append(m.buf, text[from:]...)
	out := unsafe.String(unsafe.SliceData(m.buf), len(m.buf))
	if behind && m.bad(out) {
		return "", false
	}
	return out, true
}

// bad is isBad for a text.
func (m *Mender) bad(text string) bool {
	m.runes = m.runes[:0]
	for _, r := range text {
		m.runes = append(m.runes, r)
	}
	return m.isBad(m.runes)
}
