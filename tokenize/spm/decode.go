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
	out := &dst
	if m.denorm != nil {
		out = &d.held
	}
	p := &m.Pieces[id]
	if p.Kind == Byte {
		b, _ := byteOf(p.Text)
		d.pending = append(d.pending, b)
		*out = d.drain(*out, false)
		return dst, nil
	}
	*out = d.drain(*out, true)
	switch p.Kind {
	case Control:
	case Unknown:
		*out = append(*out, m.UnkSurface...)
		d.begun = d.begun || m.UnkSurface != ""
	default:
		s, first := p.Text, !d.begun
		if first && (m.Norm.Prefix || m.Norm.Collapse) && strings.HasPrefix(s, Mark) {
			s = s[len(Mark):]
			d.begun = !m.Norm.Collapse
		}
		for {
			k := strings.Index(s, Mark)
			if k < 0 {
				break
			}
			*out = append(append(*out, s[:k]...), ' ')
			s = s[k+len(Mark):]
			d.begun = true
		}
		*out = append(*out, s...)
		d.begun = d.begun || s != ""
	}
	return dst, nil
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
