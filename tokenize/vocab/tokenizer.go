package vocab

import "fmt"

// An Added is a token that is cut out of the text before anything else.
type Added struct {
	ID             int32
	Text           string
	LStrip, RStrip bool // takes the white space to its left, right
	SingleWord     bool
	Special        bool
	Normalized     bool
}

// A Tokenizer is what is used of a tokenizer.json.
type Tokenizer struct {
	Model  string // BPE, WordPiece, Unigram
	Vocab  []string
	Merges [][2]string
	Added  []Added

	Unknown     string
	Suffix      string // end_of_word_suffix
	Prefix      string // continuing_subword_prefix
	ByteLevel   bool   // a ByteLevel pre-tokenizer
	PrefixSpace bool   // its add_prefix_space
	Normalizer  string // type of the normalizer
	Lower       bool   // of a BertNormalizer
	Strip       *bool
	Ideographs  bool
	Processor   string // type of the post-processor
}

// Parse reads a tokenizer.json.
func Parse(file string) (*Tokenizer, error) {
	r := reader{s: file}
	t := &Tokenizer{}
	err := r.object(func(key string) error {
		switch key {
		case "model":
			return r.model(t)
		case "added_tokens":
			return r.added(t)
		case "normalizer":
			return r.part(&t.Normalizer, func(key string) error {
				var err error
				switch key {
				case "lowercase":
					t.Lower, err = r.bool()
				case "handle_chinese_chars":
					t.Ideographs, err = r.bool()
				case "strip_accents":
					if !r.isNull() {
						var on bool
						on, err = r.bool()
						t.Strip = &on
					}
				default:
					err = r.skip()
				}
				return err
			})
		case "pre_tokenizer":
			var kind string
			space := true
			err := r.part(&kind, func(key string) error {
				if key != "add_prefix_space" {
					return r.skip()
				}
				var err error
				space, err = r.bool()
				return err
			})
			t.ByteLevel = kind == "ByteLevel"
			t.PrefixSpace = t.ByteLevel && space
			return err
		case "post_processor":
			return r.part(&t.Processor, func(string) error { return r.skip() })
		}
		return r.skip()
	})
	if err == nil {
		err = r.done()
	}
	if err != nil {
		return nil, err
	}
	if len(t.Vocab) == 0 {
		return nil, fmt.Errorf("no vocabulary: not a tokenizer.json")
	}
	return t, nil
}

// part reads an object with a type, or null.
func (r *reader) part(kind *string, f func(key string) error) error {
	if r.isNull() {
		return nil
	}
	return r.object(func(key string) error {
		if key == "type" {
			var err error
			*kind, err = r.str()
			return err
		}
		return f(key)
	})
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
	return r.part(&t.Model, func(key string) error {
		switch key {
		case "vocab":
			if r.next() == '[' {
				return r.fail("a list of pieces and scores, of a unigram model: read the SentencePiece model that it was made of")
			}
			var err error
			t.Vocab, err = r.vocab()
			return err
		case "merges":
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
		case "unk_token":
			return r.optional(&t.Unknown)
		case "end_of_word_suffix":
			return r.optional(&t.Suffix)
		case "continuing_subword_prefix":
			return r.optional(&t.Prefix)
		}
		return r.skip()
	})
}

func (r *reader) added(t *Tokenizer) error {
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
		case a.Text == "" || a.ID >= MaxSize:
			return r.fail("added token %d: empty, or its id %d is too large", len(t.Added), a.ID)
		}
		t.Added = append(t.Added, a)
		return nil
	})
}
