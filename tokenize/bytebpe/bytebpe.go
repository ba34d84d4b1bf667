// Package bytebpe is byte-pair encoding over bytes, as GPT-2, RoBERTa and CLIP
// use it: a pattern cuts the text into words, each word begins as bytes, and of
// all pairs of neighbours that the list of merges names the one that stands
// first there becomes one symbol, the leftmost of equals, until no pair is left.
//
// A [Model] is immutable but for its memory of words and safe for concurrent
// use. Bytes that are not UTF-8 are encoded as they are and count as neither
// letters, numbers nor white space.
package bytebpe

import (
	"errors"
	"fmt"

	"espalier/tokenize/chars"
	"espalier/tokenize/memo"
	"espalier/tokenize/merge"
	"espalier/tokenize/model"
)

// MaxPiece is the longest piece that is accepted, in bytes.
const MaxPiece = 4096

// Suffix ends the last symbol of a word in CLIP's vocabulary.
const Suffix = "</w>"

// A Pattern says how text is cut into words.
type Pattern int

// Patterns.
const (
	GPT2       Pattern = iota // letters, numbers or others with a blank before them, as the fast classes know them
	GPT2Python                // the same with the letters and numbers of Python's regex module
	CLIP                      // letters, single numbers or others; white space goes
	CLIPFast                  // the same as the fast classes know them
)

// A Model encodes with a vocabulary and a list of merges.
type Model struct {
	pattern Pattern
	vocab   []string // in the alphabet of the files
	bytes   []string // what they stand for
	index   *memo.Index
	table   *chars.Table
	single  [256]int32 // ids of single bytes
	last    [256]int32 // ids of single bytes that end a word
	merges  *merge.Table
	words   *memo.Table
	names   []name
	folds   bool // ASCII capitals are taken for small letters
	apart   bool // names are cut into words like other text, but no word goes on behind one
}

// A name is a special token that CLIP's pattern takes for a word.
type name struct {
	text string
	id   int32
}

var _ model.Tokenizer = (*Model)(nil)

// New returns the model of a vocabulary, whose pieces are written in the byte
// alphabet, and of merges, each a pair of pieces in the order of their rank.
func New(vocab []string, merges [][2]string, p Pattern) (*Model, error) {
	m := &Model{pattern: p, vocab: vocab, table: chars.Load(), words: memo.New(17)}
	m.bytes = make([]string, len(vocab))
	var buf []byte
	for i, piece := range vocab {
		if len(piece) > MaxPiece {
			return nil, fmt.Errorf("bytebpe: piece %d: %d bytes, at most %d", i, len(piece), MaxPiece)
		}
		if m.bytes[i] = piece; !visible(piece) {
			start := len(buf)
			buf = appendBytes(buf, piece)
			m.bytes[i] = string(buf[start:])
		}
	}
	m.index = memo.NewIndex(vocab, func(i int) bool { return vocab[i] != "" })
	for b := range 256 {
		if m.single[b] = m.find(alphabet[b]); m.single[b] < 0 {
			return nil, fmt.Errorf("bytebpe: no piece %q for byte %#02x", alphabet[b], b)
		}
		m.last[b] = m.single[b]
		if m.suffixed() {
			if m.last[b] = m.find(alphabet[b] + Suffix); m.last[b] < 0 {
				return nil, fmt.Errorf("bytebpe: no piece %q for byte %#02x at the end of a word", alphabet[b]+Suffix, b)
			}
		}
	}
	var err error
	if m.merges, err = merge.New(len(vocab), len(merges)); err != nil {
		return nil, fmt.Errorf("bytebpe: %w", err)
	}
	first := max(len(vocab)-len(merges)-2, 0) // where what the merges make stands as a rule
	for rank, x := range merges {
		l, r, to := m.find(x[0]), m.find(x[1]), int32(-1)
		for guess := first; guess < min(first+3, len(vocab)-rank) && to < 0; guess++ {
			if is(vocab[guess+rank], x) {
				to = int32(guess + rank)
			}
		}
		if to < 0 {
			to = m.find(x[0] + x[1])
		}
		switch {
		case x[0] == "" || x[1] == "":
			return nil, fmt.Errorf("bytebpe: merge %d: empty piece", rank+1)
		case l < 0 || r < 0 || to < 0:
			return nil, fmt.Errorf("bytebpe: merge %d: %q and %q: not in the vocabulary, or what they make is not", rank+1, x[0], x[1])
		}
		m.merges.Set(rank, l, r, to)
	}
	return m, nil
}

// NewCLIP returns the model of CLIP's list of merges alone: the vocabulary is the
// bytes, the bytes at the end of a word, what each merge makes, and the names of
// the start and the end of a text.
func NewCLIP(merges [][2]string, p Pattern, specials ...string) (*Model, error) {
	if p != CLIP && p != CLIPFast {
		return nil, errors.New("bytebpe: CLIP's merges with another pattern")
	}
	vocab := make([]string, 0, 512+len(merges)+len(specials))
	vocab = append(vocab, order[:]...)
	for _, s := range order {
		vocab = append(vocab, s+Suffix)
	}
	for _, x := range merges {
		vocab = append(vocab, x[0]+x[1])
	}
	return New(append(vocab, specials...), merges, p)
}

// Name makes the pattern find the names of special tokens where a word may begin.
// With Python's classes as they are, they get their ids, in capitals too they are
// words; with the fast classes they are cut into words of their own. To be called
// before the first use, and only of CLIP's patterns.
func (m *Model) Name(tokens ...string) error {
	for _, t := range tokens {
		id := m.find(t)
		if id < 0 || t[0] != '<' {
			return fmt.Errorf("bytebpe: no special piece %q", t)
		}
		m.names = append(m.names, name{t, id})
	}
	m.apart = m.pattern == CLIPFast
	return nil
}

// Fold makes the model take ASCII capitals for small letters, so that ASCII text
// need not be put in lower case before. To be called before the first use.
func (m *Model) Fold() { m.folds = true }

// is reports whether a piece is that of a merge.
func is(piece string, x [2]string) bool {
	return len(piece) == len(x[0])+len(x[1]) && piece[:len(x[0])] == x[0] && piece[len(x[0]):] == x[1]
}

func (m *Model) suffixed() bool { return m.pattern == CLIP || m.pattern == CLIPFast }

func (m *Model) find(piece string) int32 { return m.index.Find(piece, 0, len(piece)) }

// Size returns the number of ids.
func (m *Model) Size() int { return len(m.vocab) }

// Piece returns a piece in the byte alphabet.
func (m *Model) Piece(id int32) string {
	if id < 0 || int(id) >= len(m.vocab) {
		return ""
	}
	return m.vocab[id]
}

// ID returns the id of a piece in the byte alphabet and whether there is one.
func (m *Model) ID(piece string) (int32, bool) {
	id := m.find(piece)
	return id, id >= 0
}

// NewEncoder returns an encoder for one goroutine.
func (m *Model) NewEncoder() model.Encoder { return &encoder{m: m} }
