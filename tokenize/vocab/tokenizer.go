package vocab

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// An Added is a token that is cut out of the text before anything else.
type Added struct {
	ID             int32
	Text           string
	LStrip, RStrip bool // takes the white space to its left, right
	SingleWord     bool
	Special        bool
	Normalized     bool
}

// A Tokenizer is what a tokenizer.json holds.
type Tokenizer struct {
	Model  string   // BPE, WordPiece, WordLevel, Unigram; "" if the file does not say
	Vocab  []string // by id; "" where an id is not used
	Pieces int      // how many there are, as the file counts
	Scores []float64
	Merges [][2]string
	Added  []Added

	Unknown      string
	UnknownID    int32  // of a unigram model; -1: none
	Suffix       string // end_of_word_suffix
	Prefix       string // continuing_subword_prefix
	ByteFallback bool
	FuseUnknown  bool
	IgnoreMerges bool
	Dropout      bool
	MaxChars     int32 // of a word; -1: the file does not say

	Normalizer, PreTokenizer, PostProcessor, Decoder string // their JSON; "" or null if there is none
}

// Parse reads a tokenizer.json.
func Parse(file string) (*Tokenizer, error) {
	r := reader{s: file}
	t := &Tokenizer{UnknownID: -1, MaxChars: -1}
	err := r.object(func(key string) error {
		switch key {
		case "model":
			return r.model(t)
		case "added_tokens":
			return r.added(t)
		case "normalizer":
			return r.raw(&t.Normalizer)
		case "pre_tokenizer":
			return r.raw(&t.PreTokenizer)
		case "post_processor":
			return r.raw(&t.PostProcessor)
		case "decoder":
			return r.raw(&t.Decoder)
		}
		return r.skip()
	})
	if err == nil {
		err = r.done()
	}
	if err != nil {
		return nil, err
	}
	if len(t.Vocab) == 0 && len(t.Added) == 0 {
		return nil, fmt.Errorf("no vocabulary: not a tokenizer.json")
	}
	return t, nil
}

// raw reads a value as it stands.
func (r *reader) raw(s *string) error {
	r.next()
	start := r.at
	err := r.skip()
	if *s = r.s[start:r.at]; *s == "null" {
		*s = ""
	}
	return err
}

func (r *reader) optional(s *string) error {
	if r.isNull() {
		return nil
	}
	var err error
	*s, err = r.str()
	return err
}

func (r *reader) model(t *Tokenizer) error {
	if r.isNull() {
		return nil
	}
	return r.object(func(key string) error {
		var err error
		switch key {
		case "type":
			t.Model, err = r.str()
		case "vocab":
			if r.next() == '[' {
				return r.scored(t)
			}
			t.Vocab, t.Pieces, err = r.vocab()
		case "merges":
			return r.merges(t)
		case "unk_token":
			return r.optional(&t.Unknown)
		case "unk_id":
			if !r.isNull() {
				t.UnknownID, err = r.int()
			}
		case "end_of_word_suffix":
			return r.optional(&t.Suffix)
		case "continuing_subword_prefix":
			return r.optional(&t.Prefix)
		case "byte_fallback":
			t.ByteFallback, err = r.bool()
		case "fuse_unk":
			t.FuseUnknown, err = r.bool()
		case "ignore_merges":
			t.IgnoreMerges, err = r.bool()
		case "dropout":
			if !r.isNull() {
				var v float64
				v, err = r.number()
				t.Dropout = v != 0
			}
		case "max_input_chars_per_word":
			t.MaxChars, err = r.int()
		default:
			return r.skip()
		}
		return err
	})
}

// scored reads the vocabulary of a unigram model: pieces and scores.
func (r *reader) scored(t *Tokenizer) error {
	return r.array(func() error {
		n := 0
		err := r.array(func() error {
			var err error
			switch n {
			case 0:
				var piece string
				piece, err = r.str()
				t.Vocab = append(t.Vocab, piece)
			case 1:
				var score float64
				score, err = r.number()
				t.Scores = append(t.Scores, score)
			default:
				return r.fail("piece %d: more than a text and a score", len(t.Vocab)-1)
			}
			n++
			return err
		})
		if t.Pieces = len(t.Vocab); err == nil && (n != 2 || t.Pieces > MaxSize) {
			return r.fail("piece %d: no text and score, or too many of them", t.Pieces-1)
		}
		return err
	})
}

func (r *reader) merges(t *Tokenizer) error {
	return r.array(func() error {
		if r.next() == '"' {
			s, err := r.str()
			if err != nil {
				return err
			}
			m, err := pair(s)
			if err != nil {
				return r.fail("merge %d: %w", len(t.Merges)+1, err)
			}
			t.Merges = append(t.Merges, m)
			return nil
		}
		var m [2]string
		n := 0
		err := r.array(func() error {
			s, err := r.str()
			if err != nil {
				return err
			}
			if n < 2 {
				m[n] = s
			}
			n++
			return nil
		})
		if err == nil && n != 2 {
			err = r.fail("merge %d: %d pieces, want 2", len(t.Merges)+1, n)
		}
		t.Merges = append(t.Merges, m)
		return err
	})
}

// powers are the powers of ten that the reference divides by.
var powers = func() (p [309]float64) {
	for i := range p {
		p[i], _ = strconv.ParseFloat("1e"+strconv.Itoa(i), 64) // the nearest one
	}
	return p
}()

// number reads a number as the reference does, which takes the first digits, as
// many as fit into 64 bits, for a whole number and divides it by a power of ten:
// the last bit need not be that of the nearest number.
func (r *reader) number() (float64, error) {
	negative := r.next() == '-'
	if negative {
		r.at++
	}
	digit := func() (uint64, bool) {
		if r.at < len(r.s) && '0' <= r.s[r.at] && r.s[r.at] <= '9' {
			r.at++
			return uint64(r.s[r.at-1] - '0'), true
		}
		return 0, false
	}
	var digits uint64
	exponent, full, some := 0, false, false
	for d, ok := digit(); ok; d, ok = digit() {
		some = true
		if full = full || digits > (math.MaxUint64-d)/10; full {
			exponent++
			continue
		}
		digits = 10*digits + d
	}
	if some && r.at < len(r.s) && r.s[r.at] == '.' {
		r.at++
		some = false
		for d, ok := digit(); ok; d, ok = digit() {
			some = true
			if full = full || digits > (math.MaxUint64-d)/10; !full {
				digits = 10*digits + d
				exponent--
			}
		}
	}
	if some && r.at < len(r.s) && r.s[r.at]|0x20 == 'e' {
		r.at++
		down := strings.HasPrefix(r.s[r.at:], "-")
		if down || strings.HasPrefix(r.s[r.at:], "+") {
			r.at++
		}
		some = false
		e := 0
		for d, ok := digit(); ok; d, ok = digit() {
			some = true
			e = min(10*e+int(d), 1<<20)
		}
		if down {
			e = -e
		}
		exponent += e
	}
	if !some {
		return 0, r.fail("no number")
	}
	f := float64(digits)
	for ; exponent < -308 && f != 0; exponent += 308 {
		f /= 1e308
	}
	switch {
	case f == 0:
	case exponent < 0:
		f /= powers[-exponent]
	case exponent > 308 || f*powers[exponent] > math.MaxFloat64:
		return 0, r.fail("a number that is too large")
	default:
		f *= powers[exponent]
	}
	if negative {
		f = -f
	}
	return f, nil
}

func (r *reader) added(t *Tokenizer) error {
	if r.isNull() {
		return nil
	}
	return r.array(func() error {
		var a Added
		err := r.object(func(key string) error {
			var err error
			switch key {
			case "id":
				a.ID, err = r.int()
			case "content":
				a.Text, err = r.str()
			case "lstrip":
				a.LStrip, err = r.bool()
			case "rstrip":
				a.RStrip, err = r.bool()
			case "single_word":
				a.SingleWord, err = r.bool()
			case "special":
				a.Special, err = r.bool()
			case "normalized":
				a.Normalized, err = r.bool()
			default:
				err = r.skip()
			}
			return err
		})
		switch {
		case err != nil:
			return err
		case a.ID >= MaxSize:
			return r.fail("added token %d: its id %d is too large", len(t.Added), a.ID)
		}
		t.Added = append(t.Added, a)
		return nil
	})
}
