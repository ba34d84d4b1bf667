package bytebpe

import (
	"unicode/utf8"
	"unsafe"

	"espalier/tokenize/chars"
	"espalier/tokenize/memo"
	"espalier/tokenize/merge"
	"espalier/tokenize/model"
)

type encoder struct {
	m *Model
	merge.Merger
	front memo.Front
	ids   []int32
	low   []byte // a word in lower case
}

func (m *Model) splitter() splitter {
	return splitter{m.table, m.pattern == GPT2Python || m.pattern == CLIP, m.suffixed(), m.folds}
}

// next returns the word at or, if white space goes, behind text[i], and its id if
// it is a special token's name, else -1. An empty word is the text's end. Before
// limit, which is kept from call to call, a name that is cut into words is not
// over.
func (m *Model) next(s *splitter, text string, i int, limit *int) (from, to int, id int32) {
	if i < *limit {
		text = text[:*limit]
	}
	if !m.suffixed() {
		return i, s.gpt2(text, i), -1
	}
	for {
		if i == len(text) {
			return i, i, -1
		}
		class, size := s.at(text, i)
		if class != chars.White {
			break
		}
		i += size
	}
	if text[i] == '<' && m.names != nil {
		if n, id := named(m.names, text, i, m.folds); n > 0 && !m.apart {
			return i, i + n, id
		} else if id >= 0 && i >= *limit {
			*limit = i + n
			text = text[:i+n]
		}
	}
	return i, s.clip(text, i), -1
}

// Append appends the ids of a text.
func (e *encoder) Append(ids []int32, text string) []int32 {
	m := e.m
	if !m.suffixed() {
		return e.words(ids, text, 0, len(text), false)
	}
	for i := 0; i < len(text); { // no word goes on behind a blank
		if text[i] == ' ' {
			i++
			continue
		}
		j := memo.End(text, i, ' ')
		var hash uint64
		var ok bool
		if ids, hash, ok = e.front.Append(m.words, ids, text, i, j); !ok {
			from := len(ids)
			ids = e.words(ids, text, i, j, true)
			m.words.Add(text, i, j, hash, ids[from:], 0)
		}
		i = j
	}
	return ids
}

// words appends the ids of text[i:j], whose ends no word crosses, word by word.
// Sought says that all of it was looked for in the memory in vain.
func (e *encoder) words(ids []int32, text string, i, j int, sought bool) []int32 {
	m := e.m
	s := m.splitter()
	limit := 0
	for at, start, text := i, i, text[:j]; at < len(text); {
		i, j, id := m.next(&s, text, at, &limit)
		at = j
		if i == j {
			break
		}
		if id >= 0 {
			ids = append(ids, id)
			continue
		}
		if sought && i == start && j == len(text) {
			return e.fold(ids, text, i, j)
		}
		var hash uint64
		var ok bool
		if ids, hash, ok = e.front.Append(m.words, ids, text, i, j); ok {
			continue
		}
		from := len(ids)
		ids = e.fold(ids, text, i, j)
		m.words.Add(text, i, j, hash, ids[from:], 0)
	}
	return ids
}

// fold appends the ids of the word text[i:j], in lower case if the model folds.
func (e *encoder) fold(ids []int32, text string, i, j int) []int32 {
	if e.m.folds {
		for k := i; k < j; k++ {
			if c := text[k]; 'A' <= c && c <= 'Z' {
				e.low = append(e.low[:0], text[i:j]...)
				for k, c := range e.low {
					if 'A' <= c && c <= 'Z' {
						e.low[k] = c + 'a' - 'A'
					}
				}
				return e.word(ids, unsafe.String(&e.low[0], len(e.low)), 0, len(e.low))
			}
		}
	}
	return e.word(ids, text, i, j)
}

// word appends the ids of the word text[i:j].
func (e *encoder) word(ids []int32, text string, i, j int) []int32 {
	m, from := e.m, len(ids)
	for k := i; k < j-1; k++ {
		ids = append(ids, m.single[text[k]])
	}
	ids = append(ids, m.last[text[j-1]])
	return ids[:from+len(e.Merge(m.merges, ids[from:], nil))]
}

// AppendTokens appends the tokens of a text. The place of a token is that of the
// characters it has a byte of.
func (e *encoder) AppendTokens(tokens []model.Token, text string) []model.Token {
	m := e.m
	s := m.splitter()
	limit := 0
	for at := 0; at < len(text); {
		i, j, id := m.next(&s, text, at, &limit)
		at = j
		if i == j {
			break
		}
		if id >= 0 {
			tokens = append(tokens, model.Token{ID: id, Start: int32(i), End: int32(j), Piece: m.vocab[id]})
			continue
		}
		e.ids = e.fold(e.ids[:0], text, i, j)
		for _, id := range e.ids {
			end := min(i+len(m.bytes[id]), j) // without the suffix
			tokens = append(tokens, model.Token{
				ID: id, Start: int32(whole(text, i, -1)), End: int32(whole(text, end, 1)), Piece: m.vocab[id],
			})
			i = end
		}
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
