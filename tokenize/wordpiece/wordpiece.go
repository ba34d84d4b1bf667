// Package wordpiece is BERT's tokenizer: text is cleaned, ideographs and
// punctuation become words of their own, accents and case go if asked, and each
// word is cut, from the left, into the longest pieces that the vocabulary has.
//
// Two references are followed. The fast one is the tokenizers library, which
// everybody uses; the slow one the classes written in Python, which differ in
// what they drop, in composing characters (NFC) and in newer Unicode tables. A
// [Model] is immutable but for its memory of words and safe for concurrent use.
// Each byte that is not UTF-8 counts as U+FFFD, which BERT drops.
package wordpiece

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"espalier/tokenize/chars"
	"espalier/tokenize/memo"
	"espalier/tokenize/model"
)

// MaxPiece is the longest line of a vocabulary that is read, in bytes.
const MaxPiece = 4096

// maxWord is the length, in characters, from which a word is unknown.
const maxWord = 100

// Options say what is done before words are cut into pieces. The zero value is
// the cased fast tokenizer.
type Options struct {
	Lower        bool
	StripAccents *bool  // nil: as Lower says
	NoIdeographs bool   // ideographs are letters like others
	Slow         bool   // as the classes written in Python do it
	Unknown      string // the unknown piece; default [UNK]
}

// A Model encodes with a vocabulary.
type Model struct {
	vocab   []string
	opt     Options
	strip   bool
	unknown int32
	table   *chars.Table
	first   *memo.Index // pieces that begin a word
	rest    *memo.Index // others, without ##
	longest [2]int      // bytes of the longest piece of each
	words   *memo.Table
	han     []int32 // ids of ideographs from firstHan on; nil: they are no words
}

var _ model.Tokenizer = (*Model)(nil)

// ReadVocab reads a vocab.txt: a piece a line, whose number is its id.
func ReadVocab(r io.Reader) ([]string, error) {
	var vocab []string
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 2*MaxPiece), 2*MaxPiece)
	s.Split(func(data []byte, end bool) (int, []byte, error) {
		if k := bytes.IndexByte(data, '\n'); k >= 0 {
			return k + 1, data[:k], nil
		}
		if end && len(data) > 0 {
			return len(data), data, nil
		}
		return 0, nil, nil
	})
	for s.Scan() {
		line := bytes.TrimSuffix(s.Bytes(), []byte("\r"))
		if len(line) > MaxPiece {
			return nil, fmt.Errorf("line %d: %d bytes, at most %d", len(vocab)+1, len(line), MaxPiece)
		}
		vocab = append(vocab, string(line))
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", len(vocab)+1, err)
	}
	return vocab, nil
}

// New returns the model of a vocabulary. Of equal pieces the last one's id is
// given, as in the reference; empty ones are never found.
func New(vocab []string, o Options) (*Model, error) {
	if o.Unknown == "" {
		o.Unknown = "[UNK]"
	}
	m := &Model{vocab: vocab, opt: o, strip: o.Lower, table: chars.Load(), unknown: -1, words: memo.New(17)}
	if o.StripAccents != nil {
		m.strip = *o.StripAccents
	}
	rest := make([]string, len(vocab))
	for i, p := range vocab {
		if !utf8.ValidString(p) {
			return nil, fmt.Errorf("wordpiece: piece %d: %q is not UTF-8", i, p)
		}
		if p == o.Unknown {
			m.unknown = int32(i)
		}
		if len(p) > 2 && p[:2] == "##" {
			rest[i] = p[2:]
			m.longest[1] = max(m.longest[1], len(p)-2)
		}
		m.longest[0] = max(m.longest[0], len(p))
	}
	if m.unknown < 0 {
		return nil, errors.New("wordpiece: no piece " + o.Unknown)
	}
	m.first = memo.NewIndex(vocab, func(i int) bool { return vocab[i] != "" })
	m.rest = memo.NewIndex(rest, func(i int) bool { return rest[i] != "" })
	if !o.NoIdeographs {
		m.ideographs()
	}
	return m, nil
}

// The ideographs that stay what they are whatever the options, most of all.
const (
	firstHan = 0x4E00
	lastHan  = 0x9FA5
)

// ideographs sets the ids of the ideographs, each of which is a word.
func (m *Model) ideographs() {
	m.han = make([]int32, lastHan-firstHan+1)
	for i := range m.han {
		m.han[i] = m.unknown
	}
	for id, p := range m.vocab {
		if r, size := utf8.DecodeRuneInString(p); size == len(p) && firstHan <= r && r <= lastHan {
			m.han[r-firstHan] = int32(id)
		}
	}
}

// Options returns the model's options.
func (m *Model) Options() Options { return m.opt }

// Unknown returns the id of words that cannot be cut.
func (m *Model) Unknown() int32 { return m.unknown }

// Size returns the number of ids.
func (m *Model) Size() int { return len(m.vocab) }

// Piece returns a piece, ## included.
func (m *Model) Piece(id int32) string {
	if id < 0 || int(id) >= len(m.vocab) {
		return ""
	}
	return m.vocab[id]
}

// ID returns the id of a piece, ## included, and whether there is one.
func (m *Model) ID(piece string) (int32, bool) {
	id := m.first.Find(piece, 0, len(piece))
	return id, id >= 0
}

// NewEncoder returns an encoder for one goroutine.
func (m *Model) NewEncoder() model.Encoder {
	return &encoder{m: m, norm: chars.NewNormalizer(!m.opt.Slow)}
}
