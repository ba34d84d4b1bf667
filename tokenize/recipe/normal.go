package recipe

import (
	"strings"
	"unicode/utf8"

	"espalier/tokenize/chars"
	"espalier/tokenize/pattern"
	"espalier/tokenize/spm"
)

// A normalizer changes the text of a work.
type normalizer interface{ normalize(w *work) }

// clean drops control characters and makes white space blanks, as BERT does.
type clean struct{}

func (clean) normalize(w *work) {
	w.begin(0)
	for i := 0; i < len(w.text); {
		r, size := utf8.DecodeRune(w.text[i:])
		switch w.t.table.Of(r).FastBert() {
		case chars.Drop:
			w.drop(size)
		case chars.Blank:
			w.put(' ', 0)
		default:
			w.keep(size)
		}
		i += size
	}
	w.end()
}

// ideographs puts blanks round ideographs.
type ideographs struct{}

func (ideographs) normalize(w *work) {
	if w.ascii() {
		return
	}
	w.begin(0)
	for i := 0; i < len(w.text); {
		r, size := utf8.DecodeRune(w.text[i:])
		if w.t.table.Of(r).FastBert() == chars.Ideograph {
			w.put(' ', 0)
			w.put(r, 1)
			w.put(' ', 1)
		} else {
			w.keep(size)
		}
		i += size
	}
	w.end()
}

type lowercase struct{}

func (lowercase) normalize(w *work) {
	plain := true
	for i, c := range w.text {
		if c >= utf8.RuneSelf {
			plain = false
			break
		}
		if 'A' <= c && c <= 'Z' {
			w.text[i] = c + 'a' - 'A'
		}
	}
	if plain {
		return
	}
	w.begin(0)
	for i := 0; i < len(w.text); {
		r, size := utf8.DecodeRune(w.text[i:])
		switch {
		case r == 0x130:
			w.put('i', 0)
			w.put(0x307, 1)
		case r < utf8.RuneSelf || w.t.table.Of(r)&chars.FastHasLower != 0:
			w.put(chars.Lower(r), 0)
		default:
			w.keep(size)
		}
		i += size
	}
	w.end()
}

// form writes the text in a normal form of Unicode, NFD if nothing is said.
type form struct{ chars chars.Form }

func formOf(name string) chars.Form {
	return chars.Form{Compat: strings.HasPrefix(name, "NFK"), Compose: strings.HasSuffix(name, "C")}
}

func (f form) normalize(w *work) {
	if w.ascii() || w.norm.Holds(str(w.text), f.chars) {
		return
	}
	runes, changes := w.norm.Changes(str(w.text), f.chars)
	w.begin(0)
	for i, r := range runes {
		w.put(r, changes[i])
	}
	w.end()
}

// accents drops marks: all, or those without a width, as BERT does.
type accents struct{ spacing bool }

func (a accents) normalize(w *work) {
	if w.ascii() {
		return
	}
	w.begin(0)
	for i := 0; i < len(w.text); {
		r, size := utf8.DecodeRune(w.text[i:])
		drop := pattern.Of(r)&pattern.Accent != 0
		if a.spacing {
			drop = w.t.table.Of(r)&chars.FastMark != 0
		}
		if drop {
			w.drop(size)
		} else {
			w.keep(size)
		}
		i += size
	}
	w.end()
}

// strip drops white space at the ends.
type strip struct{ left, right bool }

func (s strip) normalize(w *work) {
	from, to := 0, len(w.text)
	if s.left {
		from = trimLeft(str(w.text), 0)
	}
	if s.right && from < to {
		to = trimRight(str(w.text), to)
	}
	if from == 0 && to == len(w.text) {
		return
	}
	w.begin(from)
	w.keep(to - from)
	w.end()
}

// nmt is SentencePiece's rule for machine translation.
type nmt struct{}

func (nmt) normalize(w *work) {
	w.begin(0)
	for i := 0; i < len(w.text); {
		r, size := utf8.DecodeRune(w.text[i:])
		switch {
		case 1 <= r && r <= 8 || r == 0xB || 0xE <= r && r <= 0x1F || r == 0x7F || r == 0x8F || r == 0x9F:
			w.drop(size)
		case r == 9 || r == 0xA || r == 0xC || r == 0xD || r == 0x1680 || 0x200B <= r && r <= 0x200F || r == 0x2028 || r == 0x2029 || r == 0x2581 || r == 0xFEFF || r == 0xFFFD:
			w.put(' ', 0)
		default:
			w.keep(size)
		}
		i += size
	}
	w.end()
}

// prepend puts a text before one that is not empty.
type prepend struct{ text string }

func (p prepend) normalize(w *work) {
	if len(w.text) > 0 {
		w.prepend(p.text)
	}
}

// prepend writes a text before what is there. Its first character takes the place
// of the first one, which is new behind it.
func (w *work) prepend(text string) {
	first, _ := utf8.DecodeRune(w.text)
	w.begin(0)
	change := int32(0)
	for _, r := range text {
		w.put(r, change)
		change = 1
	}
	w.put(first, change)
	w.keep(len(w.text) - w.offset)
	w.end()
}

// replace puts a text in the place of what a pattern finds.
type replace struct {
	p    *pattern.Pattern
	text string
}

func (x replace) normalize(w *work) { w.replace(x.p, x.text) }

func (w *work) replace(p *pattern.Pattern, to string) {
	text := str(w.text)
	m := matcher{p: p}
	i, j, ok := m.next(text)
	if !ok {
		return
	}
	w.begin(0)
	for ok {
		w.keep(i - w.offset)
		w.drop(j - i)
		for _, r := range to {
			w.put(r, 1)
		}
		i, j, ok = m.next(text)
	}
	w.keep(len(text) - w.offset)
	w.end()
}

// A matcher goes through the matches of a pattern: none is empty right behind
// the one before.
type matcher struct {
	p    *pattern.Pattern
	at   int
	last int // the last one's end, plus one
}

func (m *matcher) next(text string) (start, end int, ok bool) {
	for m.at <= len(text) {
		if start, end, ok = m.p.Find(text, m.at); !ok {
			return 0, 0, false
		}
		if start == end && m.last == end+1 {
			if m.at = end; end < len(text) {
				_, size := utf8.DecodeRuneInString(text[end:])
				m.at += size
			} else {
				m.at++
			}
			continue
		}
		m.at, m.last = end, end+1
		return start, end, true
	}
	return 0, 0, false
}

// precompiled maps characters as a SentencePiece model's map has it, grapheme
// clusters of less than six bytes as one.
type precompiled struct{ m *spm.CharMap }

func (p precompiled) normalize(w *work) {
	plain := true
	for _, c := range w.text {
		if !p.m.Plain(c) {
			plain = false
			break
		}
	}
	if plain {
		return
	}
	joins := func(r rune) bool {
		return w.t.table.Of(r)&chars.Joins != 0 || r > 0xFFFF && pattern.Of(r)&pattern.Accent != 0
	}
	text := str(w.text)
	w.runes, w.changes = w.runes[:0], w.changes[:0]
	for at := 0; at < len(text); {
		end := spm.Cluster(text, at, joins)
		if end-at < 6 {
			if to, size := p.m.Shortest(text[at:end]); size > 0 {
				w.instead(text[at:end], to)
				at = end
				continue
			}
		}
		for at < end {
			r, size := utf8.DecodeRuneInString(text[at:])
			if to, hit := p.m.Shortest(text[at : at+size]); hit > 0 {
				w.instead(text[at:at+size], to)
			} else {
				w.runes, w.changes = append(w.runes, r), append(w.changes, 0)
			}
			at += size
		}
	}
	w.begin(0)
	for i, r := range w.runes {
		w.put(r, w.changes[i])
	}
	w.end()
}

// instead notes that a text takes the place of another one. As the library has
// it, what is new comes last, and if less is there than before the last of what
// was noted so far takes the place of the rest; at the beginning of a text there
// is nothing that could.
func (w *work) instead(old, to string) {
	for _, r := range to {
		w.runes, w.changes = append(w.runes, r), append(w.changes, 0)
	}
	n := len(w.changes)
	switch more := int32(utf8.RuneCountInString(to) - utf8.RuneCountInString(old)); {
	case more > 0:
		for k := n - int(more); k < n; k++ {
			w.changes[k] = 1
		}
	case more < 0 && n > 0:
		w.changes[n-1] += more
	}
}

// letters writes bytes as characters of the byte alphabet.
type letters struct{}

func (letters) normalize(w *work) {
	w.begin(0)
	for i := 0; i < len(w.text); {
		_, size := utf8.DecodeRune(w.text[i:])
		for k := range size {
			w.put(alphabet[w.text[i+k]], int32(min(k, 1)))
		}
		i += size
	}
	w.end()
}

// blankLetter is the blank in the byte alphabet.
const blankLetter = '\u0120'

// alphabet writes bytes as characters, letterBytes has the byte, plus one, of
// those below U+0144.
var alphabet, letterBytes = func() (a [256]rune, from [0x144]uint16) {
	hidden := rune(0x100)
	for b := range a {
		if '!' <= b && b <= '~' || 0xA1 <= b && b <= 0xAC || 0xAE <= b {
			a[b] = rune(b)
		} else {
			a[b] = hidden
			hidden++
		}
		from[a[b]] = uint16(b) + 1
	}
	return a, from
}()

// alphabetOf writes a text in the byte alphabet.
func alphabetOf(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(alphabet[s[i]])
	}
	return b.String()
}
