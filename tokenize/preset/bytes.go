package preset

import (
	"strings"
	"unicode/utf8"

	"espalier/tokenize/bytebpe"
	"espalier/tokenize/chars"
	"espalier/tokenize/model"
)

// A Prefix says where a blank is put in front of text.
type Prefix int

// Ways to put a blank in front.
const (
	NoPrefix     Prefix = iota
	PrefixParts         // of a part between added tokens, unless it begins with one: the fast classes' add_prefix_space
	PrefixAlways        // of any text, even an empty one: GPT2Tokenizer's
	PrefixText          // of a text that does not begin with white space: RobertaTokenizer's
)

// ByteOptions choose between the behaviours of the GPT-2 and RoBERTa classes.
type ByteOptions struct {
	Prefix Prefix
	Gentle bool // pairs as the classes written in Python have them
	// V5 does as transformers 5: RoBERTa's <mask>, of bare vocabulary files, leaves
	// the white space to its left alone, and decoded text is not tidied.
	V5 bool
}

// GPT2 is the GPT-2 class of a byte BPE model: no special ids.
func GPT2(m *bytebpe.Model, o ByteOptions) (*Class, error) {
	added, err := specials(m, false, "<|endoftext|>")
	if err != nil {
		return nil, err
	}
	c, err := newClass(m, &byteRules{m: m, o: o}, added, o.Gentle)
	if err != nil {
		return nil, err
	}
	c.untidy = o.V5
	c.Frame = model.Frame{Pad: added[0].ID, Gentle: o.Gentle}
	return c, nil
}

// Roberta is the RoBERTa class of a byte BPE model.
func Roberta(m *bytebpe.Model, o ByteOptions) (*Class, error) {
	added, err := specials(m, false, "<s>", "<pad>", "</s>", "<unk>", "<mask>")
	if err != nil {
		return nil, err
	}
	added[4].LStrip = !o.V5
	c, err := newClass(m, &byteRules{m: m, o: o, trim: true}, added, o.Gentle)
	if err != nil {
		return nil, err
	}
	c.untidy = o.V5
	bos, pad, eos := added[0].ID, added[1].ID, added[2].ID
	c.Frame = model.Frame{Head: []int32{bos}, Tail: []int32{eos}, Between: []int32{eos, eos}, Pad: pad, Gentle: o.Gentle}
	return c, nil
}

type byteRules struct {
	m    *bytebpe.Model
	o    ByteOptions
	trim bool // blanks at the ends of tokens are not part of their places
}

func (r *byteRules) encoder() partEncoder {
	p := byteParts{e: r.m.NewEncoder(), r: r}
	if r.o.Prefix == PrefixAlways || r.o.Prefix == PrefixText {
		return &prefixedText{p}
	}
	return &p
}

func (r *byteRules) join(_ *Class, dst []byte, ids []int32) ([]byte, error) {
	return r.m.Decode(dst, ids)
}

func (r *byteRules) decoder(*Class) model.Decoder { return r.m.NewDecoder() }

type byteParts struct {
	e   model.Encoder
	r   *byteRules
	buf []byte
}

func (e *byteParts) part(ids []int32, text string, i, j int, _ bool) []int32 {
	if e.r.o.Prefix != PrefixParts || text[i] == ' ' {
		return e.e.Append(ids, text[i:j])
	}
	e.buf = append(append(e.buf[:0], ' '), text[i:j]...)
	return e.e.Append(ids, str(e.buf))
}

func (e *byteParts) tokens(tokens []model.Token, text string, i, j int, first bool) []model.Token {
	from := len(tokens)
	if e.r.o.Prefix == PrefixParts && text[i] != ' ' {
		tokens = e.e.AppendTokens(tokens, " "+text[i:j])
		// the blank has the place of the character behind it
		_, size := utf8.DecodeRuneInString(text[i:])
		for k := from; k < len(tokens); k++ {
			t := &tokens[k]
			t.Start = max(t.Start-1, 0)
			if t.End--; t.End == 0 {
				t.End = int32(size)
			}
		}
	} else {
		tokens = e.e.AppendTokens(tokens, text[i:j])
	}
	return shift(tokens, from, i)
}

// finish takes white space from the places of tokens[from:], if the class does.
func (e *byteParts) finish(tokens []model.Token, from int, text string) {
	if !e.r.trim {
		return
	}
	for k := from; k < len(tokens); k++ {
		trim(&tokens[k], text, k == 0, e.r.o.Prefix == PrefixParts)
	}
}

// A prefixedText puts a blank before a text as the classes written in Python do,
// which tell no places: those here are of the text without the blank.
type prefixedText struct{ byteParts }

func (e *prefixedText) prefixed(text string) bool {
	if e.r.o.Prefix == PrefixAlways {
		return true
	}
	r, _ := utf8.DecodeRuneInString(text)
	return text != "" && chars.Load().Of(r)&chars.Space == 0
}

func (e *prefixedText) whole(c *Class, ids []int32, text string) []int32 {
	if e.prefixed(text) {
		text = " " + text
	}
	for k := c.cut.Cut(text); ; {
		p, ok := k.Next()
		switch {
		case !ok:
			return ids
		case p.Added != nil:
			ids = append(ids, p.Added.ID)
		default:
			ids = e.part(ids, text, p.Start, p.End, false)
		}
	}
}

func (e *prefixedText) wholeTokens(c *Class, tokens []model.Token, text string) []model.Token {
	from, by := len(tokens), 0
	if e.prefixed(text) {
		text = " " + text
		by = 1
	}
	for k := c.cut.Cut(text); ; {
		p, ok := k.Next()
		switch {
		case !ok:
			e.finish(tokens, from, text)
			for i := from; i < len(tokens); i++ {
				tokens[i].Start = max(0, tokens[i].Start-int32(by))
				tokens[i].End = max(0, tokens[i].End-int32(by))
			}
			return tokens
		case p.Added != nil:
			tokens = append(tokens, model.Token{ID: p.Added.ID, Start: int32(p.Start), End: int32(p.End), Piece: p.Added.Text})
		default:
			tokens = e.tokens(tokens, text, p.Start, p.End, false)
		}
	}
}

// trim takes the blanks at a token's ends from its place, and the white space
// that an added token took, counting characters as the fast classes do: of a
// first token, which may begin with a blank that was put there, one less.
func trim(t *model.Token, text string, first, prefix bool) {
	const blank = "\u0120" // in the byte alphabet
	lead, trail := 0, 0
	for strings.HasPrefix(t.Piece[lead*len(blank):], blank) {
		lead++
	}
	for trail*len(blank) < len(t.Piece) && strings.HasSuffix(t.Piece[:len(t.Piece)-trail*len(blank)], blank) {
		trail++
	}
	if before, ok := strings.CutSuffix(text[t.Start:t.End], t.Piece); ok {
		lead += utf8.RuneCountInString(before)
	}
	if lead > 0 && prefix && (first || t.Start == 0) {
		lead--
	}
	for ; lead > 0 && t.Start < t.End; lead-- {
		_, size := utf8.DecodeRuneInString(text[t.Start:])
		t.Start += int32(size)
	}
	for ; trail > 0 && t.End > t.Start; trail-- {
		_, size := utf8.DecodeLastRuneInString(text[:t.End])
		t.End -= int32(size)
	}
}
