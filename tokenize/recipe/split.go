package recipe

import (
	"fmt"
	"sync"
	"unicode/utf8"

	"espalier/tokenize/chars"
	"espalier/tokenize/pattern"
)

// A splitter cuts the parts of a work into smaller ones and may change the text.
type splitter interface{ split(w *work) }

// A behavior says what becomes of what is found.
type behavior int

const (
	removed behavior = iota
	isolated
	contiguous
	withPrevious
	withNext
)

func behaviorOf(name string, otherwise behavior) (behavior, error) {
	switch name {
	case "Removed":
		return removed, nil
	case "Isolated":
		return isolated, nil
	case "Contiguous":
		return contiguous, nil
	case "MergedWithPrevious":
		return withPrevious, nil
	case "MergedWithNext":
		return withNext, nil
	case "":
		if otherwise >= 0 {
			return otherwise, nil
		}
	}
	return 0, fmt.Errorf("behavior: %q is not known", name)
}

// A piecer puts what is found, and what is between, into parts.
type piecer struct {
	w        *work
	behavior behavior
	invert   bool
	before   bool // the last one was found
	n        int  // parts of this one
}

// add adds the next stretch of a part: what was found, or what lies between. Of
// stretches that are joined to the next one, only those are added that begin a
// part.
func (p *piecer) add(from, to int32, found bool) {
	if found = found != p.invert; found && p.behavior == removed {
		p.before = true
		return
	}
	join := false
	switch p.behavior {
	case contiguous:
		join = p.n > 0 && found == p.before
	case withPrevious:
		join = p.n > 0 && found && !p.before
	case withNext:
		join = p.n > 0 && p.before && !found
	default:
	}
	p.before = found
	out := &p.w.otherPart
	if join {
		(*out)[len(*out)-1].to = to
		return
	}
	*out = append(*out, part{from, to, p.w.start(from)})
	p.n++
}

// runs finds characters of a class, one at a time.
type runs struct {
	class    func(r rune) bool
	behavior behavior
}

func whiteClass(r rune) bool { return white(r) }

func punctClass(r rune) bool { return chars.Load().Of(r).FastBert() == chars.Punct }

func numericClass(r rune) bool {
	if r < utf8.RuneSelf {
		return '0' <= r && r <= '9'
	}
	return pattern.Of(r)&pattern.Numeric != 0
}

func (s runs) split(w *work) {
	for _, p := range w.parts {
		out := piecer{w: w, behavior: s.behavior}
		last := p.from
		for i := p.from; i < p.to; {
			r, size := rune(w.text[i]), int32(1)
			if r >= utf8.RuneSelf {
				var n int
				r, n = utf8.DecodeRune(w.text[i:])
				size = int32(n)
			}
			if s.class(r) {
				if last < i {
					out.add(last, i, false)
				}
				out.add(i, i+size, true)
				last = i + size
			}
			i += size
		}
		if last < p.to {
			out.add(last, p.to, false)
		}
	}
}

// words keeps runs of word characters and runs of others that are no white
// space.
type words struct{}

func (words) split(w *work) {
	for _, p := range w.parts {
		begin, kind := p.from, 0 // 1: word, 2: others
		flush := func(i int32) {
			if kind != 0 {
				w.otherPart = append(w.otherPart, part{begin, i, w.start(begin)})
			}
		}
		for i := p.from; i < p.to; {
			r, size := utf8.DecodeRune(w.text[i:])
			k := 2
			if word(r) {
				k = 1
			} else if white(r) {
				k = 0
			}
			if k != kind {
				flush(i)
				begin, kind = i, k
			}
			i += int32(size)
		}
		flush(p.to)
	}
}

// fixed cuts after so many characters.
type fixed struct{ n int }

func (s fixed) split(w *work) {
	for _, p := range w.parts {
		begin, n := p.from, 0
		for i := p.from; i < p.to; {
			_, size := utf8.DecodeRune(w.text[i:])
			i += int32(size)
			if n++; n == s.n || i == p.to {
				w.otherPart = append(w.otherPart, part{begin, i, w.start(begin)})
				begin, n = i, 0
			}
		}
	}
}

// matches finds a pattern.
type matches struct {
	p        *pattern.Pattern
	text     string
	behavior behavior
	invert   bool
}

func (s matches) split(w *work) {
	for _, p := range w.parts {
		w.matches(p, s.p, s.behavior, s.invert)
	}
}

// matches cuts a part.
func (w *work) matches(p part, find *pattern.Pattern, b behavior, invert bool) {
	text := str(w.text[p.from:p.to])
	out := piecer{w: w, behavior: b, invert: invert}
	m := matcher{p: find}
	last := int32(0)
	for {
		i, j, ok := m.next(text)
		if !ok {
			break
		}
		if last < int32(i) {
			out.add(p.from+last, p.from+int32(i), false)
		}
		if i < j {
			out.add(p.from+int32(i), p.from+int32(j), true)
		} else {
			out.before = !invert
		}
		last = int32(j)
	}
	if last < p.to-p.from {
		out.add(p.from+last, p.to, false)
	}
}

// Where a metaspace puts a mark in front.
const (
	schemeAlways = iota
	schemeFirst  // at the beginning of the text
	schemeNever
)

// metaspace writes marks for blanks, puts one in front and cuts before each.
type metaspace struct {
	mark   string
	scheme int
	cut    bool
}

func (s *metaspace) split(w *work) {
	text := str(w.text)
	w.begin(0)
	for _, p := range w.parts {
		from := int32(len(w.other))
		w.offset = int(p.from)
		part := text[p.from:p.to]
		first, size := utf8.DecodeRuneInString(part)
		marked := first == ' ' || part[:size] == s.mark
		if !marked && (s.scheme == schemeAlways || s.scheme == schemeFirst && p.start == 0) {
			for _, r := range s.mark {
				w.put(r, 0)
			}
			w.put(first, 1)
		}
		for w.offset < int(p.to) {
			if text[w.offset] == ' ' {
				for _, r := range s.mark {
					w.put(r, 0)
				}
				continue
			}
			i := w.offset
			for i < int(p.to) && text[i] != ' ' {
				i++
			}
			w.keep(i - w.offset)
		}
		p.from, p.to = from, int32(len(w.other))
		w.otherPart = append(w.otherPart, p)
	}
	w.end()
	if !s.cut {
		return
	}
	w.parts, w.otherPart = w.otherPart, w.parts[:0]
	for _, p := range w.parts {
		begin := p.from
		for i := p.from; i < p.to; {
			if i > begin && hasPrefix(w.text[i:p.to], s.mark) {
				w.otherPart = append(w.otherPart, part{begin, i, w.start(begin)})
				begin = i
			}
			_, size := utf8.DecodeRune(w.text[i:])
			i += int32(size)
		}
		w.otherPart = append(w.otherPart, part{begin, p.to, w.start(begin)})
	}
}

func hasPrefix(b []byte, s string) bool { return len(b) >= len(s) && string(b[:len(s)]) == s }

// byteLevel puts a blank in front, cuts as GPT-2 does and writes bytes as
// characters of the byte alphabet.
type byteLevel struct {
	prefix, cut bool
	last        bool // the model writes in the alphabet
}

const gpt2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

var byteLevelPattern = sync.OnceValue(func() *pattern.Pattern {
	p, err := pattern.Compile(gpt2)
	if err != nil {
		panic("recipe: the pattern of GPT-2")
	}
	return p
})

func (s *byteLevel) split(w *work) {
	if s.prefix {
		w.blanks()
		w.parts, w.otherPart = w.otherPart, w.parts[:0]
	}
	if s.cut {
		p := byteLevelPattern()
		for _, x := range w.parts {
			w.matches(x, p, isolated, false)
		}
	} else {
		w.otherPart = append(w.otherPart, w.parts...)
	}
	if s.last {
		return
	}
	w.begin(0)
	for k := range w.otherPart {
		p := &w.otherPart[k]
		from := int32(len(w.other))
		w.offset = int(p.from)
		for i := p.from; i < p.to; {
			_, size := utf8.DecodeRune(w.text[i:])
			for k := range size {
				w.put(alphabet[w.text[int(i)+k]], int32(min(k, 1)))
			}
			i += int32(size)
		}
		p.from, p.to = from, int32(len(w.other))
	}
	w.end()
}

// blanks puts a blank before parts that do not begin with one.
func (w *work) blanks() {
	w.begin(0)
	for _, p := range w.parts {
		from := int32(len(w.other))
		w.offset = int(p.from)
		if w.text[p.from] != ' ' {
			first, _ := utf8.DecodeRune(w.text[p.from:])
			w.put(' ', 0)
			w.put(first, 1)
		}
		w.keep(int(p.to) - w.offset)
		p.from, p.to = from, int32(len(w.other))
		w.otherPart = append(w.otherPart, p)
	}
	w.end()
}
