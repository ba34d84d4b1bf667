// Package spm reads SentencePiece's model files and does what all its models
// have in common: normalisation, control and byte pieces, decoding.
//
// A [Model] is the file's content, checked as the C++ library checks it at
// loading. The rules are those of SentencePiece 0.1.99 to 0.2.3, which agree but
// for the ties of the unigram search. A model is immutable and safe for
// concurrent use.
package spm

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unsafe"

	"espalier/tokenize/memo"
)

// Mark is the character that stands for a blank in pieces, U+2581.
const Mark = "\u2581"

// pieceBytes is about what a piece takes in a file.
const pieceBytes = 20

// MaxPiece is the longest piece that is read, in bytes.
const MaxPiece = 4096

// Types of models, by the file's numbers.
const (
	Unigram = 1
	BPE     = 2
	Word    = 3
	Char    = 4
)

// A Kind says what a piece is, by the file's numbers.
type Kind uint8

// Kinds of pieces.
const (
	Normal  Kind = 1
	Unknown Kind = 2
	Control Kind = 3 // such as </s>: never found in text
	User    Kind = 4 // user-defined: always found in text
	Unused  Kind = 5
	Byte    Kind = 6 // such as <0x0A>
)

// A Piece is an entry of the vocabulary.
type Piece struct {
	Text  string
	Score float32
	Kind  Kind
}

// A Model is the content of a model file.
type Model struct {
	Type   int // Unigram, BPE, Word or Char
	Pieces []Piece
	Index  *memo.Index // of the pieces' texts

	Unk           int32 // id of the unknown piece
	BOS, EOS, Pad int32 // -1 if there is none
	UnkSurface    string
	ByteFallback  bool
	Bytes         [256]int32 // ids of the byte pieces, if ByteFallback

	Norm   *Normalizer
	denorm *Normalizer

	MinScore float32 // the lowest score of a normal piece
}

// Parse reads a model file. The model keeps the slice, which must not be changed.
func Parse(file []byte) (*Model, error) {
	m := &Model{Pieces: make([]Piece, 0, len(file)/pieceBytes), Type: Unigram, UnkSurface: " \u2047 ", Unk: -1, BOS: -1, EOS: -1, Pad: -1}
	norm, denorm := newNormSpec(), newNormSpec()
	names := [3]string{"<s>", "</s>", "<pad>"}
	suffix, trained := false, false
	err := fields(unsafe.String(unsafe.SliceData(file), len(file)), 0, func(f field, offset int) error {
		switch {
		case f.is(1, blob):
			p, err := parsePiece(f.bytes, offset)
			if err != nil {
				return fmt.Errorf("piece %d: %w", len(m.Pieces), err)
			}
			m.Pieces = append(m.Pieces, p)
			return nil
		case f.is(2, blob):
			trained = true
			return fields(f.bytes, offset, func(f field, _ int) error {
				switch {
				case f.is(3, varint):
					m.Type = int(f.int())
				case f.is(24, varint):
					suffix = f.bool()
				case f.is(35, varint):
					m.ByteFallback = f.bool()
				case f.is(44, blob):
					m.UnkSurface = f.bytes
				case f.wire == blob && 46 <= f.num && f.num <= 48:
					names[f.num-46] = f.bytes
				}
				return nil
			})
		case f.is(3, blob):
			return norm.parse(f.bytes, offset)
		case f.is(5, blob):
			return denorm.parse(f.bytes, offset)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("spm: %w", err)
	}
	switch {
	case len(m.Pieces) == 0:
		return nil, errors.New("spm: no pieces: not a SentencePiece model")
	case m.Type < Unigram || m.Type > Char:
		return nil, fmt.Errorf("spm: model type %d, want 1 (unigram), 2 (BPE), 3 (word) or 4 (char)", m.Type)
	case !trained && len(norm.chars) == 0 && m.Pieces[0].Text == "":
		return nil, errors.New("spm: not a SentencePiece model")
	}
	users, err := m.index()
	if err != nil {
		return nil, fmt.Errorf("spm: %w", err)
	}
	for i, id := range []*int32{&m.BOS, &m.EOS, &m.Pad} {
		*id = m.control(names[i])
	}
	norm.suffix, denorm.suffix = suffix, suffix
	if m.Norm, err = norm.build(users); err != nil {
		return nil, fmt.Errorf("spm: normalizer: %w", err)
	}
	if len(denorm.chars) > 0 {
		if m.denorm, err = denorm.build(nil); err != nil {
			return nil, fmt.Errorf("spm: denormalizer: %w", err)
		}
	}
	return m, nil
}

func parsePiece(b string, offset int) (Piece, error) {
	if p, ok := usualPiece(b); ok {
		return p, nil
	}
	return anyPiece(b, offset)
}

// anyPiece is parsePiece for all pieces.
func anyPiece(b string, offset int) (Piece, error) {
	p := Piece{Kind: Normal}
	err := fields(b, offset, func(f field, _ int) error {
		switch {
		case f.is(1, blob):
			p.Text = f.bytes
		case f.is(2, fixed32):
			p.Score = f.float()
		case f.is(3, varint):
			if f.value < 1 || f.value > 6 {
				return fmt.Errorf("type %d", f.value)
			}
			p.Kind = Kind(f.value)
		}
		return nil
	})
	switch s := float64(p.Score); {
	case err != nil:
		return p, err
	case p.Text == "":
		return p, errors.New("empty")
	case len(p.Text) > MaxPiece:
		return p, fmt.Errorf("%d bytes, at most %d", len(p.Text), MaxPiece)
	case math.IsNaN(s) || math.IsInf(s, 0):
		return p, fmt.Errorf("score %g", s)
	}
	return p, nil
}

// usualPiece is parsePiece for what most pieces are: a text of less than 128
// bytes, a score, and perhaps a kind.
func usualPiece(b string) (Piece, bool) {
	if len(b) < 8 || b[0] != 1<<3|blob {
		return Piece{}, false
	}
	n := int(b[1])
	if rest := len(b) - n - 7; n == 0 || n >= 0x80 || rest != 0 && rest != 2 || b[2+n] != 2<<3|fixed32 {
		return Piece{}, false
	}
	p := Piece{Text: b[2 : 2+n], Kind: Normal}
	if rest := b[n+7:]; rest != "" {
		if rest[0] != 3<<3|varint || rest[1] < 1 || rest[1] > 6 {
			return Piece{}, false
		}
		p.Kind = Kind(rest[1])
	}
	s := b[3+n:]
	p.Score = math.Float32frombits(uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24)
	return p, math.Float32bits(p.Score)>>23&0xFF != 0xFF // neither infinite nor none
}

// index checks the pieces, finds the special ones and returns the user-defined.
func (m *Model) index() (users []string, err error) {
	m.MinScore = math.MaxFloat32
	texts := make([]string, len(m.Pieces))
	for i := range m.Pieces {
		texts[i] = m.Pieces[i].Text
	}
	m.Index = memo.NewIndex(texts, nil)
	if first, second, ok := m.Index.Twice(); ok {
		return nil, fmt.Errorf("piece %d: %q is piece %d already", second, texts[second], first)
	}
	bytes := 0
	for i := range m.Pieces {
		p, id := &m.Pieces[i], int32(i)
		switch p.Kind {
		case Normal:
			m.MinScore = min(m.MinScore, p.Score)
		case Unknown:
			if m.Unk >= 0 {
				return nil, fmt.Errorf("piece %d: %q is unknown, as is piece %d", i, p.Text, m.Unk)
			}
			m.Unk = id
		case User:
			users = append(users, p.Text)
		case Byte:
			b, ok := byteOf(p.Text)
			if !ok || !m.ByteFallback {
				return nil, fmt.Errorf("piece %d: %q is no byte of a model with byte fallback", i, p.Text)
			}
			m.Bytes[b] = id
			bytes++
		}
	}
	switch {
	case m.Unk < 0:
		return nil, errors.New("no unknown piece")
	case m.ByteFallback && bytes != 256:
		return nil, fmt.Errorf("%d byte pieces, want 256", bytes)
	}
	return users, nil
}

// byteOf returns the byte that a piece such as <0x0A> stands for.
func byteOf(piece string) (byte, bool) {
	hex, ok := strings.CutPrefix(piece, "<0x")
	if !ok || len(hex) != 3 || hex[2] != '>' || strings.ToUpper(hex) != hex {
		return 0, false
	}
	b, err := strconv.ParseUint(hex[:2], 16, 8)
	return byte(b), err == nil
}

// control returns the id of a control piece, -1 if there is none of that name.
func (m *Model) control(name string) int32 {
	if id, ok := m.ID(name); ok && m.Pieces[id].Kind == Control {
		return id
	}
	return -1
}

// ID returns the id of a piece and whether there is such a piece.
func (m *Model) ID(piece string) (int32, bool) {
	if id := m.Index.Find(piece, 0, len(piece)); id >= 0 {
		return id, true
	}
	return m.Unk, false
}

// Findable reports whether text is searched for the piece.
func (m *Model) Findable(id int32) bool {
	k := m.Pieces[id].Kind
	return k == Normal || k == User || k == Unused
}

// Blanks returns the pieces with a mark that is not at their beginning; leading
// marks count as one if run is set.
func (m *Model) Blanks(run bool) int {
	n := 0
	for i := range m.Pieces {
		s := m.Pieces[i].Text
		if !m.Findable(int32(i)) {
			continue
		}
		if run {
			s = strings.TrimLeft(s, Mark)
		} else {
			s = strings.TrimPrefix(s, Mark)
		}
		if strings.Contains(s, Mark) || strings.Contains(s, " ") {
			n++
		}
	}
	return n
}
