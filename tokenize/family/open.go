package family

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"espalier/tokenize/bpe"
	"espalier/tokenize/bytebpe"
	"espalier/tokenize/chop"
	"espalier/tokenize/model"
	"espalier/tokenize/preset"
	"espalier/tokenize/recipe"
	"espalier/tokenize/spm"
	"espalier/tokenize/tokens"
	"espalier/tokenize/unigram"
	"espalier/tokenize/wordpiece"
)

// A class is a public class that vocabularies of one type can be opened as.
type class struct {
	types    string
	variants []string
}

var classes = map[string]class{
	"t5":           {Unigram, []string{"since-0.2.2", "slow", "fast", "v5", "legacy-off"}},
	"llama":        {BPE, []string{"slow", "fast", "v5", "legacy", "legacy-off"}},
	"bert-uncased": {WordPiece, []string{"fast", "slow", "v5", "keep-accents", "no-cjk"}},
	"bert-cased":   {WordPiece, []string{"fast", "slow", "v5", "strip-accents", "no-cjk"}},
	"gpt2":         {ByteBPE, []string{"fast", "slow", "v5", "prefix"}},
	"roberta":      {ByteBPE, []string{"fast", "slow", "v5", "prefix"}},
	"json":         {"", []string{"since-0.23"}},
	"clip":         {CLIP, []string{"openai", "slow", "fast", "v5", "whitespace", "canonicalize"}},
}

// Names lists the classes that vocabularies can be opened as.
func Names() []string {
	return []string{"t5", "llama", "bert-uncased", "bert-cased", "gpt2", "roberta", "clip", "json"}
}

// Variants lists the variants of a class; those of "" are SentencePiece's.
func Variants(as string) []string {
	if as == "" {
		return []string{"since-0.2.2"}
	}
	return slices.Clone(classes[as].variants)
}

// Model returns the family's tokenizer of a SentencePiece vocabulary, whose ids
// are SentencePiece's, without BOS and EOS, and of the other types the class
// that the vocabulary suggests.
func (s *Source) Model(variants []string) (model.Tokenizer, error) {
	if s.spm == nil {
		return s.As(s.Natural(), variants)
	}
	if err := CheckVariants("", variants); err != nil {
		return nil, err
	}
	switch s.Type {
	case Unigram:
		m, err := unigram.New(s.spm)
		if err == nil {
			m.Float32 = slices.Contains(variants, "since-0.2.2")
		}
		return m, err
	case BPE:
		return bpe.New(s.spm)
	}
	return chop.New(s.spm)
}

// Natural returns the class that a vocabulary is most likely meant for, "" if
// there is none.
func (s *Source) Natural() string {
	if s.json != nil {
		return "json"
	}
	switch s.Type {
	case Unigram:
		return "t5"
	case BPE:
		return "llama"
	case WordPiece:
		if !s.hasCapitals() {
			return "bert-uncased"
		}
		return "bert-cased"
	case CLIP:
		return "clip"
	case Word, Char:
		return ""
	}
	if slices.Contains(s.vocab, "<s>") && slices.Contains(s.vocab, "<mask>") {
		return "roberta"
	}
	return "gpt2"
}

// hasCapitals reports whether a piece other than the special ones has a capital.
func (s *Source) hasCapitals() bool {
	for _, p := range s.vocab {
		if !strings.HasPrefix(p, "[") && strings.ContainsFunc(p, func(r rune) bool { return 'A' <= r && r <= 'Z' }) && len(p) > 3 {
			return true
		}
	}
	return false
}

// CheckVariants reports a variant that a class, or with "" SentencePiece itself,
// has not.
func CheckVariants(as string, variants []string) error {
	for _, v := range variants {
		if !slices.Contains(Variants(as), v) {
			what := as
			if as == "" {
				what = "SentencePiece itself"
			}
			return fmt.Errorf("variant %q: %s has %s", v, what, strings.Join(Variants(as), ", "))
		}
	}
	return nil
}

// As opens a vocabulary as a public class.
func (s *Source) As(as string, variants []string) (*preset.Class, error) {
	c, ok := classes[as]
	if as == "" && s.Natural() == "" {
		return nil, fmt.Errorf("a vocabulary of type %s has no class, and so no special ids", s.Type)
	}
	if !ok {
		return nil, fmt.Errorf("class %q: want %s", as, strings.Join(Names(), ", "))
	}
	if as == "json" && s.json == nil {
		return nil, errors.New("json is the class of a tokenizer.json")
	}
	if c.types != s.Type && as != "json" {
		return nil, fmt.Errorf("a vocabulary of type %s cannot be %s, which needs one of type %s", s.Type, as, c.types)
	}
	if err := CheckVariants(as, variants); err != nil {
		return nil, err
	}
	has := func(v string) bool { return slices.Contains(variants, v) }
	kind := preset.Slow
	switch {
	case has("v5"):
		kind = preset.V5
	case has("fast"):
		kind = preset.Fast
	}
	switch as {
	case "json":
		t, err := recipe.New(s.json, recipe.Options{Renamed: has("since-0.23")})
		if err != nil {
			return nil, err
		}
		return preset.Recipe(t)
	case "t5":
		m, err := unigram.New(s.spm)
		if err != nil {
			return nil, err
		}
		m.Float32 = has("since-0.2.2")
		return preset.T5(m, preset.Options{Kind: kind, NoLegacy: has("legacy-off")})
	case "llama":
		m, err := bpe.New(s.spm)
		if err != nil {
			return nil, err
		}
		return preset.Llama(m, preset.Options{Kind: kind, NoLegacy: has("legacy-off") || kind == preset.V5 && !has("legacy")})
	case "bert-uncased", "bert-cased":
		o := wordpiece.Options{Lower: as == "bert-uncased", Slow: has("slow"), NoIdeographs: has("no-cjk")}
		if has("keep-accents") || has("strip-accents") {
			strip := has("strip-accents")
			o.StripAccents = &strip
		}
		m, err := wordpiece.New(s.vocab, o)
		if err != nil {
			return nil, err
		}
		return preset.Bert(m)
	case "clip":
		return preset.CLIP(s.merges, clipOptions(has))
	}
	pattern := bytebpe.GPT2
	o := preset.ByteOptions{Gentle: has("slow"), V5: has("v5")}
	if has("slow") {
		pattern = bytebpe.GPT2Python
	}
	if has("prefix") || s.traits.PrefixSpace {
		o.Prefix = preset.PrefixParts
		if has("slow") && as == "gpt2" {
			o.Prefix = preset.PrefixAlways
		} else if has("slow") {
			o.Prefix = preset.PrefixText
		}
	}
	m, err := bytebpe.New(s.vocab, s.merges, pattern)
	if err != nil {
		return nil, err
	}
	if as == "gpt2" {
		return preset.GPT2(m, o)
	}
	return preset.Roberta(m, o)
}

func clipOptions(has func(string) bool) preset.CLIPOptions {
	var o preset.CLIPOptions
	switch {
	case has("openai"):
		o.Style = preset.OpenAI
	case has("slow"):
		o.Style = preset.CLIPSlow
	case has("fast"):
		o.Style = preset.CLIPFast
	case has("v5"):
		o.Style = preset.CLIPV5
	}
	switch {
	case has("whitespace"):
		o.Clean = preset.Whitespace
	case has("canonicalize"):
		o.Clean = preset.Canonicalize
	}
	return o
}

// specialNames are the pieces for padding, beginning, end and unknown text of the
// classes whose vocabularies do not say.
var specialNames = map[string][4]string{
	"bert-uncased": {"[PAD]", "[CLS]", "[SEP]", "[UNK]"},
	"bert-cased":   {"[PAD]", "[CLS]", "[SEP]", "[UNK]"},
	"gpt2":         {"", "<|endoftext|>", "<|endoftext|>", ""},
	"roberta":      {"<pad>", "<s>", "</s>", "<unk>"},
}

// Space says what a trainer must know of a tokenizer that Model or, if it is a
// class, As returned. MaxLen is left 0. A class without an id for padding pads
// with its Frame's.
func (s *Source) Space(as string, t model.Tokenizer) tokens.Vocab {
	v := tokens.Vocab{Kind: as, Size: t.Size(), Pad: -1, BOS: -1, EOS: -1, Unk: -1}
	if as == "" {
		v.Kind = s.Type
	}
	class, _ := t.(*preset.Class)
	switch {
	case s.spm != nil:
		v.Pad, v.BOS, v.EOS, v.Unk = s.spm.Pad, s.spm.BOS, s.spm.EOS, s.spm.Unk
	case class != nil && v.Kind == "json" || s.json != nil && as == "":
		head, tail := class.Frame.Around()
		if len(head) > 0 {
			v.BOS = head[0]
		}
		if len(tail) > 0 {
			v.EOS = tail[len(tail)-1]
		}
		v.Unk = class.Unknown()
	case s.Type == CLIP:
		v.BOS, v.EOS = class.Frame.Head[0], class.Frame.Tail[0]
	default:
		for i, id := range []*int32{&v.Pad, &v.BOS, &v.EOS, &v.Unk} {
			names := specialNames[cmp.Or(as, s.Natural())]
			if k, ok := t.ID(names[i]); ok && names[i] != "" {
				*id = k
			}
		}
	}
	if v.Pad < 0 && class != nil {
		v.Pad = class.Frame.Pad
	}
	return v
}

// A Card says what a vocabulary is.
type Card struct {
	Type       string    `json:"type"`
	Model      string    `json:"model,omitempty"` // of a tokenizer.json
	Files      []string  `json:"files"`
	Digest     string    `json:"sha256"`
	Size       int       `json:"size"`
	Merges     int       `json:"merges,omitempty"`
	Normalizer string    `json:"normalizer,omitempty"`
	Bytes      bool      `json:"byte_fallback,omitempty"`
	Natural    string    `json:"as,omitempty"` // the class it is most likely meant for
	Specials   []Special `json:"specials"`
}

// A Special is a piece that stands for no text, or that is always cut out.
type Special struct {
	ID   int32  `json:"id"`
	Text string `json:"text"`
	Kind string `json:"kind"` // unknown, control, user-defined, special or added
}

// Card describes the vocabulary.
func (s *Source) Card() (Card, error) {
	c := Card{Type: s.Type, Files: s.Files, Digest: s.Digest, Size: len(s.vocab), Merges: len(s.merges), Natural: s.Natural(), Specials: []Special{}}
	if s.spm != nil {
		c.Size = len(s.spm.Pieces)
		c.Normalizer = s.spm.Norm.Name
		c.Bytes = s.spm.ByteFallback
		for id, p := range s.spm.Pieces {
			if name := kindNames[p.Kind]; name != "" {
				c.Specials = append(c.Specials, Special{int32(id), p.Text, name})
			}
		}
		return c, nil
	}
	if s.json != nil {
		c.Model, c.Bytes = s.json.Model, s.json.ByteFallback
	}
	class, err := s.As(c.Natural, nil)
	if err != nil {
		return c, err
	}
	c.Size = class.Size()
	for _, a := range class.Specials() {
		kind := "special"
		if !a.Special {
			kind = "added"
		}
		c.Specials = append(c.Specials, Special{a.ID, a.Text, kind})
	}
	slices.SortFunc(c.Specials, func(a, b Special) int { return int(a.ID - b.ID) })
	return c, nil
}

// kindNames are the names of the kinds of SentencePiece pieces that are special.
var kindNames = map[spm.Kind]string{spm.Unknown: "unknown", spm.Control: "control", spm.User: "user-defined"}
