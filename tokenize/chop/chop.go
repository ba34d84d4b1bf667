// Package chop has SentencePiece's models of type word and char: a text is cut
// before each blank, or into characters, and what is no piece is unknown.
//
// User-defined pieces are found inside words by the char type only; control
// pieces are never found. A [Model] is immutable and safe for concurrent use;
// ill-formed UTF-8 becomes one U+FFFD a byte.
package chop

import (
	"fmt"
	"strings"
	"unicode/utf8"
	"unsafe"

	"espalier/tokenize/model"
	"espalier/tokenize/spm"
	"espalier/tokenize/trie"
)

// A Model encodes with a SentencePiece model of type word or char.
type Model struct {
	*spm.Model
	users *trie.Trie // of the char type; nil if there are none
}

var _ model.Tokenizer = (*Model)(nil)

// New returns an encoder's model of a SentencePiece model of type word or char.
func New(m *spm.Model) (*Model, error) {
	if m.Type != spm.Word && m.Type != spm.Char {
		return nil, fmt.Errorf("chop: model of type %d, want %d or %d", m.Type, spm.Word, spm.Char)
	}
	c := &Model{Model: m}
	var users []string
	for _, p := range m.Pieces {
		if p.Kind == spm.User && m.Type == spm.Char {
			users = append(users, p.Text)
		}
	}
	if users == nil {
		return c, nil
	}
	var err error
	if c.users, err = trie.New(users); err != nil {
		return nil, fmt.Errorf("chop: %w", err)
	}
	return c, nil
}

// Size returns the number of ids.
func (m *Model) Size() int { return len(m.Pieces) }

// Piece returns the text of a piece.
func (m *Model) Piece(id int32) string {
	if id < 0 || int(id) >= len(m.Pieces) {
		return ""
	}
	return m.Pieces[id].Text
}

// NewDecoder returns a decoder at the beginning of a text.
func (m *Model) NewDecoder() model.Decoder { return m.Model.NewDecoder() }

// NewEncoder returns an encoder for one goroutine.
func (m *Model) NewEncoder() model.Encoder { return &encoder{m: m} }

// next returns where the part of a text in normal form that begins at a place
// ends, and its id.
func (m *Model) next(normal string, at int) (end int, id int32) {
	if m.Type == spm.Char {
		size := 0
		if m.users != nil {
			size, _ = m.users.Longest(normal[at:])
		}
		if size == 0 {
			_, size = utf8.DecodeRuneInString(normal[at:])
		}
		end = at + size
	} else {
		_, size := utf8.DecodeRuneInString(normal[at:])
		end = len(normal)
		if k := strings.Index(normal[at+size:], spm.Mark); k >= 0 {
			end = at + size + k
		}
	}
	id = m.Index.Find(normal, at, end)
	if id < 0 || m.Pieces[id].Kind == spm.Control {
		id = m.Unk
	}
	return end, id
}

type encoder struct {
	m    *Model
	buf  []byte
	from []int32
}

// Append appends the ids of a text.
func (e *encoder) Append(ids []int32, text string) []int32 {
	m := e.m
	e.buf = m.Norm.Append(e.buf[:0], text)
	normal := unsafe.String(unsafe.SliceData(e.buf), len(e.buf)) // the buffer stays as it is meanwhile
	unknown := false                                             // is before
	for at := 0; at < len(normal); {
		end, id := m.next(normal, at)
		switch {
		case id != m.Unk:
			ids = append(ids, id)
		case m.ByteFallback:
			for ; at < end; at++ {
				ids = append(ids, m.Bytes[normal[at]])
			}
		case !unknown:
			ids = append(ids, id)
		}
		at, unknown = end, id == m.Unk
	}
	return ids
}

// AppendTokens appends the tokens of a text.
func (e *encoder) AppendTokens(tokens []model.Token, text string) []model.Token {
	e.buf, e.from = e.m.Norm.AppendMapped(e.buf[:0], e.from[:0], text)
	normal := string(e.buf)
	first := len(tokens)
	for at := 0; at < len(normal); {
		end, id := e.m.next(normal, at)
		tokens = append(tokens, model.Token{ID: id, Start: e.from[at], End: e.from[end], Piece: normal[at:end]})
		at = end
	}
	return e.m.JoinUnknown(tokens, first, normal)
}
