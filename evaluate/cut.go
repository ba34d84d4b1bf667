package evaluate

import (
	"context"
	"errors"
	"sync"

	"espalier/evaluate/ngram"
	"espalier/evaluate/ptb"
)

// A cutTexts is a corpus as numbers of words.
type cutTexts struct {
	words  ngram.Words
	fields *sentences
	pieces *sentences // cut at single blanks; fields itself where that is the same
	seen   []string   // digests of the tokens, if they are wanted
}

// sentences hold the word numbers of every prediction and reference.
type sentences struct {
	hyps [][]uint32
	refs [][][]uint32
}

// captions returns the corpus tokenised as the caption tools do (tok "ptb",
// the punctuation filter included) or split as it is ("none"). Predictions are
// one stream and references another; workers cut parts of them.
func (c *corpus) captions(ctx context.Context, tok string) (*cutTexts, error) {
	if t := c.cut[tok]; t != nil {
		return t, nil
	}
	workers := max(1, c.workers)
	parts := c.parts(workers)
	cutters := make([]*cutter, workers)
	each := func(do func(w *cutter, p *textPart)) {
		var wg sync.WaitGroup
		for k, w := range cutters {
			wg.Go(func() {
				for i := k; i < len(parts) && ctx.Err() == nil; i += workers {
					do(w, parts[i])
				}
			})
		}
		wg.Wait()
	}
	for k := range cutters {
		cutters[k] = newCutter(c, tok)
	}
	each((*cutter).cut)
	if err := errors.Join(ctx.Err(), firstFault(parts)); err != nil {
		return nil, err
	}
	t := &cutTexts{fields: c.empty()}
	t.pieces = t.fields
	for _, w := range cutters {
		w.here = t.words.Merge(&w.words)
	}
	for _, p := range parts {
		if p.odd != nil {
			t.pieces = c.empty()
			break
		}
	}
	each(func(w *cutter, p *textPart) { p.place(t, w.here) })
	if c.digest {
		t.seen = c.digests(parts)
	}
	if c.cut == nil {
		c.cut = make(map[string]*cutTexts)
	}
	c.cut[tok] = t
	return t, ctx.Err()
}

func (c *corpus) empty() *sentences {
	return &sentences{make([][]uint32, c.n()), make([][][]uint32, c.n())}
}

// A textPart is what one worker cuts in one go: the predictions or the
// references of some examples.
type textPart struct {
	c        *corpus
	refs     bool
	from, to int
	texts    int
	bytes    int

	ids   []uint32
	ends  []uint32         // of each text
	odd   map[int][]uint32 // pieces of texts that differ from their fields
	lines []string         // of tokens, if digests are wanted
	err   error            // a fault of the part's first text that has one
}

// partsPerWorker are few enough for each to be long, and enough to end at about
// the same time.
const partsPerWorker = 8

// parts divides both streams.
func (c *corpus) parts(workers int) []*textPart {
	all := c.n()
	for _, r := range c.References {
		all += len(r)
	}
	size := max(64, all/(partsPerWorker*workers))
	var out []*textPart
	for _, refs := range []bool{false, true} {
		p := &textPart{c: c, refs: refs}
		for i := range c.n() {
			n, bytes := 1, len(c.Predictions[i])
			if refs {
				n, bytes = len(c.References[i]), 0
				for _, r := range c.References[i] {
					bytes += len(r)
				}
			}
			if p.texts > 0 && p.texts+n > size {
				out = append(out, p)
				p = &textPart{c: c, refs: refs, from: i}
			}
			p.to, p.texts, p.bytes = i+1, p.texts+n, p.bytes+bytes
		}
		out = append(out, p)
	}
	return out
}

// reader returns a function that gives the part's texts, and then those that
// follow in the stream.
func (p *textPart) reader() func() (string, bool) {
	i, k := p.from, 0
	return func() (string, bool) {
		if !p.refs {
			if i++; i > p.c.n() {
				return "", false
			}
			return p.c.Predictions[i-1], true
		}
		for i < p.c.n() && k == len(p.c.References[i]) {
			i, k = i+1, 0
		}
		if i == p.c.n() {
			return "", false
		}
		k++
		return p.c.References[i][k-1], true
	}
}

// fault is the part's error in words.
func (p *textPart) fault() error {
	var e *ptb.LineBreakError
	if !errors.As(p.err, &e) {
		return p.err
	}
	i, refuse := p.from+int(e.Caption), p.c.refusePrediction
	if p.refs {
		n := int(e.Caption)
		for i = p.from; n >= len(p.c.References[i]); i++ {
			n -= len(p.c.References[i])
		}
		refuse = p.c.refuseReference
	}
	return refuse(i, "the text holds U+%04X, which begins a new line in the caption tools' tokenizer and would shift all later captions; take it out, or score with tok=none", e.Char)
}

// firstFault joins the first faults of the predictions and of the references.
func firstFault(parts []*textPart) error {
	var first [2]error
	for _, p := range parts {
		k := 0
		if p.refs {
			k = 1
		}
		if first[k] == nil {
			first[k] = p.fault()
		}
	}
	return errors.Join(first[0], first[1])
}

// place gives a part's texts to the examples, with the words' numbers of all.
func (p *textPart) place(t *cutTexts, here []uint32) {
	for i, id := range p.ids {
		p.ids[i] = here[id]
	}
	texts := make([][]uint32, p.texts)
	from := uint32(0)
	for k, end := range p.ends {
		texts[k], from = p.ids[from:end:end], end
	}
	p.give(t.fields, texts)
	if t.pieces == t.fields {
		return
	}
	if p.odd != nil {
		texts = append([][]uint32(nil), texts...)
	}
	for k, ids := range p.odd {
		for i, id := range ids {
			ids[i] = here[id]
		}
		texts[k] = ids
	}
	p.give(t.pieces, texts)
}

func (p *textPart) give(s *sentences, texts [][]uint32) {
	if !p.refs {
		copy(s.hyps[p.from:], texts)
		return
	}
	for i := p.from; i < p.to; i++ {
		n := len(p.c.References[i])
		s.refs[i], texts = texts[:n:n], texts[n:]
	}
}

// digests names the tokens of every example.
func (c *corpus) digests(parts []*textPart) []string {
	preds, refs := make([]string, 0, c.n()), []string(nil)
	for _, p := range parts {
		if p.refs {
			refs = append(refs, p.lines...)
		} else {
			preds = append(preds, p.lines...)
		}
	}
	out := make([]string, c.n())
	for i, p := range preds {
		n := len(c.References[i])
		out[i], refs = digest(p, refs[:n]), refs[n:]
	}
	return out
}

// A cutter is one worker of captions.
type cutter struct {
	ptb   *ptb.Tokenizer // nil: texts are split as they are
	words ngram.Words
	here  []uint32 // the words' numbers among those of all
	part  *textPart
}

func newCutter(c *corpus, tok string) *cutter {
	w := &cutter{}
	if tok == "ptb" {
		w.ptb = ptb.New(w.line)
	}
	return w
}

// bytesPerWord is about how long a word of a caption is with its blank.
const bytesPerWord = 5

// cut cuts the texts of a part.
func (w *cutter) cut(p *textPart) {
	w.part = p
	p.ends, p.ids = make([]uint32, 0, p.texts), make([]uint32, 0, p.texts+p.bytes/bytesPerWord)
	next := p.reader()
	if w.ptb == nil {
		for range p.texts {
			s, _ := next()
			w.text(s)
		}
		return
	}
	p.err = w.ptb.Part(p.texts, next)
}

// line takes the next line of tokens.
func (w *cutter) line(tokens []byte) {
	p := w.part
	if p.c.digest || !singleBlanks(tokens) {
		w.text(string(ptb.Filter(tokens)))
		return
	}
	before := len(p.ids)
	for from := 0; from < len(tokens); {
		to := from
		for to < len(tokens) && tokens[to] != ' ' {
			to++
		}
		if word := tokens[from:to]; !ptb.Punctuation(word) {
			p.ids = append(p.ids, w.words.Bytes(word))
		}
		from = to + 1
	}
	if len(p.ids) == before {
		w.text("")
		return
	}
	p.ends = append(p.ends, uint32(len(p.ids)))
}

// text takes the next text, split at white space and at single blanks.
func (w *cutter) text(s string) {
	p := w.part
	if p.c.digest {
		p.lines = append(p.lines, s)
	}
	p.ids = w.words.Fields(p.ids, s)
	if !singleBlanks(s) {
		if p.odd == nil {
			p.odd = make(map[int][]uint32)
		}
		p.odd[len(p.ends)] = w.words.Cut(nil, s)
	}
	p.ends = append(p.ends, uint32(len(p.ids)))
}

// singleBlanks reports that s has words with single blanks between them and
// nothing else that Python's split would cut at.
func singleBlanks[T string | []byte](s T) bool {
	if len(s) == 0 || s[0] == ' ' || s[len(s)-1] == ' ' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c >= 0x80 || c == ' ' && s[i+1] == ' ' {
			return false
		}
	}
	return true
}
