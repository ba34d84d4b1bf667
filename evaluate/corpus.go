package evaluate

import (
	"context"
	"errors"
	"slices"
	"sync"

	"espalier/evaluate/input"
	"espalier/evaluate/ngram"
	"espalier/evaluate/ptb"
)

// A corpus is what a set of metrics scores, with what several of them need of
// it: texts as numbers of words, made once for each way to tokenise.
type corpus struct {
	*input.Joined
	attributes []string // their names
	predFile   string
	pred       input.Source // where predictions were read, for messages; no path if nowhere
	alone      bool         // predictions without references
	workers    int
	cut        map[string]*cutTexts
	digest     bool // digests of the PTB tokens are wanted
	kept       map[family]*keptRows
}

// n is the number of examples.
func (c *corpus) n() int { return len(c.Predictions) }

// A cutTexts is a corpus as numbers of words.
type cutTexts struct {
	words  ngram.Words
	fields *sentences
	pieces *sentences // cut at single blanks; shares fields' slices where that is the same
	seen   []string   // digests of the tokens, if they are wanted
	ids    []uint32   // what is left of the block that texts' numbers are cut from
}

// sentences hold the word numbers of every prediction and reference.
type sentences struct {
	hyps [][]uint32
	refs [][][]uint32
}

// captions returns the corpus tokenised as the caption tools do (tok "ptb",
// the punctuation filter included) or split as it is ("none").
func (c *corpus) captions(ctx context.Context, tok string) (*cutTexts, error) {
	if t := c.cut[tok]; t != nil {
		return t, nil
	}
	preds, refs := c.Predictions, c.References
	if tok == "ptb" {
		var err error
		if preds, refs, err = c.ptb(ctx); err != nil {
			return nil, err
		}
	}
	t := &cutTexts{fields: &sentences{}, pieces: &sentences{}}
	for i := range preds {
		if i%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		f, p := t.add(preds[i])
		t.fields.hyps, t.pieces.hyps = append(t.fields.hyps, f), append(t.pieces.hyps, p)
		fs := make([][]uint32, len(refs[i]))
		ps := fs // of most texts both are the same
		for j, r := range refs[i] {
			f, p := t.add(r)
			if j == 0 && !sameSlice(f, p) || j > 0 && &ps[0] == &fs[0] && !sameSlice(f, p) {
				ps = slices.Clone(fs)
			}
			fs[j], ps[j] = f, p
		}
		t.fields.refs, t.pieces.refs = append(t.fields.refs, fs), append(t.pieces.refs, ps)
		if c.digest {
			t.seen = append(t.seen, digest(preds[i], refs[i]))
		}
		if tok == "ptb" {
			preds[i], refs[i] = "", nil // their memory may go while the rest is numbered
		}
	}
	if c.cut == nil {
		c.cut = make(map[string]*cutTexts)
	}
	c.cut[tok] = t
	return t, nil
}

func sameSlice(a, b []uint32) bool {
	return len(a) > 0 && len(a) == len(b) && &a[0] == &b[0]
}

// add numbers a text both ways.
func (t *cutTexts) add(s string) (fields, pieces []uint32) {
	from := len(t.ids)
	t.ids = t.words.Fields(t.ids, s)
	fields = t.ids[from:len(t.ids):len(t.ids)]
	if cap(t.ids)-len(t.ids) < 1<<12 {
		t.ids = make([]uint32, 0, 1<<18)
	}
	if singleBlanks(s) {
		return fields, fields
	}
	return fields, t.words.Cut(nil, s)
}

// singleBlanks reports that s has words with single blanks between them and
// nothing else that Python's split would cut at.
func singleBlanks(s string) bool {
	if s == "" || s[0] == ' ' || s[len(s)-1] == ' ' {
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

// ptb tokenises predictions as one stream and references as another.
func (c *corpus) ptb(ctx context.Context) (preds []string, refs [][]string, err error) {
	var hypErr, refErr error
	refs = make([][]string, len(c.References))
	tokenise := func(feed func(t *ptb.Tokenizer) error, keep func(line string)) error {
		t := ptb.New(func(line []byte) { keep(string(ptb.Filter(line))) })
		if err := feed(t); err != nil {
			return err
		}
		t.Close()
		return nil
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		hypErr = tokenise(func(t *ptb.Tokenizer) error {
			for i, p := range c.Predictions {
				if err := c.feed(ctx, t, p, i, c.refusePrediction); err != nil {
					return err
				}
			}
			return nil
		}, func(line string) { preds = append(preds, line) })
	})
	i := 0
	refErr = tokenise(func(t *ptb.Tokenizer) error {
		for i, rs := range c.References {
			for _, r := range rs {
				if err := c.feed(ctx, t, r, i, c.refuseReference); err != nil {
					return err
				}
			}
		}
		return nil
	}, func(line string) {
		for len(refs[i]) == len(c.References[i]) {
			i++
		}
		refs[i] = append(refs[i], line)
	})
	wg.Wait()
	return preds, refs, errors.Join(hypErr, refErr)
}

func (c *corpus) feed(ctx context.Context, t *ptb.Tokenizer, s string, i int, refuse func(i int, format string, args ...any) error) error {
	if i%4096 == 0 && ctx.Err() != nil {
		return ctx.Err()
	}
	var e *ptb.LineBreakError
	if err := t.Feed(s); errors.As(err, &e) {
		return refuse(i, "the text holds U+%04X, which begins a new line in the caption tools' tokenizer and would shift all later captions; take it out, or score with tok=none", e.Char)
	} else if err != nil {
		return err
	}
	return nil
}
