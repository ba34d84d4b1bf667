// Package preset has the public classes around the tokenizer families: T5,
// LLaMA, BERT, GPT-2 and RoBERTa as Hugging Face's transformers has them, and
// CLIP as open_clip, OpenAI and transformers have it. A class cuts added tokens
// out of the text, has the family encode what is between, and puts special ids
// around it.
//
// A [Class] is safe for concurrent use; its encoders and decoders are for one
// goroutine each.
package preset

import (
	"fmt"
	"slices"
	"strings"

	"espalier/tokenize/model"
)

// A Class encodes as a public class does, special ids included.
type Class struct {
	// Frame has the special ids and the rules for pairs.
	Frame model.Frame

	rules  rules
	core   model.Tokenizer
	added  []model.Added
	byID   map[int32]*model.Added
	cut    *model.Cutter
	size   int
	untidy bool // decoded text is never tidied
}

var _ model.Tokenizer = (*Class)(nil)

// rules are what differs between classes.
type rules interface {
	// encoder returns what part needs.
	encoder() partEncoder
	// join appends the text of ids, of which the class's Decode has removed those
	// to skip.
	join(c *Class, dst []byte, ids []int32) ([]byte, error)
	// decoder returns a decoder that gives one id's text at a time.
	decoder(c *Class) model.Decoder
}

// A partEncoder encodes a text between added tokens.
type partEncoder interface {
	// part appends the ids of text[i:j]; first says that no part is before it.
	part(ids []int32, text string, i, j int, first bool) []int32
	// tokens is part for tokens, whose places are those in text.
	tokens(tokens []model.Token, text string, i, j int, first bool) []model.Token
}

// A finisher has the last word on the places of a text's tokens.
type finisher interface {
	finish(tokens []model.Token, from int, text string)
}

// A whole encodes texts with its own ways of cutting.
type whole interface {
	whole(c *Class, ids []int32, text string) []int32
	wholeTokens(c *Class, tokens []model.Token, text string) []model.Token
}

// newClass returns a class with the added tokens, in whose names Python's or
// Unicode's white space counts.
func newClass(core model.Tokenizer, r rules, added []model.Added, python bool) (*Class, error) {
	c := &Class{rules: r, core: core, added: added, byID: map[int32]*model.Added{}, size: core.Size()}
	for i := range added {
		c.byID[added[i].ID] = &added[i]
		c.size = max(c.size, int(added[i].ID)+1)
	}
	var err error
	c.cut, err = model.NewCutter(added, python)
	return c, err
}

// specials returns special added tokens of those names; the vocabulary must have
// them, or they get the ids behind it if missing is set.
func specials(core model.Tokenizer, missing bool, names ...string) ([]model.Added, error) {
	var out []model.Added
	next := int32(core.Size())
	for _, n := range names {
		id, ok := core.ID(n)
		if !ok && !missing {
			return nil, fmt.Errorf("the vocabulary has no %q", n)
		}
		if !ok {
			id = next
			next++
		}
		out = append(out, model.Added{Text: n, ID: id, Special: true})
	}
	return out, nil
}

// Size returns the number of ids, those of added tokens included.
func (c *Class) Size() int { return c.size }

// Piece returns the name of an id.
func (c *Class) Piece(id int32) string {
	if a := c.byID[id]; a != nil {
		return a.Text
	}
	return c.core.Piece(id)
}

// ID returns the id of a piece or added token and whether there is one.
func (c *Class) ID(piece string) (int32, bool) {
	for _, a := range c.added {
		if a.Text == piece {
			return a.ID, true
		}
	}
	return c.core.ID(piece)
}

// Specials returns the added tokens.
func (c *Class) Specials() []model.Added { return slices.Clone(c.added) }

// NewEncoder returns an encoder for one goroutine.
func (c *Class) NewEncoder() model.Encoder { return c.Encoder() }

// Encoder returns an encoder for one goroutine.
func (c *Class) Encoder() *Encoder {
	e := &Encoder{c: c, e: c.rules.encoder()}
	e.head, e.tail = c.Frame.Around()
	return e
}

// An Encoder encodes one text at a time.
type Encoder struct {
	c    *Class
	e    partEncoder
	a, b []int32

	head, tail []int32 // around one text
}

// Append appends the ids of a text, special ones around it.
func (e *Encoder) Append(ids []int32, text string) []int32 {
	f := &e.c.Frame
	ids = append(ids, e.head...)
	from := len(ids)
	ids = e.Body(ids, text)
	if f.OnceTail && len(f.Tail) == 1 && len(ids) > from && ids[len(ids)-1] == f.Tail[0] {
		return ids
	}
	return append(ids, e.tail...)
}

// Body appends the ids of a text without special ids around it.
func (e *Encoder) Body(ids []int32, text string) []int32 {
	if w, ok := e.e.(whole); ok {
		return w.whole(e.c, ids, text)
	}
	for k, first := e.c.cut.Cut(text), true; ; first = false {
		p, ok := k.Next()
		switch {
		case !ok:
			return ids
		case p.Added != nil:
			ids = append(ids, p.Added.ID)
		default:
			ids = e.e.part(ids, text, p.Start, p.End, first)
		}
	}
}

// AppendTokens appends the tokens of a text, special ones around it with empty
// places at the beginning.
func (e *Encoder) AppendTokens(tokens []model.Token, text string) []model.Token {
	f := &e.c.Frame
	around := func(ids []int32) {
		for _, id := range ids {
			tokens = append(tokens, model.Token{ID: id, Piece: e.c.Piece(id)})
		}
	}
	around(e.head)
	from := len(tokens)
	tokens = e.BodyTokens(tokens, text)
	if f.OnceTail && len(f.Tail) == 1 && len(tokens) > from && tokens[len(tokens)-1].ID == f.Tail[0] {
		return tokens
	}
	around(e.tail)
	return tokens
}

// BodyTokens is AppendTokens without special ids around the text.
func (e *Encoder) BodyTokens(tokens []model.Token, text string) []model.Token {
	if w, ok := e.e.(whole); ok {
		return w.wholeTokens(e.c, tokens, text)
	}
	from := len(tokens)
	for k, first := e.c.cut.Cut(text), true; ; first = false {
		p, ok := k.Next()
		switch {
		case !ok:
			if f, ok := e.e.(finisher); ok {
				f.finish(tokens, from, text)
			}
			return tokens
		case p.Added != nil:
			tokens = append(tokens, model.Token{ID: p.Added.ID, Start: int32(p.Start), End: int32(p.End), Piece: p.Added.Text})
		default:
			tokens = e.e.tokens(tokens, text, p.Start, p.End, first)
		}
	}
}

// Join encodes one text, or two.
func (e *Encoder) Join(a, b string, two bool, l model.Limits) (model.Encoding, error) {
	e.a = e.Body(e.a[:0], a)
	e.b = e.b[:0]
	if two {
		e.b = e.Body(e.b, b)
	}
	return e.c.Frame.Join(e.a, e.b, two && (e.c.Frame.Gentle || e.c.Frame.Empty || b != ""), l)
}

// Decode appends the text that ids stand for, special ones by name.
func (c *Class) Decode(dst []byte, ids []int32) ([]byte, error) {
	return c.DecodeWith(dst, ids, false, false)
}

// DecodeWith is Decode that may skip special tokens, and tidy blanks before
// punctuation, as the classes do.
func (c *Class) DecodeWith(dst []byte, ids []int32, skip, tidy bool) ([]byte, error) {
	for _, id := range ids {
		if id < 0 || int(id) >= c.size {
			return dst, fmt.Errorf("id %d: not in 0 to %d", id, c.size-1)
		}
	}
	if skip {
		ids = slices.DeleteFunc(slices.Clone(ids), func(id int32) bool { a := c.byID[id]; return a != nil && a.Special })
	}
	from := len(dst)
	dst, err := c.rules.join(c, dst, ids)
	if err == nil && tidy && !c.untidy {
		dst = append(dst[:from], tidied.Replace(string(dst[from:]))...)
	}
	return dst, err
}

// NewDecoder returns a decoder for one goroutine. It joins as the fast classes
// do, special tokens by name.
func (c *Class) NewDecoder() model.Decoder { return c.rules.decoder(c) }

// tidied is transformers' clean-up: each change goes over the whole text before
// the next one does.
var tidied = steps{
	{" .", "."},
	{" ?", "?"},
	{" !", "!"},
	{" ,", ","},
	{" ' ", "'"},
	{" n't", "n't"},
	{" 'm", "'m"},
	{" 's", "'s"},
	{" 've", "'ve"},
	{" 're", "'re"},
}

type steps [][2]string

// Replace makes the changes one after another.
func (s steps) Replace(text string) string {
	for _, x := range s {
		text = strings.ReplaceAll(text, x[0], x[1])
	}
	return text
}
