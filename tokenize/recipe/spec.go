package recipe

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"espalier/tokenize/model"
	"espalier/tokenize/pattern"
	"espalier/tokenize/spm"
	"espalier/tokenize/vocab"
)

// A spec is one step of the file, with the fields of all kinds.
type spec struct {
	Type string `json:"type"`

	Normalizers   []spec `json:"normalizers"`
	PreTokenizers []spec `json:"pretokenizers"`
	Processors    []spec `json:"processors"`
	Decoders      []spec `json:"decoders"`

	CleanText          *bool           `json:"clean_text"`
	HandleChineseChars *bool           `json:"handle_chinese_chars"`
	StripAccents       *bool           `json:"strip_accents"`
	Lowercase          *bool           `json:"lowercase"`
	StripLeft          bool            `json:"strip_left"`
	StripRight         bool            `json:"strip_right"`
	Pattern            json.RawMessage `json:"pattern"`
	Content            string          `json:"content"`
	Prepend            string          `json:"prepend"`
	CharsMap           *string         `json:"precompiled_charsmap"`

	AddPrefixSpace   *bool   `json:"add_prefix_space"`
	UseRegex         *bool   `json:"use_regex"`
	TrimOffsets      *bool   `json:"trim_offsets"`
	Behavior         string  `json:"behavior"`
	Invert           bool    `json:"invert"`
	IndividualDigits bool    `json:"individual_digits"`
	Delimiter        string  `json:"delimiter"`
	Replacement      string  `json:"replacement"`
	PrependScheme    string  `json:"prepend_scheme"`
	Split            *bool   `json:"split"`
	Length           int     `json:"length"`
	Prefix           *string `json:"prefix"`
	Cleanup          *bool   `json:"cleanup"`
	Suffix           *string `json:"suffix"`
	PadToken         *string `json:"pad_token"`
	WordDelimiter    *string `json:"word_delimiter_token"`
	Start            int     `json:"start"`
	Stop             int     `json:"stop"`

	Sep           []any                   `json:"sep"`
	Cls           []any                   `json:"cls"`
	Single        []slot                  `json:"single"`
	Pair          []slot                  `json:"pair"`
	SpecialTokens map[string]specialToken `json:"special_tokens"`
}

// A slot of a template: a text or a special token.
type slot struct {
	Sequence, SpecialToken *struct {
		ID     string `json:"id"`
		TypeID int32  `json:"type_id"`
	}
}

type specialToken struct {
	IDs []int32 `json:"ids"`
}

// maxParts bounds how many steps a file may have, and how deep they may lie.
const maxParts, maxNested = 64, 8

// parseSpec reads a step; false says that there is none.
func parseSpec(text string) (spec, bool, error) {
	var s spec
	if text == "" {
		return s, false, nil
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return s, false, err
	}
	return s, true, nil
}

// flat returns the steps of a sequence, in order, those within others too.
func (s spec) flat(inside func(spec) []spec, depth int) ([]spec, error) {
	if s.Type != "Sequence" {
		return []spec{s}, nil
	}
	var out []spec
	for _, x := range inside(s) {
		if depth == maxNested {
			return nil, errors.New("sequences lie too deep")
		}
		f, err := x.flat(inside, depth+1)
		if err != nil {
			return nil, err
		}
		if out = append(out, f...); len(out) > maxParts {
			return nil, fmt.Errorf("more than %d steps", maxParts)
		}
	}
	return out, nil
}

func unknown(s spec) error { return fmt.Errorf("%q is not read", s.Type) }

func or(b *bool, otherwise bool) bool {
	if b == nil {
		return otherwise
	}
	return *b
}

// char reads a field that is one character.
func char(s, field string) (rune, error) {
	r, size := utf8.DecodeRuneInString(s)
	if size == 0 || size != len(s) {
		return 0, fmt.Errorf("%s: %q, want one character", field, s)
	}
	return r, nil
}

// find reads what a step looks for: a text, or an expression.
func (s spec) find() (*pattern.Pattern, string, error) {
	var p struct{ String, Regex *string }
	if err := json.Unmarshal(s.Pattern, &p); err != nil {
		return nil, "", fmt.Errorf("%s: pattern: %w", s.Type, err)
	}
	switch {
	case p.String != nil:
		return pattern.Literal(*p.String), *p.String, nil
	case p.Regex != nil:
		x, err := pattern.Compile(*p.Regex)
		return x, "", err
	}
	return nil, "", fmt.Errorf("%s: no pattern", s.Type)
}

func (s spec) normalizers() ([]normalizer, error) {
	specs, err := s.flat(func(s spec) []spec { return s.Normalizers }, 0)
	if err != nil {
		return nil, err
	}
	var out []normalizer
	for _, s := range specs {
		switch s.Type {
		case "BertNormalizer":
			lower := or(s.Lowercase, true)
			if or(s.CleanText, true) {
				out = append(out, clean{})
			}
			if or(s.HandleChineseChars, true) {
				out = append(out, ideographs{})
			}
			if or(s.StripAccents, lower) {
				out = append(out, form{}, accents{spacing: true})
			}
			if lower {
				out = append(out, lowercase{})
			}
		case "Lowercase":
			out = append(out, lowercase{})
		case "NFC", "NFD", "NFKC", "NFKD":
			out = append(out, form{chars: formOf(s.Type)})
		case "StripAccents":
			out = append(out, accents{})
		case "Strip":
			out = append(out, strip{s.StripLeft, s.StripRight})
		case "Nmt":
			out = append(out, nmt{})
		case "Prepend":
			out = append(out, prepend{s.Prepend})
		case "Replace":
			p, _, err := s.find()
			if err != nil {
				return nil, err
			}
			out = append(out, replace{p, s.Content})
		case "Precompiled":
			if s.CharsMap == nil || *s.CharsMap == "" {
				continue // nothing is mapped
			}
			b, err := base64.StdEncoding.DecodeString(*s.CharsMap)
			if err != nil {
				return nil, fmt.Errorf("character map: %w", err)
			}
			m, err := spm.ParseCharMap(string(b))
			if err != nil {
				return nil, err
			}
			out = append(out, precompiled{m})
		case "ByteLevel":
			out = append(out, letters{})
		default:
			return nil, unknown(s)
		}
	}
	return out, nil
}

func (s spec) splitters() ([]splitter, error) {
	specs, err := s.flat(func(s spec) []spec { return s.PreTokenizers }, 0)
	if err != nil {
		return nil, err
	}
	var out []splitter
	for _, s := range specs {
		switch s.Type {
		case "BertPreTokenizer":
			out = append(out, runs{class: whiteClass, behavior: removed}, runs{class: punctClass, behavior: isolated})
		case "Whitespace":
			out = append(out, words{})
		case "WhitespaceSplit":
			out = append(out, runs{class: whiteClass, behavior: removed})
		case "Punctuation":
			b, err := behaviorOf(s.Behavior, isolated)
			if err != nil {
				return nil, err
			}
			out = append(out, runs{class: punctClass, behavior: b})
		case "Digits":
			b := contiguous
			if s.IndividualDigits {
				b = isolated
			}
			out = append(out, runs{class: numericClass, behavior: b})
		case "CharDelimiterSplit":
			r, err := char(s.Delimiter, "delimiter")
			if err != nil {
				return nil, err
			}
			out = append(out, runs{class: func(c rune) bool { return c == r }, behavior: removed})
		case "FixedLength":
			if s.Length <= 0 {
				return nil, fmt.Errorf("length: %d", s.Length)
			}
			out = append(out, fixed{s.Length})
		case "Split":
			p, text, err := s.find()
			if err != nil {
				return nil, err
			}
			b, err := behaviorOf(s.Behavior, -1)
			if err != nil {
				return nil, err
			}
			out = append(out, matches{p, text, b, s.Invert})
		case "Metaspace":
			m, err := s.metaspace()
			if err != nil {
				return nil, err
			}
			out = append(out, m)
		case "ByteLevel":
			out = append(out, &byteLevel{prefix: or(s.AddPrefixSpace, true), cut: or(s.UseRegex, true)})
		default:
			return nil, unknown(s)
		}
	}
	return out, nil
}

func (s spec) metaspace() (*metaspace, error) {
	r, err := char(s.Replacement, "replacement")
	if err != nil {
		return nil, err
	}
	m := &metaspace{mark: string(r), cut: or(s.Split, true)}
	switch s.PrependScheme {
	case "always":
		m.scheme = schemeAlways
	case "first":
		m.scheme = schemeFirst
	case "never":
		m.scheme = schemeNever
	case "":
		m.scheme = schemeAlways
		if !or(s.AddPrefixSpace, true) {
			m.scheme = schemeNever
		}
	default:
		return nil, fmt.Errorf("prepend_scheme: %q, want always, first or never", s.PrependScheme)
	}
	return m, nil
}

// pieceOf reads a token and its id.
func pieceOf(v []any) (int32, error) {
	if len(v) == 2 {
		if id, ok := v[1].(float64); ok && id >= 0 && id < 1<<31 && id == float64(int32(id)) {
			return int32(id), nil
		}
	}
	return 0, errors.New("a token and its id are missing")
}

func (s spec) post(t *Tokenizer) error {
	specs, err := s.flat(func(s spec) []spec { return s.Processors }, 0)
	if err != nil {
		return err
	}
	framed := false
	for _, s := range specs {
		var f model.Frame
		switch s.Type {
		case "ByteLevel":
			if or(s.TrimOffsets, true) {
				t.trim = trimming{true, or(s.AddPrefixSpace, true)}
			}
			continue
		case "BertProcessing", "RobertaProcessing":
			sep, err := pieceOf(s.Sep)
			if err != nil {
				return fmt.Errorf("sep: %w", err)
			}
			cls, err := pieceOf(s.Cls)
			if err != nil {
				return fmt.Errorf("cls: %w", err)
			}
			f = model.Frame{Head: []int32{cls}, Tail: []int32{sep}, Between: []int32{sep}, SecondType: 1}
			if s.Type == "RobertaProcessing" {
				f.Between, f.SecondType = []int32{sep, sep}, 0
				if or(s.TrimOffsets, true) {
					t.trim = trimming{true, or(s.AddPrefixSpace, true)}
				}
			}
		case "TemplateProcessing":
			if f.Single, err = s.template(s.Single, 0); err != nil {
				return fmt.Errorf("single: %w", err)
			}
			if f.Pair, err = s.template(s.Pair, 1); err != nil {
				return fmt.Errorf("pair: %w", err)
			}
		default:
			return unknown(s)
		}
		if framed {
			return errors.New("two templates")
		}
		framed = true
		t.frame = f
	}
	for _, ids := range [][]int32{t.frame.Head, t.frame.Tail} {
		for _, id := range ids {
			if int(id) >= len(t.vocab) {
				return fmt.Errorf("id %d: not in 0 to %d", id, len(t.vocab)-1)
			}
		}
	}
	for _, x := range append(append([]model.Slot{}, t.frame.Single...), t.frame.Pair...) {
		for _, id := range x.IDs {
			if id < 0 || int(id) >= len(t.vocab) {
				return fmt.Errorf("id %d: not in 0 to %d", id, len(t.vocab)-1)
			}
		}
	}
	return nil
}

// template reads what is around one text, or around it and a second one.
func (s spec) template(slots []slot, second int) ([]model.Slot, error) {
	var out []model.Slot
	seen := [3]int{}
	for _, x := range slots {
		switch {
		case x.Sequence != nil:
			which, ok := map[string]int8{"A": 1, "B": 2}[x.Sequence.ID]
			if !ok {
				return nil, fmt.Errorf("sequence %q, want A or B", x.Sequence.ID)
			}
			seen[which]++
			out = append(out, model.Slot{Text: which, Type: x.Sequence.TypeID})
		case x.SpecialToken != nil:
			k, ok := s.SpecialTokens[x.SpecialToken.ID]
			if !ok {
				return nil, fmt.Errorf("special token %q has no ids", x.SpecialToken.ID)
			}
			out = append(out, model.Slot{IDs: k.IDs, Type: x.SpecialToken.TypeID})
		default:
			return nil, errors.New("neither a text nor a special token")
		}
	}
	if seen[1] != 1 || seen[2] != second {
		return nil, errors.New("a text is missing, or there too often")
	}
	return out, nil
}

// Traits are what the file of one of the well-known classes says.
type Traits struct {
	ByteLevel   bool // the pre-tokenizer is GPT-2's
	PrefixSpace bool // with a blank in front
	Lower       bool // the normalizer is BERT's, in lower case
}

// TraitsOf returns the traits of a file.
func TraitsOf(v *vocab.Tokenizer) Traits {
	var t Traits
	if s, ok, err := parseSpec(v.PreTokenizer); ok && err == nil {
		t.ByteLevel = s.Type == "ByteLevel" && or(s.UseRegex, true)
		t.PrefixSpace = t.ByteLevel && or(s.AddPrefixSpace, true)
	}
	if s, ok, err := parseSpec(v.Normalizer); ok && err == nil {
		t.Lower = s.Type == "BertNormalizer" && or(s.Lowercase, true)
	}
	return t
}
