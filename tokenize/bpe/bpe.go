// Package bpe is SentencePiece's byte-pair encoding, as LLaMA and Mistral use it:
// a text begins as characters, and as long as two neighbours together are a
// piece, those whose piece has the best score become one, the leftmost of equals.
//
// No piece goes on behind a blank, so that a run of blanks and the word behind
// them become pieces by themselves and can be remembered. A [Model] is immutable
// but for this memory and safe for concurrent use. Ill-formed UTF-8 becomes one
// U+FFFD a byte; characters without a piece become their bytes' pieces if the
// model has such, else the unknown one.
package bpe

import (
	"fmt"

	"espalier/tokenize/memo"
	"espalier/tokenize/model"
	"espalier/tokenize/spm"
	"espalier/tokenize/trie"
)

// An Order says which merge comes first.
type Order int

// Orders.
const (
	// Scores is SentencePiece's: the best score, the leftmost of equals.
	Scores Order = iota
	// Listed is that of the list of merges that transformers 4 makes of a model:
	// the best score, of equals the longest left part, then the longest right one.
	// Only pieces are joined.
	Listed
	// IDs is that of the list which transformers 5 makes: the lowest id of what is
	// made, of equals the shortest left part. Only pieces are joined.
	IDs
)

// A Model encodes with a SentencePiece model of type BPE.
type Model struct {
	*spm.Model
	// Order is that of merges. To be set before the first use.
	Order Order

	users  *trie.Trie      // nil if there are none
	unused bool            // some pieces are split again
	words  *memo.Table     // by text; nil: the text is no sequence of words
	normal *memo.Table     // by normal form, for AppendNormal; nil likewise
	byWord bool            // words lie between blanks; else they begin with all blanks before
	bare   *spm.Normalizer // puts no blank in front
}

var _ model.Tokenizer = (*Model)(nil)

// New returns an encoder's model of a SentencePiece model of type BPE.
func New(m *spm.Model) (*Model, error) {
	if m.Type != spm.BPE {
		return nil, fmt.Errorf("bpe: model of type %d, want %d", m.Type, spm.BPE)
	}
	b := &Model{Model: m, bare: m.Norm.WithoutPrefix()}
	var users []string
	for _, p := range m.Pieces {
		b.unused = b.unused || p.Kind == spm.Unused
		if p.Kind == spm.User {
			users = append(users, p.Text)
		}
	}
	if users != nil {
		var err error
		if b.users, err = trie.New(users); err != nil {
			return nil, fmt.Errorf("bpe: %w", err)
		}
	}
	n := m.Norm
	b.byWord = n.ByWord()
	keeps := n.Prefix && !n.Collapse && n.Escape && !n.Suffix && n.Identity()
	mark := b.find(spm.Mark, 0, len(spm.Mark)) >= 0
	if !b.unused && mark && (b.byWord && m.Blanks(false) == 0 || keeps && m.Blanks(true) == 0) {
		b.words = memo.New(17)
	}
	if !b.unused && mark && m.Blanks(true) == 0 {
		b.normal = memo.New(17)
	}
	return b, nil
}

// find returns the id of the piece text[i:j], -1 if none is looked for there.
func (m *Model) find(text string, i, j int) int32 {
	id := m.Index.Find(text, i, j)
	if id >= 0 && !m.Findable(id) {
		return -1
	}
	return id
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
	return &Encoder{m: m, norm: m.bare}
}
