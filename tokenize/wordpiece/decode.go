package wordpiece

import (
	"bytes"
	"fmt"
	"strings"

	"espalier/tokenize/model"
)

// tidy are the changes of the reference's clean-up, in its order.
var tidy = [...][2]string{
	{" .", "."},
	{" ?", "?"},
	{" !", "!"},
	{" ,", ","},
	{" ' ", "'"},
	{" n't", "n't"},
	{" 'm", "'m"},
	{" do not", " don't"},
	{" 's", "'s"},
	{" 've", "'ve"},
	{" 're", "'re"},
}

// A Decoder joins pieces: ## and the blank before it vanish. The fast classes
// moreover tidy each piece by itself.
type Decoder struct {
	m     *Model
	begun bool
}

// NewDecoder returns a decoder at the beginning of a text.
func (m *Model) NewDecoder() model.Decoder { return m.Decoder() }

// Decoder returns a decoder at the beginning of a text.
func (m *Model) Decoder() *Decoder { return &Decoder{m: m} }

// Push appends the text of one more id.
func (d *Decoder) Push(dst []byte, id int32) ([]byte, error) {
	if id < 0 || int(id) >= len(d.m.vocab) {
		return dst, fmt.Errorf("id %d: not in 0 to %d", id, len(d.m.vocab)-1)
	}
	return d.PushPiece(dst, d.m.vocab[id]), nil
}

// PushPiece is Push of a piece, which need not be in the vocabulary.
func (d *Decoder) PushPiece(dst []byte, piece string) []byte {
	if d.begun {
		if rest, ok := strings.CutPrefix(piece, "##"); ok {
			piece = rest
		} else {
			piece = " " + piece
		}
	}
	d.begun = true
	if !d.m.opt.Slow {
		for _, t := range tidy {
			piece = strings.ReplaceAll(piece, t[0], t[1])
		}
	}
	return append(dst, piece...)
}

// Flush goes back to the beginning of a text.
func (d *Decoder) Flush(dst []byte) []byte {
	d.begun = false
	return dst
}

// Decode appends the text that ids stand for, special ones by name.
func (m *Model) Decode(dst []byte, ids []int32) ([]byte, error) {
	d := m.Decoder()
	from := len(dst)
	var err error
	for _, id := range ids {
		if dst, err = d.Push(dst, id); err != nil {
			return dst, err
		}
	}
	return m.Trim(dst, from), nil
}

// Trim removes white space from the ends of the text dst[from:], if the slow
// class is followed.
func (m *Model) Trim(dst []byte, from int) []byte {
	if !m.opt.Slow {
		return dst
	}
	return append(dst[:from], bytes.TrimSpace(dst[from:])...)
}
