package tokenize

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"espalier/tokenize/radix"
	"espalier/tokenize/tokens"
	"espalier/tokenize/word"
)

// Types of vocabularies.
const (
	Word  = "word"  // an id a word
	Radix = "radix" // digits of word indices
)

// A Coder turns captions into ids and back. It is immutable, but for its
// switches, and safe for concurrent use.
type Coder struct {
	words  *word.Vocab
	code   radix.Code // of a radix coder; Base 0 otherwise
	maxLen int

	// MergeUnknown gives a run of unknown words one id, as the published code
	// does, instead of one each.
	MergeUnknown bool
	// PublishedDecoding completes half words and reads PAD and BOS as digits,
	// as the published code does, instead of dropping or refusing them.
	PublishedDecoding bool
}

// NewWord returns a coder that gives each word one id. MaxLen is the length of
// the longest sequence, BOS and EOS included.
func NewWord(words *word.Vocab, maxLen int) (*Coder, error) {
	if maxLen < 3 {
		return nil, fmt.Errorf("max_len: %d, want at least 3", maxLen)
	}
	return &Coder{words: words, maxLen: maxLen}, nil
}

// NewRadix returns a coder that gives each word the digits of its index in a
// base. MaxLen is the length of the longest sequence, BOS and EOS included; a
// caption that is cut may be one id longer (radix.Code.Encode).
func NewRadix(words *word.Vocab, base, maxLen int) (*Coder, error) {
	code, err := radixCode(words, base, 0)
	if err != nil {
		return nil, err
	}
	return newRadix(words, code, maxLen)
}

// radixCode returns the code of a vocabulary's indices: its words and, last, the
// unknown one. Digits of 0 means the fewest.
func radixCode(words *word.Vocab, base, digits int) (radix.Code, error) {
	code, err := radix.New(len(words.Words())+1, base)
	if err != nil || digits == 0 {
		return code, err
	}
	if digits < code.Digits || digits > 31 {
		return code, fmt.Errorf("digits: %d of base %d, want %d to 31 for %d words", digits, base, code.Digits, code.N)
	}
	code.Digits = digits
	return code, nil
}

func newRadix(words *word.Vocab, code radix.Code, maxLen int) (*Coder, error) {
	if maxLen < 2+code.Digits {
		return nil, fmt.Errorf("max_len: %d, want at least %d for a word of %d digits", maxLen, 2+code.Digits, code.Digits)
	}
	return &Coder{words: words, code: code, maxLen: maxLen}, nil
}

// Load reads a coder from the files of a vocabulary: vocab.json and word.vocab.
func Load(vocabJSON, wordVocab io.Reader) (*Coder, error) {
	var v tokens.Vocab
	d := json.NewDecoder(vocabJSON)
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("vocab.json: %w", err)
	}
	words, err := word.Read(wordVocab)
	if err != nil {
		return nil, fmt.Errorf("word.vocab: %w", err)
	}
	var c *Coder
	switch v.Kind {
	case Word:
		c, err = NewWord(words, v.MaxLen)
	case Radix:
		var code radix.Code
		if code, err = radixCode(words, v.Base, v.Digits); err == nil {
			c, err = newRadix(words, code, v.MaxLen)
		}
	default:
		err = fmt.Errorf("kind %q, want %s or %s", v.Kind, Word, Radix)
	}
	if err != nil {
		return nil, fmt.Errorf("vocab.json: %w", err)
	}
	if c.Vocab() != v {
		return nil, errors.New("vocab.json does not fit word.vocab")
	}
	return c, nil
}

// Vocab says what a trainer must know of the coder's ids.
func (c *Coder) Vocab() tokens.Vocab {
	if c.code.Base == 0 {
		return tokens.Vocab{Kind: Word, Size: c.words.Size(), Pad: word.Pad, BOS: word.BOS, EOS: word.EOS, Unk: word.Unk, MaxLen: c.maxLen}
	}
	return tokens.Vocab{
		Kind: Radix, Size: c.code.Rows(), Pad: radix.Pad, BOS: c.code.BOS(), EOS: c.code.EOS(), Unk: -1,
		Base: c.code.Base, Digits: c.code.Digits, MaxLen: c.maxLen,
	}
}

// Words returns the words behind the ids.
func (c *Coder) Words() *word.Vocab { return c.words }

// Code returns the radix code; its Base is 0 for a word coder.
func (c *Coder) Code() radix.Code { return c.code }

// A Count says what became of a caption's words.
type Count struct {
	Words   int  // of the text
	Unknown int  // of them
	Cut     bool // whether words or EOS were cut off
}

// Append appends the ids of a caption, whose words stand between blanks: BOS,
// words, EOS, cut to the coder's length.
func (c *Coder) Append(ids []int32, text string) ([]int32, Count) {
	var n Count
	words := make([]int, 0, 24)
	unknown := int(word.Unk)
	if c.code.Base > 0 {
		unknown = c.code.Unknown()
	}
	run := false // the word before was unknown
	for w := range strings.FieldsSeq(text) {
		n.Words++
		id := int(c.words.ID(w))
		isUnknown := id == int(word.Unk)
		if isUnknown {
			n.Unknown++
			id = unknown
		} else if c.code.Base > 0 {
			id -= int(word.First)
		}
		if !(isUnknown && run && c.MergeUnknown) {
			words = append(words, id)
		}
		run = isUnknown
	}
	if c.code.Base > 0 {
		ids, n.Cut = c.code.Encode(ids, words, c.maxLen)
		return ids, n
	}
	ids = append(ids, word.BOS)
	room := c.maxLen - 1
	for _, w := range words[:min(len(words), room)] {
		ids = append(ids, int32(w))
	}
	if len(words) >= room {
		n.Cut = true
		return ids, n
	}
	return append(ids, word.EOS), n
}

// Decode returns the text that generated ids stand for, up to the first EOS. The
// ids begin behind BOS: a BOS among them is part of a word, and so an error of
// the model.
func (c *Coder) Decode(ids []int32) string {
	var b strings.Builder
	put := func(id int32) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(c.words.Word(id))
	}
	if c.code.Base == 0 {
		for _, id := range ids {
			if id == word.EOS {
				break
			}
			put(id)
		}
		return b.String()
	}
	decode := c.code.Decode
	if c.PublishedDecoding {
		decode = c.code.DecodePublished
	}
	for _, w := range decode(make([]int, 0, 24), ids) {
		if w == c.code.Unknown() {
			put(word.Unk)
		} else {
			put(int32(w) + word.First)
		}
	}
	return b.String()
}
