package preset

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"espalier/tokenize/bpe"
	"espalier/tokenize/model"
	"espalier/tokenize/spm"
	"espalier/tokenize/unigram"
)

// A Kind says which of transformers' classes of one name is meant.
type Kind int

// Kinds of classes.
const (
	Slow Kind = iota // written in Python
	Fast             // converted for the tokenizers library
	V5               // transformers 5
)

// Options choose between the behaviours of the T5 and LLaMA classes. The zero
// value is the slow class with legacy behaviour, whose ids are SentencePiece's.
type Options struct {
	Kind Kind
	// NoLegacy puts no blank before a text that follows an added token, as
	// legacy=False does.
	NoLegacy bool
}

const sentinels = 100 // of T5

// T5 is the T5 class of a unigram model, with a hundred sentinels.
func T5(m *unigram.Model, o Options) (*Class, error) {
	added, err := specials(m, false, "</s>", "<unk>", "<pad>")
	if err != nil {
		return nil, err
	}
	eos, pad := added[0].ID, added[2].ID
	var extra []string
	for i := range sentinels {
		text := fmt.Sprintf("<extra_id_%d>", sentinels-1-i)
		extra = append(extra, text)
		strip := o.Kind == Slow
		added = append(added, model.Added{Text: text, ID: int32(m.Size() + i), Special: true, LStrip: strip, RStrip: strip})
	}
	r := &t5{spmRules: spmRules{m: m.Model, o: o}, m: m}
	if o.Kind != Slow {
		if r.converted, err = m.Convert(extra); err != nil {
			return nil, err
		}
		r.converted.First = o.NoLegacy
		r.converted.SplitWhite = o.Kind == V5
	}
	c, err := newClass(m, r, added, o.Kind == Slow)
	if err != nil {
		return nil, err
	}
	c.Frame = model.Frame{Tail: []int32{eos}, Between: []int32{eos}, Pad: pad, Gentle: o.Kind == Slow, OnceTail: o.Kind == Slow}
	return c, nil
}

// Llama is the LLaMA class of a BPE model, with BOS in front. It sets the model's
// order of merges.
func Llama(m *bpe.Model, o Options) (*Class, error) {
	added, err := specials(m, false, "<unk>", "<s>", "</s>")
	if err != nil {
		return nil, err
	}
	m.Order = [...]bpe.Order{Slow: bpe.Scores, Fast: bpe.Listed, V5: bpe.IDs}[o.Kind]
	r := &llama{spmRules: spmRules{m: m.Model, o: o}, m: m}
	c, err := newClass(m, r, added, o.Kind == Slow)
	if err != nil {
		return nil, err
	}
	bos := added[1].ID
	c.Frame = model.Frame{Head: []int32{bos}, Between: []int32{bos}, SecondType: 1, Gentle: o.Kind == Slow}
	return c, nil
}

type t5 struct {
	spmRules
	m         *unigram.Model
	converted *unigram.Converted
}

func (r *t5) encoder() partEncoder {
	switch {
	case r.converted != nil:
		return convertedT5{r.converted.NewEncoder()}
	case r.o.NoLegacy:
		return newNoLegacy(r.m.Encoder(false))
	}
	return plain{r.m.NewEncoder()}
}

type convertedT5 struct {
	*unigram.ConvertedEncoder
}

func (e convertedT5) part(ids []int32, text string, i, j int, first bool) []int32 {
	return e.AppendPart(ids, text[i:j], first)
}

func (e convertedT5) tokens(tokens []model.Token, text string, i, j int, first bool) []model.Token {
	return e.AppendPartTokens(tokens, text, i, j, first)
}

type llama struct {
	spmRules
	m *bpe.Model
}

func (r *llama) encoder() partEncoder {
	switch {
	case r.o.Kind != Slow:
		return &convertedLlama{e: r.m.Encoder(true), r: r}
	case r.o.NoLegacy:
		return newNoLegacy(r.m.Encoder(false))
	}
	return plain{r.m.NewEncoder()}
}

// convertedLlama encodes marks for blanks, with one in front: always, but not, in
// transformers 5, before a mark; without legacy behaviour before the first part
// unless it begins with a mark.
type convertedLlama struct {
	e    *bpe.Encoder
	r    *llama
	buf  []byte
	from []int32 // where its bytes come from
}

// mark returns the text in normal form; bytes that begin no well-formed sequence
// are U+FFFD each.
func (e *convertedLlama) mark(text string, first bool) string {
	o := e.r.o
	put := o.Kind == Fast && !o.NoLegacy || (first || !o.NoLegacy) && text[0] != ' ' && !strings.HasPrefix(text, spm.Mark)
	e.buf, e.from = e.buf[:0], e.from[:0]
	if put {
		e.put(spm.Mark, 0)
	}
	for i := 0; i < len(text); {
		c, size := text[i], 1
		switch {
		case c == ' ':
			e.put(spm.Mark, i)
		case c < utf8.RuneSelf:
			e.buf, e.from = append(e.buf, c), append(e.from, int32(i))
		default:
			var r rune
			if r, size = utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError && size == 1 {
				e.put("\uFFFD", i)
				break
			}
			e.buf = append(e.buf, text[i:i+size]...)
			for k := range size {
				e.from = append(e.from, int32(i+k))
			}
		}
		i += size
	}
	e.from = append(e.from, int32(len(text)))
	return string(e.buf)
}

// put appends what one place of the text becomes.
func (e *convertedLlama) put(s string, at int) {
	e.buf = append(e.buf, s...)
	for range len(s) {
		e.from = append(e.from, int32(at))
	}
}

func (e *convertedLlama) part(ids []int32, text string, i, j int, first bool) []int32 {
	return e.e.AppendNormal(ids, e.mark(text[i:j], first))
}

func (e *convertedLlama) tokens(tokens []model.Token, text string, i, j int, first bool) []model.Token {
	from := len(tokens)
	normal := e.mark(text[i:j], first)
	return shift(e.e.AppendNormalTokens(tokens, normal, e.from), from, i)
}

// noLegacy encodes a text as the classes written in Python do without legacy
// behaviour: their model puts no blank in front and drops blanks at the
// beginning, so that a part which begins with one is encoded behind the unknown
// token's name, whose pieces are dropped.
type noLegacy struct {
	e    model.Encoder
	name int // pieces of the unknown token's name
	ids  []int32
	toks []model.Token
}

const unknownName = "<unk>"

func newNoLegacy(e model.Encoder) *noLegacy {
	return &noLegacy{e: e, name: len(e.Append(nil, unknownName))}
}

func (e *noLegacy) part(ids []int32, text string, i, j int, _ bool) []int32 {
	part := text[i:j]
	if part[0] != ' ' && !strings.HasPrefix(part, spm.Mark) {
		return e.e.Append(ids, part)
	}
	e.ids = e.e.Append(e.ids[:0], unknownName+part)
	return append(ids, e.ids[min(e.name, len(e.ids)):]...)
}

func (e *noLegacy) tokens(tokens []model.Token, text string, i, j int, _ bool) []model.Token {
	part := text[i:j]
	from := len(tokens)
	if part[0] != ' ' && !strings.HasPrefix(part, spm.Mark) {
		return shift(e.e.AppendTokens(tokens, part), from, i)
	}
	e.toks = e.e.AppendTokens(e.toks[:0], unknownName+part)
	tokens = append(tokens, e.toks[min(e.name, len(e.toks)):]...)
	return shift(tokens, from, i-len(unknownName))
}

// whole puts a mark before a text, whose own marks become blanks, and drops the
// mark again if an added token follows it.
func (e *noLegacy) whole(c *Class, ids []int32, text string) []int32 {
	if text == "" {
		return ids
	}
	from := len(ids)
	marked := spm.Mark + strings.ReplaceAll(text, spm.Mark, " ")
	n := 0
	for k := c.cut.Cut(marked); ; n++ {
		p, ok := k.Next()
		switch {
		case !ok:
			return ids
		case p.Added == nil:
			ids = e.part(ids, marked, p.Start, p.End, n == 0)
		default:
			if n > 0 && len(ids) == from+1 && c.Piece(ids[from]) == spm.Mark {
				ids = ids[:from]
			}
			ids = append(ids, p.Added.ID)
		}
	}
}

// wholeTokens is whole for tokens, with the places that they have in the text.
func (e *noLegacy) wholeTokens(c *Class, tokens []model.Token, text string) []model.Token {
	if text == "" {
		return tokens
	}
	from := len(tokens)
	marked := spm.Mark + strings.ReplaceAll(text, spm.Mark, " ")
	n := 0
	for k := c.cut.Cut(marked); ; n++ {
		p, ok := k.Next()
		switch {
		case !ok:
			places(tokens[from:], text)
			return tokens
		case p.Added == nil:
			tokens = e.tokens(tokens, marked, p.Start, p.End, n == 0)
		default:
			if n > 0 && len(tokens) == from+1 && tokens[from].Piece == spm.Mark {
				tokens = tokens[:from]
			}
			tokens = append(tokens, model.Token{ID: p.Added.ID, Start: int32(p.Start), End: int32(p.End), Piece: p.Added.Text})
		}
	}
}

// places turns the places that tokens have in a text behind a mark and with
// blanks for its own marks into those in the text.
func places(tokens []model.Token, text string) {
	at, back := int32(0), int32(len(spm.Mark)) // a place in the text, and how much further it is with the mark
	move := func(to int32) int32 {
		for at < to-back {
			if strings.HasPrefix(text[at:], spm.Mark) {
				at += int32(len(spm.Mark))
				back -= int32(len(spm.Mark)) - 1
			} else {
				at++
			}
		}
		return max(0, min(at, to-back))
	}
	for i := range tokens {
		t := &tokens[i]
		t.Start = move(t.Start)
		t.End = max(t.Start, move(t.End))
	}
}
