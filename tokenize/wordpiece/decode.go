package wordpiece

import (
	"bytes"
	"fmt"
	"strings"

	"espalier/tokenize/model"
)

// tidy are the changes of the reference's clean-up, in its order.
var tidy = [...][2]string{
	{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"}, {" 'm", "'m"}, {" do not", " don't"},
	{" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
}

// A decoder joins pieces: ## and the blank before it vanish. The fast classes
// moreover tidy each piece by itself.
type decoder struct {
	m     *Model
	begun bool
}

// NewDecoder returns a decoder at the beginning of a text.
func (m *Model) NewDecoder() model.Decoder { return &decoder{m: m} }

func (d *decoder) Push(dst []byte, id int32) ([]byte, error) {
	if id < 0 || int(id) >= len(d.m.vocab) {
		return dst, fmt.Errorf("id %d: not in 0 to %d", id, len(d.m.vocab)-1)
	}
	piece := d.m.vocab[id]
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
	return append(dst, piece...), nil
}

func (d *decoder) Flush(dst []byte) []byte {
	d.begun = false
	return dst
}

// Decode appends the text that ids stand for, special ones by name.
func (m *Model) Decode(dst []byte, ids []int32) ([]byte, error) {
	d := decoder{m: m}
	from := len(dst)
	var err error
	for _, id := range ids {
		if dst, err = d.Push(dst, id); err != nil {
			return dst, err
		}
	}
	if m.opt.Slow {
		text := bytes.TrimSpace(dst[from:])
		dst = append(dst[:from], text...)
	}
	return dst, nil
}
