package bytebpe

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"espalier/tokenize/model"
)

// A decoder writes bytes as characters: U+FFFD for each longest part that could
// have begun one, as Python and Rust do. A word's suffix becomes a blank.
type decoder struct {
	m       *Model
	pending []byte
}

// NewDecoder returns a decoder at the beginning of a text.
func (m *Model) NewDecoder() model.Decoder { return &decoder{m: m} }

func (d *decoder) Push(dst []byte, id int32) ([]byte, error) {
	if id < 0 || int(id) >= len(d.m.vocab) {
		return dst, fmt.Errorf("id %d: not in 0 to %d", id, len(d.m.vocab)-1)
	}
	d.pending = append(d.pending, d.m.bytes[id]...)
	return d.drain(dst, false), nil
}

func (d *decoder) Flush(dst []byte) []byte { return d.drain(dst, true) }

func (d *decoder) drain(dst []byte, all bool) []byte {
	b := d.pending
	for len(b) > 0 && (all || utf8.FullRune(b)) {
		if b[0] == Suffix[0] && d.m.suffixed() {
			if bytes.HasPrefix(b, []byte(Suffix)) {
				dst = append(dst, ' ')
				b = b[len(Suffix):]
				continue
			}
			if !all && strings.HasPrefix(Suffix, string(b)) {
				break
			}
		}
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 {
			size = subpart(b)
		}
		dst = utf8.AppendRune(dst, r)
		b = b[size:]
	}
	d.pending = append(d.pending[:0], b...)
	return dst
}

// subpart returns the length of the longest beginning of b, which is no
// character, that could begin one; at least 1.
func subpart(b []byte) int {
	n := 1
	for n < len(b) && n < utf8.UTFMax && !utf8.FullRune(b[:n+1]) {
		n++
	}
	return n
}

// Decode appends the text that ids stand for.
func (m *Model) Decode(dst []byte, ids []int32) ([]byte, error) {
	d := decoder{m: m}
	var err error
	for _, id := range ids {
		if dst, err = d.Push(dst, id); err != nil {
			return dst, err
		}
	}
	return d.Flush(dst), nil
}
