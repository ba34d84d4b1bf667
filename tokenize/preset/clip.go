package preset

import (
	"strings"
	"unicode/utf8"

	"espalier/tokenize/bytebpe"
	"espalier/tokenize/chars"
	"espalier/tokenize/mend"
	"espalier/tokenize/model"
)

// A CLIPStyle says whose CLIP tokenizer is meant.
type CLIPStyle int

// Styles of CLIP.
const (
	OpenCLIP CLIPStyle = iota
	OpenAI             // special tokens written in text are found
	CLIPSlow           // transformers' class written in Python, with ftfy
	CLIPFast           // the converted one: NFC and lower case only
	CLIPV5             // transformers 5, likewise
)

// A Cleaning says how open_clip cleans text.
type Cleaning int

// Ways to clean.
const (
	Lower        Cleaning = iota // repair, unescape entities twice, one blank for white space, lower case
	Whitespace                   // the same without lower case
	Canonicalize                 // Lower without ASCII punctuation
)

// CLIPOptions choose between the behaviours of the CLIP classes.
type CLIPOptions struct {
	Style CLIPStyle
	Clean Cleaning // of OpenCLIP
}

// CLIP is the CLIP class of CLIP's list of merges.
func CLIP(merges [][2]string, o CLIPOptions) (*Class, error) {
	pattern, names := bytebpe.CLIP, []string{"<|startoftext|>", "<|endoftext|>"}
	if o.Style == OpenCLIP {
		names = []string{"<start_of_text>", "<end_of_text>"}
	} else if o.Style >= CLIPFast {
		pattern = bytebpe.CLIPFast
	}
	m, err := bytebpe.NewCLIP(merges, pattern, names...)
	if err != nil {
		return nil, err
	}
	added, err := specials(m, false, names...)
	if err != nil {
		return nil, err
	}
	if o.Style != CLIPFast {
		if err := m.Name(names...); err != nil {
			return nil, err
		}
	}
	c, err := newClass(m, &clipRules{m: m, o: o}, added, o.Style == CLIPSlow)
	if err != nil {
		return nil, err
	}
	if o.Style != OpenCLIP || o.Clean == Lower {
		m.Fold()
	}
	c.untidy = o.Style == CLIPV5
	start, end := added[0].ID, added[1].ID
	c.Frame = model.Frame{Head: []int32{start}, Tail: []int32{end}, Between: []int32{end, end}, Gentle: o.Style == CLIPSlow}
	if o.Style >= CLIPSlow {
		c.Frame.Pad = end
	}
	return c, nil
}

type clipRules struct {
	m *bytebpe.Model
	o CLIPOptions
}

func (r *clipRules) encoder() partEncoder {
	p := clipParts{e: r.m.NewEncoder(), r: r, mend: mend.New(), norm: chars.NewNormalizer(true), table: chars.Load()}
	switch {
	case r.o.Style < CLIPSlow:
		return &clipText{p}
	case r.o.Style == CLIPFast:
		return &clipNormal{p}
	}
	return &p
}

func (r *clipRules) join(_ *Class, dst []byte, ids []int32) ([]byte, error) {
	from := len(dst)
	dst, err := r.m.Decode(dst, ids)
	if err == nil && r.o.Style >= CLIPSlow {
		s := strings.TrimFunc(string(dst[from:]), pythonSpace)
		dst = append(dst[:from], s...)
	}
	return dst, err
}

func (r *clipRules) decoder(*Class) model.Decoder { return r.m.NewDecoder() }

// clipParts clean and encode the parts between special tokens.
type clipParts struct {
	e     model.Encoder
	r     *clipRules
	mend  *mend.Mender
	norm  *chars.Normalizer
	table *chars.Table
	buf   []byte
	lower []byte
	from  []place // of the cleaned text's bytes
}

// A place is a part of the text.
type place struct{ start, end int32 }

func (e *clipParts) part(ids []int32, text string, i, j int, _ bool) []int32 {
	if text = text[i:j]; easy(text) && (e.r.o.Style != OpenCLIP || e.r.o.Clean == Lower) {
		return e.e.Append(ids, text) // in lower case by itself; white space is only passed over
	}
	i, j = 0, len(text)
	return e.e.Append(ids, e.clean(text[i:j], false))
}

func (e *clipParts) tokens(tokens []model.Token, text string, i, j int, _ bool) []model.Token {
	from := len(tokens)
	tokens = e.e.AppendTokens(tokens, e.clean(text[i:j], true))
	for k := from; k < len(tokens); k++ {
		t := &tokens[k]
		t.Start, t.End = int32(i)+e.from[t.Start].start, int32(i)+e.from[t.End-1].end
	}
	return tokens
}

// repair undoes what is wrong with a text.
func (e *clipParts) repair(text string) string {
	switch {
	case e.r.o.Style >= CLIPFast:
		return string(e.norm.AppendNFC(nil, text))
	case e.r.o.Style == CLIPSlow:
		return e.mend.Fix(text)
	}
	return mend.Unescape(mend.Unescape(e.mend.Fix(text)))
}

// easy reports whether a text is ASCII that needs no repair. It looks at eight
// bytes at a time, of which a blank or visible one other than & leaves no trace.
func easy(text string) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; len(text)-i >= 8; i += 8 {
		s := text[i : i+8]
		v := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		amp, del := v^'&'*ones, v^0x7F*ones
		if (v|(v-' '*ones)&^v|(amp-ones)&^amp|(del-ones)&^del)&highs != 0 && !easyBytes(s) {
			return false
		}
	}
	return easyBytes(text[i:])
}

func easyBytes(text string) bool {
	for i := range len(text) {
		if c := text[i]; c >= 0x7F || c < ' ' && c != '\t' && c != '\n' || c == '&' {
			return false
		}
	}
	return true
}

// clean returns the cleaned text, which is valid until the next call. If mapped,
// from then has the place in the text of each of its bytes: that of a character,
// or, between the first and the last character that repair changed, that of all
// of them.
func (e *clipParts) clean(text string, mapped bool) string {
	fixed := text
	if !easy(text) {
		fixed = e.repair(text)
	}
	canonical := e.r.o.Clean == Canonicalize && e.r.o.Style == OpenCLIP
	var places []place
	if mapped {
		places = align(text, fixed)
	}
	e.buf, e.from = e.buf[:0], e.from[:0]
	blank := false // white space is before
	for i := 0; i < len(fixed); {
		r, size := rune(fixed[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(fixed[i:])
		}
		switch {
		case r == ' ' || e.space(r) || canonical && r == '_':
			blank = true
		case canonical && r < utf8.RuneSelf && r > ' ' && r < 0x7F && !alphanumeric(r):
		default:
			if blank && len(e.buf) > 0 {
				e.buf = append(e.buf, ' ')
				if mapped {
					e.from = append(e.from, places[i-1])
				}
			}
			blank = false
			e.buf = append(e.buf, fixed[i:i+size]...)
			if mapped {
				for range size {
					e.from = append(e.from, places[i])
				}
			}
		}
		i += size
	}
	if e.r.o.Clean == Whitespace && e.r.o.Style == OpenCLIP {
		return str(e.buf)
	}
	return e.lowered(mapped)
}

// lowered returns the buffer in lower case.
func (e *clipParts) lowered(mapped bool) string {
	text := str(e.buf)
	ascii := true
	for i, c := range e.buf {
		if c >= utf8.RuneSelf {
			ascii = false
			break
		}
		if 'A' <= c && c <= 'Z' {
			e.buf[i] = c + 'a' - 'A'
		}
	}
	if ascii {
		return text
	}
	if e.r.o.Style >= CLIPFast {
		e.lower = e.table.AppendLowerFast(e.lower[:0], text)
	} else {
		e.lower = e.table.AppendLower(e.lower[:0], text)
	}
	if mapped && len(e.lower) != len(e.buf) {
		e.remap(text)
	}
	return str(e.lower)
}

// remap gives each byte of the lower case, whose characters may be of other
// lengths or two instead of one, its place.
func (e *clipParts) remap(text string) {
	var from []place
	for i, r := range text {
		n := len(e.table.AppendLowerFast(nil, string(r)))
		if e.r.o.Style < CLIPFast {
			n = len(e.table.AppendLower(nil, string(r))) // as long at the end of a word
		}
		for range n {
			from = append(from, e.from[i])
		}
	}
	e.from = from
}

// space reports whether a character is white space: Python adds four control
// characters to Unicode's.
func (e *clipParts) space(r rune) bool {
	if r < utf8.RuneSelf {
		return 9 <= r && r <= 13 || 0x1C <= r && r <= 0x1F && e.r.o.Style < CLIPFast
	}
	return e.table.Of(r)&chars.Space != 0
}

func alphanumeric(r rune) bool {
	return 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9'
}

// align gives each byte of a changed text a place in the original: its
// character's own in what both begin and end with, and the whole rest in between.
func align(text, changed string) []place {
	same, tail := 0, 0
	for same < len(text) && same < len(changed) && text[same] == changed[same] {
		same++
	}
	for same > 0 && (same < len(text) && !utf8.RuneStart(text[same]) || same < len(changed) && !utf8.RuneStart(changed[same])) {
		same--
	}
	for tail < len(text)-same && tail < len(changed)-same && text[len(text)-1-tail] == changed[len(changed)-1-tail] {
		tail++
	}
	for tail > 0 && (!utf8.RuneStart(text[len(text)-tail]) || !utf8.RuneStart(changed[len(changed)-tail])) {
		tail--
	}
	places := make([]place, len(changed))
	for i := range changed {
		p := place{int32(same), int32(len(text) - tail)}
		_, size := utf8.DecodeRuneInString(changed[i:])
		switch at := len(text) - len(changed) + i; {
		case i < same:
			p = place{int32(i), int32(i + size)}
		case i >= len(changed)-tail:
			p = place{int32(at), int32(at + size)}
		}
		for k := range size {
			places[i+k] = p
		}
	}
	return places
}

// A clipText cleans the whole text; special tokens are found by the pattern.
type clipText struct{ clipParts }

func (e *clipText) whole(_ *Class, ids []int32, text string) []int32 {
	return e.part(ids, text, 0, len(text), true)
}

func (e *clipText) wholeTokens(_ *Class, tokens []model.Token, text string) []model.Token {
	return e.tokens(tokens, text, 0, len(text), true)
}

// A clipNormal cleans the whole text and finds special tokens in what comes out,
// so that capitals make no difference to them.
type clipNormal struct{ clipParts }

func (e *clipNormal) whole(c *Class, ids []int32, text string) []int32 {
	clean := e.clean(text, false)
	for k := c.cut.Cut(clean); ; {
		p, ok := k.Next()
		switch {
		case !ok:
			return ids
		case p.Added != nil:
			ids = append(ids, p.Added.ID)
		default:
			ids = e.e.Append(ids, clean[p.Start:p.End])
		}
	}
}

func (e *clipNormal) wholeTokens(c *Class, tokens []model.Token, text string) []model.Token {
	clean, from := e.clean(text, true), len(tokens)
	for k := c.cut.Cut(clean); ; {
		p, ok := k.Next()
		switch {
		case !ok:
			for i := from; i < len(tokens); i++ {
				t := &tokens[i]
				t.Start, t.End = e.from[t.Start].start, e.from[t.End-1].end
			}
			return tokens
		case p.Added != nil:
			tokens = append(tokens, model.Token{ID: p.Added.ID, Start: int32(p.Start), End: int32(p.End), Piece: p.Added.Text})
		default:
			tokens = shift(e.e.AppendTokens(tokens, clean[p.Start:p.End]), len(tokens), p.Start)
		}
	}
}
