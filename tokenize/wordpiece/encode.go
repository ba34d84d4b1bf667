package wordpiece

import (
	"unicode/utf8"
	"unsafe"

	"espalier/tokenize/chars"
	"espalier/tokenize/memo"
	"espalier/tokenize/model"
)

// A unit is a character of the cleaned text and the part of the text it comes
// from.
type unit struct {
	r          rune
	start, end int32
}

type encoder struct {
	m     *Model
	front memo.Front
	norm  *chars.Normalizer
	units []unit // between two blanks
	one   [1]unit
	more  []unit
	buf   []byte
	ends  []int32 // of a word's characters, in bytes

	ids    []int32
	tokens []model.Token
	spans  bool // tokens are wanted, else ids
}

// str is the string of bytes that do not change while it is used.
func str(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Append appends the ids of a text, none of them special.
func (e *encoder) Append(ids []int32, text string) []int32 {
	words := e.m.words
	for i := 0; i < len(text); {
		if text[i] == ' ' {
			i++
			continue
		}
		j := memo.End(text, i, ' ')
		var hash uint64
		var ok bool
		if ids, hash, ok = e.front.Append(words, ids, text, i, j); !ok {
			from := len(ids)
			e.ids, e.spans = ids, false
			e.chunk(text, i, j)
			ids, e.ids = e.ids, nil
			words.Add(text, i, j, hash, ids[from:], 0)
		}
		i = j
	}
	return ids
}

// AppendTokens appends the tokens of a text. In the fast classes' way each has
// the place of its first to its last character; in the slow one's, which has no
// places, the same but for composed characters, which have the place of the
// whole word.
func (e *encoder) AppendTokens(tokens []model.Token, text string) []model.Token {
	e.tokens, e.spans = tokens, true
	e.chunk(text, 0, len(text))
	tokens, e.tokens = e.tokens, nil
	return tokens
}

// chunk encodes text[i:j].
func (e *encoder) chunk(text string, i, j int) {
	t := e.m.table
	slow, ideographs := e.m.opt.Slow, !e.m.opt.NoIdeographs
	lower := e.m.opt.Lower
	e.units = e.units[:0]
	for i < j {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:j])
		}
		u := unit{r, int32(i), int32(i + size)}
		i += size
		if e.m.han != nil && firstHan <= r && r <= lastHan {
			e.flush()
			e.one[0] = u
			e.put(e.m.han[r-firstHan], e.one[:])
			continue
		}
		class := chars.Plain
		if slow {
			if lower {
				if r == 0x130 { // its lower case is two characters
					e.units = append(e.units, unit{'i', u.start, u.end}, unit{0x307, u.start, u.end})
					continue
				}
				if t.Of(r)&chars.HasLower != 0 {
					u.r = chars.Lower(r)
				}
			}
			class = t.Of(u.r).SlowBert()
		} else {
			class = t.Of(r).FastBert()
		}
		switch {
		case class == chars.Drop:
		case class == chars.Blank:
			e.flush()
		case class == chars.Ideograph && ideographs:
			e.flush()
			e.units = append(e.units, u)
			e.flush()
		default:
			e.units = append(e.units, u)
		}
	}
	e.flush()
}

// flush encodes the characters gathered since the last blank.
func (e *encoder) flush() {
	if len(e.units) == 0 {
		return
	}
	switch {
	case e.m.strip:
		e.stripAccents()
	case e.m.opt.Slow:
		e.compose()
	}
	if e.m.opt.Lower && !e.m.opt.Slow {
		e.lower()
	}
	t := e.m.table
	start := 0
	for k, u := range e.units {
		p := t.Of(u.r)
		punct := p.FastBert() == chars.Punct
		if e.m.opt.Slow {
			punct = p.SlowBert() == chars.Punct
		}
		if punct {
			e.word(e.units[start:k])
			e.word(e.units[k : k+1])
			start = k + 1
		}
	}
	e.word(e.units[start:])
	e.units = e.units[:0]
}

// any reports whether a gathered character has one of the properties.
func (e *encoder) any(p chars.Props) bool {
	for _, u := range e.units {
		if u.r >= 0xC0 && e.m.table.Of(u.r)&p != 0 {
			return true
		}
	}
	return false
}

func (e *encoder) text() string {
	e.buf = e.buf[:0]
	for _, u := range e.units {
		e.buf = utf8.AppendRune(e.buf, u.r)
	}
	return str(e.buf)
}

// stripAccents decomposes the gathered characters and drops non-spacing marks. A
// character that is the first of those that another became has the next place of
// the text, the others that of the character before, whatever order they are put
// in: so the fast classes count.
func (e *encoder) stripAccents() {
	if !e.any(chars.Decomposes | chars.Combines | chars.Mark | chars.FastMark) {
		return
	}
	mark := chars.FastMark
	if e.m.opt.Slow {
		mark = chars.Mark
	}
	runes, fresh := e.norm.NFD(e.text())
	e.more = e.more[:0]
	at := -1
	for k, r := range runes {
		if fresh[k] {
			at++
		}
		if e.m.table.Of(r)&mark == 0 {
			u := e.units[max(at, 0)]
			e.more = append(e.more, unit{r, u.start, u.end})
		}
	}
	e.units, e.more = e.more, e.units
}

// compose writes the gathered characters in NFC, all with the place of the whole
// if anything changes.
func (e *encoder) compose() {
	if !e.any(chars.Composes) {
		return
	}
	place := unit{start: e.units[0].start, end: e.units[len(e.units)-1].end}
	s := string(e.norm.AppendNFC(nil, e.text()))
	e.units = e.units[:0]
	for _, r := range s {
		e.units = append(e.units, unit{r, place.start, place.end})
	}
}

func (e *encoder) lower() {
	long := false
	for k := range e.units {
		u := &e.units[k]
		if u.r < utf8.RuneSelf {
			if 'A' <= u.r && u.r <= 'Z' {
				u.r += 'a' - 'A'
			}
			continue
		}
		if e.m.table.Of(u.r)&chars.FastHasLower != 0 {
			long = long || u.r == 0x130
			if u.r != 0x130 {
				u.r = chars.Lower(u.r)
			}
		}
	}
	if !long {
		return
	}
	e.more = e.more[:0]
	for _, u := range e.units {
		if u.r == 0x130 {
			e.more = append(e.more, unit{'i', u.start, u.end})
			u.r = 0x307
		}
		e.more = append(e.more, u)
	}
	e.units, e.more = e.more, e.units
}

// word encodes one word.
func (e *encoder) word(units []unit) {
	if len(units) == 0 {
		return
	}
	m := e.m
	first, firstToken := len(e.ids), len(e.tokens)
	if len(units) > maxWord {
		e.put(m.unknown, units)
		return
	}
	e.buf, e.ends = e.buf[:0], e.ends[:0]
	for _, u := range units {
		e.buf = utf8.AppendRune(e.buf, u.r)
		e.ends = append(e.ends, int32(len(e.buf)))
	}
	text := str(e.buf)
	at, from := 0, 0 // bytes and characters done
	index, longest := m.first, m.longest[0]
	for at < len(text) {
		k, id := len(units), int32(-1)
		for ; k > from; k-- {
			end := int(e.ends[k-1])
			if end-at > longest {
				continue
			}
			if id = index.Find(text, at, end); id >= 0 {
				break
			}
		}
		if k == from {
			e.ids, e.tokens = e.ids[:first], e.tokens[:firstToken]
			e.put(m.unknown, units)
			return
		}
		e.put(id, units[from:k])
		at, from = int(e.ends[k-1]), k
		index, longest = m.rest, m.longest[1]
	}
}

func (e *encoder) put(id int32, units []unit) {
	if !e.spans {
		e.ids = append(e.ids, id)
		return
	}
	e.tokens = append(e.tokens, model.Token{ID: id, Start: units[0].start, End: units[len(units)-1].end, Piece: e.m.vocab[id]})
}
