package bpe

import (
	"strings"
	"unsafe"

	"espalier/tokenize/memo"
	"espalier/tokenize/model"
	"espalier/tokenize/spm"
)

// An Encoder turns text into ids, for one goroutine at a time.
type Encoder struct {
	m     *Model
	norm  *spm.Normalizer
	buf   []byte
	first []byte // a blank and the first word
	from  []int32
	merger
}

// str is the string of bytes that do not change while it is used.
func str(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Append appends the ids of a text.
func (e *Encoder) Append(ids []int32, text string) []int32 {
	switch {
	case e.m.words == nil || strings.Contains(text, spm.Mark):
	case !e.m.byWord:
		return e.byBlanks(ids, text)
	case e.norm.Prefix:
		return e.byWord(ids, text)
	}
	e.buf = e.norm.Append(e.buf[:0], text)
	return e.pieces(ids, str(e.buf))
}

// byWord appends the ids of a text whose blanks at the ends and runs of blanks
// do not count.
func (e *Encoder) byWord(ids []int32, text string) []int32 {
	for i := 0; i < len(text); {
		if text[i] == ' ' {
			i++
			continue
		}
		j := memo.End(text, i, ' ')
		ids = e.word(ids, text, i, j)
		i = j
	}
	return ids
}

// byBlanks appends the ids of a text of which each blank counts.
func (e *Encoder) byBlanks(ids []int32, text string) []int32 {
	if text == "" {
		return ids
	}
	for i := 0; i < len(text); {
		j := i
		for j < len(text) && text[j] == ' ' {
			j++
		}
		j = memo.End(text, j, ' ')
		if i == 0 && e.norm.Prefix { // as if a blank were before it
			e.first = append(append(e.first[:0], ' '), text[:j]...)
			ids = e.word(ids, str(e.first), 0, len(e.first))
		} else {
			ids = e.word(ids, text, i, j)
		}
		i = j
	}
	return ids
}

// AppendNormal appends the ids of a text in normal form, whose blanks are marks.
func (e *Encoder) AppendNormal(ids []int32, text string) []int32 {
	if e.m.normal == nil {
		return e.pieces(ids, text)
	}
	for i := 0; i < len(text); {
		j := i
		for strings.HasPrefix(text[j:], spm.Mark) {
			j += len(spm.Mark)
		}
		if k := strings.Index(text[j:], spm.Mark); k >= 0 {
			j += k
		} else {
			j = len(text)
		}
		ref, hash := e.m.normal.Find(text, i, j)
		if ref != 0 {
			ids = e.m.normal.Append(ids, ref)
		} else {
			from := len(ids)
			ids = e.pieces(ids, text[i:j])
			e.m.normal.Add(text, i, j, hash, ids[from:], 0)
		}
		i = j
	}
	return ids
}

// word appends the ids of the word text[i:j], blanks before it included if they
// count.
func (e *Encoder) word(ids []int32, text string, i, j int) []int32 {
	words := e.m.words
	ref, hash := words.Find(text, i, j)
	if ref != 0 {
		return words.Append(ids, ref)
	}
	from := len(ids)
	norm := e.norm
	if !e.m.byWord {
		norm = e.m.bare
	}
	e.buf = norm.Append(e.buf[:0], text[i:j])
	ids = e.pieces(ids, str(e.buf))
	words.Add(text, i, j, hash, ids[from:], 0)
	return ids
}

// pieces appends the ids of a text in normal form.
func (e *Encoder) pieces(ids []int32, text string) []int32 {
	e.run(e.m, text)
	from := len(ids)
	for i := int32(0); i >= 0 && len(e.symbols) > 0; i = e.symbols[i].next {
		s := &e.symbols[i]
		ids = e.leaf(ids, from, text[s.start:s.end], s.id)
	}
	return ids
}

// leaf appends the ids of one symbol; those of an unused piece are those of the
// parts it was made of.
func (e *Encoder) leaf(ids []int32, from int, piece string, id int32) []int32 {
	m := e.m
	if id >= 0 && m.Pieces[id].Kind == spm.Unused {
		if parts, ok := e.split[piece]; ok {
			for _, p := range parts {
				ids = e.leaf(ids, from, p, m.find(p, 0, len(p)))
			}
			return ids
		}
	}
	switch {
	case id >= 0:
		return append(ids, id)
	case m.ByteFallback:
		for k := range len(piece) {
			ids = append(ids, m.Bytes[piece[k]])
		}
		return ids
	case len(ids) > from && ids[len(ids)-1] == m.Unk:
		return ids
	}
	return append(ids, m.Unk)
}

// AppendTokens appends the tokens of a text.
func (e *Encoder) AppendTokens(tokens []model.Token, text string) []model.Token {
	e.buf, e.from = e.norm.AppendMapped(e.buf[:0], e.from[:0], text)
	return e.AppendNormalTokens(tokens, string(e.buf), e.from)
}

// AppendNormalTokens is AppendNormal for tokens; from has the place of each byte,
// and of the end.
func (e *Encoder) AppendNormalTokens(tokens []model.Token, normal string, from []int32) []model.Token {
	e.run(e.m, normal)
	first := len(tokens)
	at := 0
	var put func(piece string, id int32)
	put = func(piece string, id int32) {
		if id >= 0 && e.m.Pieces[id].Kind == spm.Unused {
			if parts, ok := e.split[piece]; ok {
				for _, p := range parts {
					put(p, e.m.find(p, 0, len(p)))
				}
				return
			}
		}
		if id < 0 {
			id = e.m.Unk
		}
		tokens = append(tokens, model.Token{ID: id, Start: from[at], End: from[at+len(piece)], Piece: piece})
		at += len(piece)
	}
	for i := int32(0); i >= 0 && len(e.symbols) > 0; i = e.symbols[i].next {
		s := &e.symbols[i]
		put(normal[s.start:s.end], s.id)
	}
	return e.m.JoinUnknown(tokens, first, normal)
}
