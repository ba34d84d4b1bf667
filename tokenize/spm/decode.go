package spm

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Decode appends the text that ids stand for. Byte pieces that form no character
// give U+FFFD each.
func (m *Model) Decode(dst []byte, ids []int32) ([]byte, error) {
	d := m.NewDecoder()
	var err error
	for _, id := range ids {
		if dst, err = d.Push(dst, id); err != nil {
			return dst, err
		}
	}
	return d.Flush(dst), nil
}

// A Decoder turns ids into text one at a time. What it has appended is what
// Decode gives of the same ids: a character made of byte pieces comes when it is
// complete. If the model has a denormaliser all text comes at Flush.
type Decoder struct {
	// KeepBlank keeps the first blank of a model that puts one in front of texts.
	KeepBlank bool

	m       *Model
	pending []byte // of byte pieces
	begun   bool   // there is text, or the first blank was dropped
	held    []byte // for the denormaliser
}

// NewDecoder returns a decoder at the beginning of a text.
func (m *Model) NewDecoder() *Decoder { return &Decoder{m: m} }

// Push appends the text that one more id completes.
func (d *Decoder) Push(dst []byte, id int32) ([]byte, error) {
	m := d.m
	if id < 0 || int(id) >= len(m.Pieces) {
		return dst, fmt.Errorf("id %d: not in 0 to %d", id, len(m.Pieces)-1)
	}
	switch p := &m.Pieces[id]; p.Kind {
	case Byte:
		b, _ := byteOf(p.Text)
		d.pending = append(d.pending, b)
		return d.out(dst, func(dst []byte) []byte { return d.drain(dst, false) }), nil
	case Control:
		return d.PushPiece(dst, ""), nil
	case Unknown:
		return d.out(dst, func(dst []byte) []byte { return d.raw(d.drain(dst, true), m.UnkSurface) }), nil
	default:
		return d.PushPiece(dst, p.Text), nil
	}
}

// PushPiece is Push with the text of a normal piece, which need not be in the
// vocabulary.
func (d *Decoder) PushPiece(dst []byte, piece string) []byte {
	return d.out(dst, func(dst []byte) []byte {
		dst = d.drain(dst, true)
		norm := d.m.Norm
		if !d.begun && (norm.Prefix && !d.KeepBlank || norm.Collapse) && strings.HasPrefix(piece, Mark) {
			piece = piece[len(Mark):]
			d.begun = !norm.Collapse
		}
		for {
			k := strings.Index(piece, Mark)
			if k < 0 {
				return d.raw(dst, piece)
			}
			dst = d.raw(d.raw(dst, piece[:k]), " ")
			piece = piece[k+len(Mark):]
		}
	})
}

func (d *Decoder) raw(dst []byte, s string) []byte {
	d.begun = d.begun || s != ""
	return append(dst, s...)
}

// out calls f with what is to be appended to: the text, or what is held for the
// denormaliser.
func (d *Decoder) out(dst []byte, f func(dst []byte) []byte) []byte {
	if d.m.denorm != nil {
		d.held = f(d.held)
		return dst
	}
	return f(dst)
}

// drain appends the characters that the pending bytes form; all of them if no
// more can come.
func (d *Decoder) drain(dst []byte, all bool) []byte {
	b := d.pending
	for len(b) > 0 && (all || utf8.FullRune(b)) {
		r, size := utf8.DecodeRune(b)
		dst = utf8.AppendRune(dst, r)
		b = b[size:]
		d.begun = true
	}
	d.pending = append(d.pending[:0], b...)
	return dst
}

// Flush appends what is left and goes back to the beginning of a text.
func (d *Decoder) Flush(dst []byte) []byte {
	if d.m.denorm != nil {
		d.held = d.drain(d.held, true)
		dst = d.m.denorm.Append(dst, string(d.held))
		d.held = d.held[:0]
	} else {
		dst = d.drain(dst, true)
	}
	d.begun = false
	return dst
}
