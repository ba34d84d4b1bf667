package mend

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// An encoding gives each byte a character. A sloppy one gives bytes without one
// the character of that number, and byte 1A U+FFFD.
type encoding struct {
	name   string
	sloppy bool
	high   []rune // of bytes 80 to FF
}

// substitute is the byte that stands for U+FFFD.
const substitute = 0x1A

// inverse has the bytes of each encoding's characters.
var inverse = sync.OnceValue(func() []map[rune]byte {
	maps := make([]map[rune]byte, len(encodings))
	for i, e := range encodings {
		maps[i] = make(map[rune]byte, len(e.high)+1)
		for k, r := range e.high {
			maps[i][r] = byte(0x80 + k)
		}
		if e.sloppy {
			maps[i]['\uFFFD'] = substitute
		}
	}
	return maps
})

// encode returns the bytes of text, if the encoding has all its characters.
func (e *encoding) encode(bytes map[rune]byte, rs []rune) ([]byte, bool) {
	out := make([]byte, 0, len(rs))
	for _, r := range rs {
		if r < 0x80 {
			if r == substitute && e.sloppy {
				return nil, false
			}
			out = append(out, byte(r))
			continue
		}
		b, ok := bytes[r]
		if !ok {
			return nil, false
		}
		out = append(out, b)
	}
	return out, true
}

// cp1252 is the place of the sloppy Windows-1252 among the encodings, Latin-1's
// is 0.
const cp1252 = 1

// windows1252 returns what a C1 control character is in Windows-1252.
func windows1252(r rune) rune { return encodings[cp1252].high[r-0x80] }

// fixEncoding undoes mojibake until nothing changes.
func (m *Mender) fixEncoding(text string) string {
	for {
		next := m.oneStep(text)
		if next == text {
			return text
		}
		text = next
	}
}

// oneStep undoes one layer of mojibake.
func (m *Mender) oneStep(text string) string {
	if isASCII(text) {
		return text
	}
	rs := []rune(text)
	if !m.isBad(rs) {
		return text
	}
	latin1 := false
	for i := range encodings {
		b, ok := encodings[i].encode(inverse()[i], rs)
		if !ok {
			continue
		}
		latin1 = latin1 || i == 0
		if encodings[i].name != "macroman" {
			b = restoreA0(b)
		}
		if encodings[i].sloppy {
			b = replaceLossy(b)
		}
		if s, ok := decode(b); ok {
			return s
		}
	}
	if s, ok := m.embedded(rs); ok && s != text {
		return s
	}
	if latin1 {
		if s, ok := fromWindows1252(rs); ok && s != text {
			return s
		}
	}
	if i := strings.IndexFunc(text, isC1); i >= 0 {
		return strings.Map(func(r rune) rune {
			if isC1(r) {
				return windows1252(r)
			}
			return r
		}, text)
	}
	return text
}

func isC1(r rune) bool { return 0x80 <= r && r < 0xA0 }

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

// fromWindows1252 takes Latin-1 characters for Windows-1252 bytes; bytes without
// a character there spoil it.
func fromWindows1252(rs []rune) (string, bool) {
	var b strings.Builder
	for _, r := range rs {
		if isC1(r) {
			if strings.IndexByte(undefined, byte(r)) >= 0 {
				return "", false
			}
			r = windows1252(r)
		}
		b.WriteRune(r)
	}
	return b.String(), true
}

// between reports whether b[i] is there and in a range.
func between(b []byte, i int, from, to byte) bool { return i < len(b) && from <= b[i] && b[i] <= to }

// restoreA0 puts byte A0 back where a blank has taken its place in what would be
// UTF-8 with it. A lone C3 and a blank are taken for a whole word, à, but for
// the beginnings of some Portuguese ones.
func restoreA0(b []byte) []byte {
	if !altered(b) {
		return b
	}
	out := make([]byte, 0, len(b)+8)
	for i := 0; i < len(b); i++ {
		out = append(out, b[i])
		if b[i] != 0xC3 || !between(b, i+1, ' ', ' ') {
			continue
		}
		word := true
		for _, w := range []string{" ", "quele", "quela", "quilo", "s "} {
			word = word && !strings.HasPrefix(string(b[i+2:min(len(b), i+7)]), w)
		}
		if word {
			out = append(out, 0xA0, ' ')
			i++
		}
	}
	for i := 0; i < len(out); i++ {
		n := alteredAt(out, i)
		for k := i; k < i+n; k++ {
			if out[k] == ' ' {
				out[k] = 0xA0
			}
		}
		i += max(n-1, 0)
	}
	return out
}

func altered(b []byte) bool {
	for i := range b {
		if alteredAt(b, i) > 0 {
			return true
		}
	}
	return false
}

// alteredAt returns the length of the UTF-8 sequence at b[i] of which one byte,
// A0, is a blank; 0 if there is none.
func alteredAt(b []byte, i int) int {
	blank := func(k int) bool { return between(b, i+k, ' ', ' ') }
	cont := func(k int) bool { return between(b, i+k, 0x80, 0xBF) }
	some := func(k int) bool { return cont(k) && b[i+k] != 0x85 && b[i+k] != 0xA0 }
	switch c := b[i]; {
	case c == 0xC2 || c == 0xC3 || c == 0xC5 || c == 0xCE || c == 0xD0 || c == 0xD9:
		if blank(1) {
			return 2
		}
	case 0xE0 <= c && c <= 0xE3:
		if c >= 0xE2 && blank(1) && some(2) || some(1) && blank(2) {
			return 3
		}
	case c == 0xF0:
		if blank(1) && cont(2) && cont(3) || cont(1) && blank(2) && cont(3) || cont(1) && cont(2) && blank(3) {
			return 4
		}
	}
	return 0
}

// replaceLossy replaces UTF-8 sequences of which bytes were lost, which byte 1A
// stands for, sometimes a question mark, by U+FFFD.
func replaceLossy(b []byte) []byte {
	var out []byte
	from := 0
	for i := 0; i < len(b); {
		n := lossyAt(b, i)
		if n == 0 {
			i++
			continue
		}
		out = append(append(out, b[from:i]...), "\uFFFD"...)
		i += n
		from = i
	}
	if from == 0 {
		return b
	}
	return append(out, b[from:]...)
}

// lossyAt returns the length of the sequence at b[i] that lost bytes, 0 if there
// is none.
func lossyAt(b []byte, i int) int {
	lost := func(k int) bool { return between(b, i+k, substitute, substitute) || between(b, i+k, '?', '?') }
	kept := func(k int) bool {
		return between(b, i+k, substitute, substitute) || between(b, i+k, 0x80, 0xBF)
	}
	any := func(k int) bool { return lost(k) || kept(k) }
	switch c := b[i]; {
	case c == substitute:
		return 1
	case 0xC2 <= c && c <= 0xDF:
		if between(b, i+1, substitute, substitute) || c <= 0xC3 && between(b, i+1, '?', '?') {
			return 2
		}
	case 0xE0 <= c && c <= 0xEF:
		if c == 0xED && between(b, i+1, 0xA0, 0xAF) && between(b, i+3, 0xED, 0xED) && between(b, i+4, 0xB0, 0xBF) {
			if lost(2) && any(5) || any(2) && lost(5) {
				return 6
			}
		}
		if lost(1) && kept(2) || kept(1) && lost(2) {
			return 3
		}
	case 0xF0 <= c && c <= 0xF4:
		if lost(1) && kept(2) && kept(3) || kept(1) && lost(2) && kept(3) || kept(1) && kept(2) && lost(3) {
			return 4
		}
	}
	return 0
}

// decode reads UTF-8. If a byte ED or C0 is there it may have surrogate pairs of
// three bytes each, and U+0000 in two bytes.
func decode(b []byte) (string, bool) {
	if utf8.Valid(b) {
		return string(b), true
	}
	var out strings.Builder
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		switch {
		case r != utf8.RuneError || size == 3:
			out.WriteRune(r)
			i += size
		case b[i] == 0xC0 && between(b, i+1, 0x80, 0x80):
			out.WriteByte(0)
			i += 2
		case between(b, i, 0xED, 0xED) && between(b, i+1, 0xA0, 0xAF) && between(b, i+2, 0x80, 0xBF) &&
			between(b, i+3, 0xED, 0xED) && between(b, i+4, 0xB0, 0xBF) && between(b, i+5, 0x80, 0xBF):
			r := rune(b[i+1]&0x0F)<<16 + rune(b[i+2]&0x3F)<<10 + rune(b[i+4]&0x0F)<<6 + rune(b[i+5]&0x3F) + 0x10000
			out.WriteRune(r)
			i += 6
		default:
			return "", false
		}
	}
	return out.String(), true
}

// embedded fixes sequences that look like UTF-8 read in another encoding and are
// bad by themselves; ok tells whether there are any that look so.
func (m *Mender) embedded(rs []rune) (_ string, ok bool) {
	var b strings.Builder
	from := 0
	for i := 0; i < len(rs); {
		end := i
		if i == 0 || class(rs[i-1])&continuationStrict == 0 {
			end = lookalike(rs, i)
		}
		if end == i {
			i++
			continue
		}
		ok = true
		part := rs[i:end]
		if len(part) < len(rs) && m.isBad(part) {
			b.WriteString(string(rs[from:i]))
			b.WriteString(m.fixEncoding(string(part)))
			from = end
		}
		i = end
	}
	b.WriteString(string(rs[from:]))
	return b.String(), ok
}

// lookalike returns the end of the sequences at rs[i] that look like UTF-8.
func lookalike(rs []rune, i int) int {
	cont := func(k, n int) bool {
		for ; n > 0; n, k = n-1, k+1 {
			if k >= len(rs) || rs[k] != ' ' && class(rs[k])&continuation == 0 {
				return false
			}
		}
		return true
	}
	for i < len(rs) {
		k := class(rs[i])
		switch {
		case k&lead2 != 0 && cont(i+1, 1):
			i += 2
		case k&lead3 != 0 && cont(i+1, 2):
			i += 3
		case k&lead4 != 0 && cont(i+1, 3):
			i += 4
		default:
			return i
		}
	}
	return i
}
