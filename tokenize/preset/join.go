package preset

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"espalier/tokenize/model"
	"espalier/tokenize/spm"
)

// spmRules join the pieces of SentencePiece models.
type spmRules struct {
	m *spm.Model
	o Options
}

func (r *spmRules) join(c *Class, dst []byte, ids []int32) ([]byte, error) {
	if r.o.Kind != Slow {
		return joinAll(r.decoder(c), dst, ids)
	}
	if r.m.Type == spm.Unigram {
		return r.joinT5(c, dst, ids)
	}
	return r.joinLlama(c, dst, ids), nil
}

func joinAll(d model.Decoder, dst []byte, ids []int32) ([]byte, error) {
	var err error
	for _, id := range ids {
		if dst, err = d.Push(dst, id); err != nil {
			return dst, err
		}
	}
	return d.Flush(dst), nil
}

// joinT5 puts a blank between sentinels and what is beside them, joins the rest
// as T5Tokenizer does and removes white space from its ends.
func (r *spmRules) joinT5(c *Class, dst []byte, ids []int32) ([]byte, error) {
	var parts []string
	for len(ids) > 0 {
		if a := c.byID[ids[0]]; a != nil && int(ids[0]) >= len(r.m.Pieces) {
			parts = append(parts, a.Text)
			ids = ids[1:]
			continue
		}
		n := 1
		for n < len(ids) && int(ids[n]) < len(r.m.Pieces) {
			n++
		}
		if s := strings.TrimFunc(string(r.pieces(c, nil, ids[:n], true)), pythonSpace); s != "" || n == len(ids) {
			parts = append(parts, s)
		}
		ids = ids[n:]
	}
	return append(dst, strings.Join(parts, " ")...), nil
}

// pythonSpace is what str.strip removes.
func pythonSpace(r rune) bool { return unicode.IsSpace(r) || 0x1C <= r && r <= 0x1F }

func (r *spmRules) joinLlama(c *Class, dst []byte, ids []int32) []byte {
	return r.pieces(c, dst, ids, false)
}

// pieces joins the pieces between special tokens by SentencePiece and puts
// blanks before special tokens as convert_tokens_to_string does.
func (r *spmRules) pieces(c *Class, dst []byte, ids []int32, t5 bool) []byte {
	d := r.m.NewDecoder()
	d.KeepBlank = r.o.NoLegacy
	special := false
	begin := 0 // of the pieces not joined yet
	flush := func(end int) {
		for i := begin; i < end; i++ {
			piece, cut := r.m.Pieces[ids[i]].Text, false
			if i == 0 {
				piece, cut = strings.CutPrefix(piece, spm.Mark)
			}
			if cut {
				dst = d.PushPiece(dst, piece)
			} else {
				dst, _ = d.Push(dst, ids[i]) // the id was checked
			}
		}
		dst = d.Flush(dst)
	}
	for i, id := range ids {
		a := c.byID[id]
		if a == nil {
			if special && i == 1 && !t5 && !strings.HasPrefix(r.m.Pieces[id].Text, spm.Mark) {
				dst = append(dst, ' ')
			}
			if special {
				begin = i
			}
			special = false
			continue
		}
		if !special && (t5 || i != 0 && !r.o.NoLegacy) {
			dst = append(dst, ' ')
		}
		if !special {
			flush(i)
		}
		dst = append(dst, a.Text...)
		special = true
		begin = i + 1
	}
	flush(len(ids))
	return dst
}

// A metaspace is the decoder of the converted T5 classes: marks are blanks, but
// vanish from the first token.
type metaspace struct {
	c     *Class
	begun bool
}

func (d *metaspace) Push(dst []byte, id int32) ([]byte, error) {
	if id < 0 || int(id) >= d.c.size {
		return dst, fmt.Errorf("id %d: not in 0 to %d", id, d.c.size-1)
	}
	blank := " "
	if !d.begun {
		blank = ""
	}
	d.begun = true
	return append(dst, strings.ReplaceAll(d.c.Piece(id), spm.Mark, blank)...), nil
}

func (d *metaspace) Flush(dst []byte) []byte {
	d.begun = false
	return dst
}

// A fallback is the decoder of the converted LLaMA classes: marks are blanks,
// runs of byte pieces become text if they are UTF-8 as a whole and U+FFFD each
// otherwise, and one blank goes from the beginning.
type fallback struct {
	m       *spm.Model
	pending []byte
	begun   bool
}

func (d *fallback) Push(dst []byte, id int32) ([]byte, error) {
	if id < 0 || int(id) >= len(d.m.Pieces) {
		return dst, fmt.Errorf("id %d: not in 0 to %d", id, len(d.m.Pieces)-1)
	}
	p := d.m.Pieces[id]
	if p.Kind == spm.Byte {
		for b, k := range d.m.Bytes {
			if k == id {
				d.pending = append(d.pending, byte(b))
			}
		}
		return dst, nil
	}
	return d.put(d.drain(dst), strings.ReplaceAll(p.Text, spm.Mark, " ")), nil
}

func (d *fallback) put(dst []byte, s string) []byte {
	if !d.begun && s != "" {
		s = strings.TrimPrefix(s, " ")
		d.begun = true
	}
	return append(dst, s...)
}

func (d *fallback) drain(dst []byte) []byte {
	if len(d.pending) == 0 {
		return dst
	}
	s := string(d.pending)
	if !utf8.Valid(d.pending) {
		s = string(bytes.Repeat([]byte("\uFFFD"), len(d.pending)))
	}
	d.pending = d.pending[:0]
	return d.put(dst, s)
}

func (d *fallback) Flush(dst []byte) []byte {
	dst = d.drain(dst)
	d.begun = false
	return dst
}

// A named decoder writes added tokens by name and leaves the others to the
// model's decoder.
type named struct {
	c *Class
	d model.Decoder
}

func (d *named) Push(dst []byte, id int32) ([]byte, error) {
	if a := d.c.byID[id]; a != nil {
		return append(d.d.Flush(dst), a.Text...), nil
	}
	return d.d.Push(dst, id)
}

func (d *named) Flush(dst []byte) []byte { return d.d.Flush(dst) }

func (r *spmRules) decoder(c *Class) model.Decoder {
	switch {
	case r.m.Type == spm.Unigram && r.o.Kind != Slow:
		return &metaspace{c: c}
	case r.o.Kind != Slow:
		return &fallback{m: r.m}
	}
	return &named{c, r.m.NewDecoder()}
}
