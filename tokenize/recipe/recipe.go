// Package recipe runs a tokenizer.json as the Hugging Face tokenizers library
// (0.22, 0.23) runs it: added tokens, normalizer, pre-tokenizer, model,
// post-processor and decoder are what the file says.
//
// A [Tokenizer] is immutable but for its memory of words and safe for concurrent
// use. Steps that are not known are refused by [New], by name. Bytes of a text
// that are not UTF-8 count as U+FFFD each.
package recipe

import (
	"errors"
	"fmt"

	"espalier/tokenize/chars"
	"espalier/tokenize/memo"
	"espalier/tokenize/model"
	"espalier/tokenize/pattern"
	"espalier/tokenize/vocab"
)

// MaxPiece is the longest piece that is accepted, in bytes.
const MaxPiece = 4096

// A Tokenizer is a tokenizer.json.
type Tokenizer struct {
	core      core
	vocab     []string         // by id, added tokens too
	index     *memo.Index      // of the model's pieces
	more      map[string]int32 // added tokens that the model has not
	empty     []int32          // added tokens whose name is ""
	raw       *cutter          // added tokens that are looked for in the text as it is
	normal    *cutter          // in the normal form
	added     []model.Added
	normalize []normalizer
	split     []splitter
	bytes     bool // words are written in the byte alphabet behind all steps
	places    bool // places are needed to cut words
	decode    []decoder
	apart     bool // there is no decoder: blanks stand between pieces
	frame     model.Frame
	trim      trimming
	unknown   int32
	words     *memo.Table
	table     *chars.Table
}

// A core cuts words into pieces.
type core interface {
	// cut appends the pieces of a word to the work's own. A word is not empty.
	cut(w *work, word string)
}

// A piece of a word.
type piece struct {
	id     int32
	size   int32 // bytes of the word
	unseen bool  // named by its text
	within bool  // a byte of those the one before is of, with its place
}

// A trimming says what of white space counts to the places of tokens.
type trimming struct{ on, prefix bool }

var _ model.Tokenizer = (*Tokenizer)(nil)

// Options are what differs between releases of the library.
type Options struct {
	// Renamed gives added tokens that are looked for in the normal form the name
	// that they have there, since 0.23: as pieces and in decoded texts. One is
	// left out as special if that is the text of a special token.
	Renamed bool
}

// New returns the tokenizer of a file.
func New(v *vocab.Tokenizer, o Options) (*Tokenizer, error) {
	t := &Tokenizer{words: memo.New(17), table: chars.Load(), frame: model.Frame{SecondType: 1}}
	for i, p := range v.Vocab {
		if len(p) > MaxPiece {
			return nil, fmt.Errorf("piece %d: %d bytes, at most %d", i, len(p), MaxPiece)
		}
	}
	if err := t.addTokens(v); err != nil {
		return nil, err
	}
	specs := [...]struct {
		name, json string
		read       func(spec) error
	}{
		{"normalizer", v.Normalizer, func(s spec) (err error) { t.normalize, err = s.normalizers(); return err }},
		{"pre_tokenizer", v.PreTokenizer, func(s spec) (err error) { t.split, err = s.splitters(); return err }},
		{"post_processor", v.PostProcessor, func(s spec) error { return s.post(t) }},
		{"decoder", v.Decoder, func(s spec) (err error) { t.decode, err = s.decoders(); return err }},
	}
	for _, x := range specs {
		s, ok, err := parseSpec(x.json)
		if err == nil && ok {
			err = x.read(s)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.name, err)
		}
	}
	if n := len(t.split); n > 0 && kindOf(v) == "BPE" {
		if b, ok := t.split[n-1].(*byteLevel); ok {
			b.last, t.bytes = true, true
		}
	}
	for _, s := range t.split {
		if m, ok := s.(*metaspace); ok && m.scheme == schemeFirst {
			t.places = true
		}
	}
	t.apart = v.Decoder == ""
	var err error
	if t.core, err = t.newCore(v); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	t.unknown = v.UnknownID
	if id, ok := t.ID(v.Unknown); ok && v.Unknown != "" {
		t.unknown = id
	}
	t.frame.Pad, t.frame.Empty = t.padding(), true
	return t, t.newCutters(v.Added, o)
}

// padding returns the id of what padding is called as a rule, 0 if nothing is.
func (t *Tokenizer) padding() int32 {
	for _, name := range []string{"<pad>", "[PAD]", "<|pad|>", "<|endoftext|>", "</s>"} {
		if id, ok := t.ID(name); ok {
			return id
		}
	}
	return 0
}

// addTokens makes the vocabulary, ids of added tokens included: those that the
// model knows keep their ids, others get the next ones, whatever the file says.
func (t *Tokenizer) addTokens(v *vocab.Tokenizer) error {
	t.vocab = append(make([]string, 0, len(v.Vocab)+len(v.Added)), v.Vocab...)
	t.index = memo.NewIndex(v.Vocab, func(i int) bool { return v.Vocab[i] != "" })
	t.more = map[string]int32{}
	most := int32(-1)
	for i := range v.Added {
		a := &v.Added[i]
		if a.Text == "" {
			a.ID = -1
			continue
		}
		if len(a.Text) > MaxPiece {
			return fmt.Errorf("added token %d: %d bytes, at most %d", a.ID, len(a.Text), MaxPiece)
		}
		id, ok := t.ID(a.Text)
		if !ok {
			id = int32(v.Pieces)
			if most >= id || v.Pieces == 0 {
				id = most + 1
			}
			if id >= vocab.MaxSize {
				return errors.New("added tokens: too many ids")
			}
			t.more[a.Text] = id
		}
		a.ID = id
		most = max(most, id)
		for int(id) >= len(t.vocab) {
			t.vocab = append(t.vocab, "")
		}
		t.vocab[id] = a.Text
	}
	return nil
}

// newCutters makes what finds added tokens. Of tokens with one text the last
// one's ways count, of those with one normal form the first special one, or else
// the first.
func (t *Tokenizer) newCutters(tokens []vocab.Added, o Options) error {
	last, special := map[int32]int{}, map[string]bool{}
	for i, a := range tokens {
		special[a.Text] = special[a.Text] || a.Special
		if a.ID >= 0 {
			last[a.ID] = i
		}
	}
	var raw, normal []vocab.Added
	var names []string
	place := map[string]int{}
	w := t.work()
	for i, a := range tokens {
		if a.ID < 0 || last[a.ID] != i {
			continue
		}
		t.added = append(t.added, model.Added{Text: a.Text, ID: a.ID, LStrip: a.LStrip, RStrip: a.RStrip, SingleWord: a.SingleWord, Special: a.Special})
		if !a.Normalized {
			raw = append(raw, a)
			continue
		}
		w.load(a.Text, 0, len(a.Text), false)
		for _, n := range t.normalize {
			n.normalize(w)
		}
		name := string(w.text)
		k, twice := place[name]
		switch {
		case twice && a.Special && !normal[k].Special:
			normal[k] = a
		case !twice && name != "":
			place[name] = len(normal)
			normal = append(normal, a)
			names = append(names, name)
		}
		if o.Renamed {
			t.rename(a.ID, name)
			t.added[len(t.added)-1].Special = special[name]
		}
	}
	rawNames := make([]string, len(raw))
	for i, a := range raw {
		rawNames[i] = a.Text
	}
	var err error
	if t.raw, err = newCutter(raw, rawNames); err == nil {
		t.normal, err = newCutter(normal, names)
	}
	return err
}

// rename gives an added token another name, which may be empty.
func (t *Tokenizer) rename(id int32, name string) {
	t.vocab[id] = name
	if name == "" {
		t.empty = append(t.empty, id)
	}
}

// Size returns the number of ids.
func (t *Tokenizer) Size() int { return len(t.vocab) }

// Piece returns the name of an id, "" if it has none.
func (t *Tokenizer) Piece(id int32) string {
	if id < 0 || int(id) >= len(t.vocab) {
		return ""
	}
	return t.vocab[id]
}

// ID returns the id of a piece or added token and whether there is one.
func (t *Tokenizer) ID(piece string) (int32, bool) {
	if id := t.index.Find(piece, 0, len(piece)); id >= 0 {
		return id, true
	}
	id, ok := t.more[piece]
	return id, ok
}

// Added returns the added tokens, which must not be changed.
func (t *Tokenizer) Added() []model.Added { return t.added }

// Twice reports whether two ids have one name.
func (t *Tokenizer) Twice() bool {
	_, _, twice := t.index.Twice()
	return twice
}

// Unknown returns the id of unknown text, -1 if there is none.
func (t *Tokenizer) Unknown() int32 { return t.unknown }

// Frame returns what the post-processor puts around texts.
func (t *Tokenizer) Frame() model.Frame { return t.frame }

// word reports whether a character is one of words, at the edges of added tokens.
func word(r rune) bool { return pattern.Of(r)&pattern.Word != 0 }

// white reports whether a character is white space.
func white(r rune) bool {
	if r < 0x80 {
		return r == ' ' || 9 <= r && r <= 13
	}
	return pattern.Of(r)&pattern.Space != 0
}
