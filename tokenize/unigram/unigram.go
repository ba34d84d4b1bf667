// Package unigram is SentencePiece's unigram model (Kudo, Subword Regularization,
// 2018): of all ways to cut a text into pieces the one with the best sum of
// scores, as the C++ library finds it, ties and rounding included.
//
// Sums are float32 in the order of the text, so that which of two nearly equal
// ways wins can depend on all that stands before. A word between blanks is
// remembered only with the bound up to which rounding cannot change its pieces;
// beyond it, and for ties, the search is done exactly. A [Model] is immutable but
// for this memory and safe for concurrent use. Ill-formed UTF-8 becomes one
// U+FFFD a byte.
package unigram

import (
	"fmt"

	"espalier/tokenize/memo"
	"espalier/tokenize/model"
	"espalier/tokenize/spm"
	"espalier/tokenize/trie"
)

// unknownPenalty is taken from the lowest score to score an unknown character.
const unknownPenalty = 10

// userScore is what a user-defined piece counts up to SentencePiece 0.2.1; since
// then it counts nothing. The C++ code means it to be its length times the
// highest score of all, less a tenth, but takes the smallest positive number for
// that score, which leaves the tenth.
const userScore = -0.1

// A Model encodes with a SentencePiece unigram model.
type Model struct {
	*spm.Model
	// Float32 compares sums as SentencePiece does since 0.2.2, in float32; before
	// it added in float64 and rounded only what it kept. The two differ in ties.
	// To be set before the first use.
	Float32 bool

	trie    *trie.Trie
	scores  []score
	unknown float32
	words   *memo.Table // nil: the text is no sequence of words
}

// A score is a piece's in both arithmetics.
type score struct {
	double float64
	single float32
	unused bool
}

var _ model.Tokenizer = (*Model)(nil)

// New returns an encoder's model of a SentencePiece model of type unigram.
func New(m *spm.Model) (*Model, error) {
	if m.Type != spm.Unigram {
		return nil, fmt.Errorf("unigram: model of type %d, want %d", m.Type, spm.Unigram)
	}
	u := &Model{Model: m, unknown: m.MinScore - unknownPenalty, scores: make([]score, len(m.Pieces))}
	negative := u.unknown < 0
	for i, p := range m.Pieces {
		s := score{double: float64(p.Score), single: p.Score, unused: p.Kind == spm.Unused}
		if p.Kind == spm.User { // always wins
			s.double, s.single = userScore, 0
		}
		u.scores[i] = s
		negative = negative && s.double <= 0
	}
	var err error
	if u.trie, err = trie.NewOf(m.Index.Keys(), func(i int) bool { return m.Findable(int32(i)) }); err != nil {
		return nil, fmt.Errorf("unigram: %w", err)
	}
	mark := u.trie.Find(spm.Mark)
	if m.Norm.ByWord() && m.Blanks(false) == 0 && mark >= 0 && !u.scores[mark].unused && negative {
		u.words = memo.New(17)
	}
	return u, nil
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
func (m *Model) NewEncoder() model.Encoder { return m.Encoder(true) }

// Encoder returns an encoder for one goroutine that puts a blank before texts if
// the model says so, or not at all.
func (m *Model) Encoder(prefix bool) *Encoder {
	if prefix {
		return &Encoder{m: m, norm: m.Norm}
	}
	return &Encoder{m: m, norm: m.Norm.WithoutPrefix()}
}
