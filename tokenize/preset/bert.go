package preset

import (
	"espalier/tokenize/model"
	"espalier/tokenize/wordpiece"
)

// Bert is the BERT class of a vocabulary; its options say which.
func Bert(m *wordpiece.Model) (*Class, error) {
	added, err := specials(m, true, "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]")
	if err != nil {
		return nil, err
	}
	c, err := newClass(m, bert{m}, added, m.Options().Slow)
	if err != nil {
		return nil, err
	}
	sep, pad, cls := added[1].ID, added[2].ID, added[3].ID
	c.Frame = model.Frame{
		Head: []int32{cls}, Tail: []int32{sep}, Between: []int32{sep}, SecondType: 1, Pad: pad, Gentle: m.Options().Slow,
	}
	return c, nil
}

type bert struct{ m *wordpiece.Model }

func (b bert) encoder() partEncoder { return plain{b.m.NewEncoder()} }

func (b bert) join(c *Class, dst []byte, ids []int32) ([]byte, error) {
	from := len(dst)
	dst, err := joinAll(b.decoder(c), dst, ids)
	return b.m.Trim(dst, from), err
}

func (b bert) decoder(c *Class) model.Decoder { return &bertDecoder{c, b.m.Decoder()} }

// A bertDecoder knows the special tokens that the vocabulary has not.
type bertDecoder struct {
	c *Class
	*wordpiece.Decoder
}

func (d *bertDecoder) Push(dst []byte, id int32) ([]byte, error) {
	if a := d.c.byID[id]; a != nil {
		return d.PushPiece(dst, a.Text), nil
	}
	return d.Decoder.Push(dst, id)
}

// plain has the family encode each part.
type plain struct {
	e model.Encoder
}

func (p plain) part(ids []int32, text string, i, j int, _ bool) []int32 {
	return p.e.Append(ids, text[i:j])
}

func (p plain) tokens(tokens []model.Token, text string, i, j int, _ bool) []model.Token {
	return shift(p.e.AppendTokens(tokens, text[i:j]), len(tokens), i)
}

// shift moves the places of tokens[from:].
func shift(tokens []model.Token, from, by int) []model.Token {
	for k := from; k < len(tokens); k++ {
		tokens[k].Start += int32(by)
		tokens[k].End += int32(by)
	}
	return tokens
}
