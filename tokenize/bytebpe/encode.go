package bytebpe

import (
	"unicode/utf8"

	"espalier/tokenize/chars"
	"espalier/tokenize/memo"
	"espalier/tokenize/model"
)

type encoder struct {
	m *Model
	merger
	ids []int32
}

func (m *Model) splitter() splitter {
	return splitter{m.table, m.pattern == GPT2Python || m.pattern == CLIP}
}

// Append appends the ids of a text.
func (e *encoder) Append(ids []int32, text string) []int32 {
	m := e.m
	s := m.splitter()
	clip := m.suffixed()
	for i := 0; i < len(text); {
		var j int
		if clip {
			if class, size := s.at(text, i); class == chars.White {
				i += size
				continue
			}
			j = s.clip(text, i)
		} else {
			j = s.gpt2(text, i)
		}
		ref, hash := m.words.Find(text, i, j)
		if ref != 0 {
			ids = m.words.Append(ids, ref)
		} else {
			from := len(ids)
			ids = e.word(m, ids, text, i, j)
			if j-i <= memo.MaxKey {
				m.words.Add(text, i, j, hash, ids[from:], 0)
			}
		}
		i = j
	}
	return ids
}

// AppendTokens appends the tokens of a text. The place of a token is that of the
// characters it has a byte of.
func (e *encoder) AppendTokens(tokens []model.Token, text string) []model.Token {
	m := e.m
	s := m.splitter()
	for i := 0; i < len(text); {
		var j int
		if m.suffixed() {
			if class, size := s.at(text, i); class == chars.White {
				i += size
				continue
			}
			j = s.clip(text, i)
		} else {
			j = s.gpt2(text, i)
		}
		e.ids = e.word(m, e.ids[:0], text, i, j)
		at := i
		for _, id := range e.ids {
			end := min(at+len(m.bytes[id]), j) // without the suffix
			tokens = append(tokens, model.Token{
				ID: id, Start: int32(whole(text, at, -1)), End: int32(whole(text, end, 1)), Piece: m.vocab[id],
			})
			at = end
		}
		i = j
	}
	return tokens
}

// whole moves a place inside a character to its beginning or end.
func whole(text string, at, step int) int {
	if at == len(text) || utf8.RuneStart(text[at]) {
		return at
	}
	start := at
	for start > 0 && at-start < utf8.UTFMax && !utf8.RuneStart(text[start]) {
		start--
	}
	if r, size := utf8.DecodeRuneInString(text[start:]); r == utf8.RuneError && size == 1 || start+size <= at {
		return at
	} else if step > 0 {
		return start + size
	}
	return start
}
