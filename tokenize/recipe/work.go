package recipe

import (
	"unicode/utf8"
	"unsafe"

	"espalier/tokenize/chars"
	"espalier/tokenize/merge"
	"espalier/tokenize/model"
)

// A place is a part of the original text.
type place struct{ start, end int32 }

// A part is text[from:to], and where it began in the original when it was cut
// out.
type part struct {
	from, to int32
	start    int32
}

// work is the text on its way through the steps. It is for one goroutine.
type work struct {
	t      *Tokenizer
	text   []byte  // between two added tokens, as far as it is changed
	from   []place // of its bytes, if mapped is set
	mapped bool
	at     int32 // where text begins in the original

	other     []byte // what text becomes
	otherFrom []place
	offset    int // of text: what is consumed
	parts     []part
	otherPart []part

	runes   []rune // of a text to be, and how each came to be
	changes []int32

	norm     *chars.Normalizer
	merger   merge.Merger
	pieces   []piece
	ids      []int32
	sizes    []int32
	nodes    []node
	buf      []byte
	first    int // tokens before the text's own
	original string
	fixed    []byte  // a text that was not UTF-8
	fixes    []int32 // where its bytes come from

	whole     []byte // of which text is a part
	wholeFrom []place
}

func (t *Tokenizer) work() *work { return &work{t: t, norm: chars.NewNormalizer(true)} }

// str is the string of bytes that do not change while it is used.
func str(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// load begins with the part text[i:j] of an original.
func (w *work) load(text string, i, j int, mapped bool) {
	w.text = append(w.text[:0], text[i:j]...)
	w.mapped, w.at = mapped, int32(i)
	if !mapped {
		return
	}
	w.from = w.from[:0]
	for k := i; k < j; {
		_, size := utf8.DecodeRuneInString(text[k:j])
		for range size {
			w.from = append(w.from, place{int32(k), int32(k + size)})
		}
		k += size
	}
}

// ascii reports whether the text is ASCII.
func (w *work) ascii() bool {
	for _, c := range w.text {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// begin begins to write what takes the place of the text from a place on.
func (w *work) begin(offset int) {
	w.other, w.otherFrom = w.other[:0], w.otherFrom[:0]
	w.offset = offset
}

// put writes a character. A change of 0 says that it takes the place of the next
// one of the text, of -n that n more go, and of 1 that it is new: it has the
// place of what is before it.
func (w *work) put(r rune, change int32) {
	var p place
	if w.mapped {
		switch k := w.offset; {
		case change > 0 && k > 0:
			p = w.from[k-1]
		case change <= 0 && k < len(w.from):
			p = w.from[k]
		}
	}
	for n := change; n <= 0 && w.offset < len(w.text); n++ {
		_, size := utf8.DecodeRune(w.text[w.offset:])
		w.offset += size
	}
	n := len(w.other)
	w.other = utf8.AppendRune(w.other, r)
	if w.mapped {
		for range len(w.other) - n {
			w.otherFrom = append(w.otherFrom, p)
		}
	}
}

// keep writes the next bytes of the text as they are.
func (w *work) keep(n int) {
	w.other = append(w.other, w.text[w.offset:w.offset+n]...)
	if w.mapped {
		w.otherFrom = append(w.otherFrom, w.from[w.offset:w.offset+n]...)
	}
	w.offset += n
}

// drop passes over the next bytes of the text.
func (w *work) drop(n int) { w.offset += n }

// end puts what was written in the place of the text.
func (w *work) end() {
	w.text, w.other = w.other, w.text
	w.from, w.otherFrom = w.otherFrom, w.from
}

// place returns the part of the original that text[i:j], not empty, comes from.
func (w *work) place(i, j int32) (start, end int32) {
	return w.from[i].start, w.from[j-1].end
}

// start returns where text[i:] begins in the original, which matters only if it
// is at its beginning.
func (w *work) start(i int32) int32 {
	if w.mapped && int(i) < len(w.from) {
		return w.from[i].start
	}
	return w.at + i
}

// An Encoder encodes one text at a time, for one goroutine.
type Encoder struct{ w *work }

// NewEncoder returns an encoder for one goroutine.
func (t *Tokenizer) NewEncoder() model.Encoder { return &Encoder{t.work()} }

// Append appends the ids of a text, special ones that are not in it left out.
func (e *Encoder) Append(ids []int32, text string) []int32 {
	ids, _ = e.w.run(ids, nil, text, false)
	return ids
}

// AppendTokens appends the tokens of a text.
func (e *Encoder) AppendTokens(tokens []model.Token, text string) []model.Token {
	_, tokens = e.w.run(nil, tokens, text, true)
	return tokens
}

// run appends the ids or the tokens of a text.
func (w *work) run(ids []int32, tokens []model.Token, text string, spans bool) ([]int32, []model.Token) {
	t := w.t
	valid := utf8.ValidString(text)
	if !valid {
		text = w.repair(text)
	}
	first := len(tokens)
	w.original, w.first = text, first
	var s scan
	for {
		p, ok := t.raw.next(&s, text)
		if !ok {
			break
		}
		if p.token != nil {
			if spans {
				k := model.Token{ID: p.token.ID, Start: int32(p.from), End: int32(p.to), Piece: t.vocab[p.token.ID]}
				tokens = w.add(tokens, k, text[p.from:p.to])
			} else {
				ids = append(ids, p.token.ID)
			}
			continue
		}
		ids, tokens = w.between(ids, tokens, text, p.from, p.to, spans)
	}
	if !valid {
		for k := first; k < len(tokens); k++ {
			x := &tokens[k]
			x.Start, x.End = w.fixes[x.Start], w.fixes[x.End]
		}
	}
	return ids, tokens
}

// repair returns a text with U+FFFD for each byte that is not UTF-8; fixes has
// the places of its bytes, and of its end, in the text.
func (w *work) repair(text string) string {
	w.fixed, w.fixes = w.fixed[:0], w.fixes[:0]
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		n := len(w.fixed)
		w.fixed = utf8.AppendRune(w.fixed, r)
		for k := range len(w.fixed) - n {
			w.fixes = append(w.fixes, int32(i+min(k, size-1)))
		}
		i += size
	}
	w.fixes = append(w.fixes, int32(len(text)))
	return str(w.fixed)
}

// between encodes text[i:j], which is between two added tokens of the text as it
// is.
func (w *work) between(ids []int32, tokens []model.Token, text string, i, j int, spans bool) ([]int32, []model.Token) {
	t := w.t
	w.load(text, i, j, spans || t.places)
	for _, n := range t.normalize {
		n.normalize(w)
	}
	if len(t.normal.tokens) == 0 {
		return w.stretch(ids, tokens, spans, part{0, int32(len(w.text)), w.start(0)})
	}
	// the steps write in the place of the text
	w.whole, w.wholeFrom = append(w.whole[:0], w.text...), append(w.wholeFrom[:0], w.from...)
	var s scan
	for {
		p, ok := t.normal.next(&s, str(w.whole))
		if !ok {
			return ids, tokens
		}
		if p.token == nil {
			w.text = append(w.text[:0], w.whole[p.from:p.to]...)
			if w.mapped {
				w.from = append(w.from[:0], w.wholeFrom[p.from:p.to]...)
			}
			ids, tokens = w.stretch(ids, tokens, spans, part{0, int32(p.to - p.from), w.start(0)})
			continue
		}
		if spans {
			start, end := w.wholeFrom[p.from].start, w.wholeFrom[p.to-1].end
			k := model.Token{ID: p.token.ID, Start: start, End: end, Piece: t.vocab[p.token.ID]}
			tokens = w.add(tokens, k, str(w.whole[p.from:p.to]))
		} else {
			ids = append(ids, p.token.ID)
		}
	}
}

// stretch encodes the text, in which no added token is any more.
func (w *work) stretch(ids []int32, tokens []model.Token, spans bool, whole part) ([]int32, []model.Token) {
	t := w.t
	if whole.to == 0 {
		return ids, tokens
	}
	w.parts = append(w.parts[:0], whole)
	for _, s := range t.split {
		w.otherPart = w.otherPart[:0]
		s.split(w)
		w.parts, w.otherPart = w.otherPart, w.parts
	}
	text := str(w.text)
	for _, p := range w.parts {
		if spans {
			tokens = w.tokens(tokens, text, p)
			continue
		}
		i, j := int(p.from), int(p.to)
		ref, hash := t.words.Find(text, i, j)
		if ref != 0 {
			ids = t.words.Append(ids, ref)
			continue
		}
		w.pieces = w.pieces[:0]
		t.core.cut(w, text[i:j])
		from := len(ids)
		for _, x := range w.pieces {
			ids = append(ids, x.id)
		}
		t.words.Add(text, i, j, hash, ids[from:], 0)
	}
	return ids, tokens
}

// tokens appends the tokens of a word.
func (w *work) tokens(tokens []model.Token, text string, p part) []model.Token {
	w.pieces = w.pieces[:0]
	w.t.core.cut(w, text[p.from:p.to])
	at := p.from
	for _, x := range w.pieces {
		k := model.Token{ID: x.id, Piece: w.t.vocab[x.id]}
		if x.within {
			at -= x.size
		}
		end := at + x.size
		if x.unseen {
			k.Piece = string(w.text[at:end])
			if w.t.bytes {
				k.Piece = alphabetOf(k.Piece)
			}
		}
		if x.size > 0 {
			k.Start, k.End = w.place(at, end)
		} else {
			k.Start, k.End = w.start(at), w.start(at)
		}
		tokens = w.add(tokens, k, k.Piece)
		at = end
	}
	return tokens
}

// add appends a token, whose place is trimmed as what it was made of says.
func (w *work) add(tokens []model.Token, k model.Token, of string) []model.Token {
	if w.t.trim.on {
		w.t.trim.trim(&k, of, w.original, len(tokens) == w.first)
	}
	return append(tokens, k)
}
