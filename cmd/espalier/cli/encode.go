package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"espalier/tokenize/family"
	"espalier/tokenize/model"
	"espalier/tokenize/preset"
)

// source reads the vocabulary that --model names.
func (t *tokenizeFlags) source() (*family.Source, error) {
	if t.kind != "" {
		if err := oneOf("type", t.kind, family.Types...); err != nil {
			return nil, err
		}
	}
	s, err := family.Read(t.model, t.kind)
	if err != nil {
		return nil, usagef("--model: %v", err)
	}
	return s, nil
}

// card prints what the vocabulary is.
func (t *tokenizeFlags) card(c *console) error {
	s, err := t.source()
	if err != nil {
		return err
	}
	card, err := s.Card()
	if err != nil {
		return usagef("--model: %v", err)
	}
	return c.json(card)
}

// open returns the tokenizer, and its class if it is one.
func (t *tokenizeFlags) open() (model.Tokenizer, *preset.Class, error) {
	// What is read stays: to look for garbage meanwhile would take a fifth of the time.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	if t.as != "" {
		if err := oneOf("as", t.as, append(family.Names(), "ptb", "ptb-caption")...); err != nil {
			return nil, nil, err
		}
	}
	s, err := t.source()
	if err != nil {
		return nil, nil, err
	}
	if t.as != "" || t.special || t.pair {
		as := t.as
		if as == "" {
			as = s.Natural()
		}
		class, err := s.As(as, t.variants)
		if err != nil {
			return nil, nil, usagef("%v", err)
		}
		return class, class, nil
	}
	m, err := s.Model(t.variants)
	if err != nil {
		return nil, nil, usagef("%v", err)
	}
	class, _ := m.(*preset.Class)
	return m, class, nil
}

// encode prints the ids of every line, or the texts of ids.
func (t *tokenizeFlags) encode(ctx context.Context, c *console, args []string) error {
	if err := oneOf("offsets", t.offsets, "bytes", "chars"); err != nil {
		return err
	}
	if err := oneOf("truncate", t.truncate, "longest-first", "only-first", "only-second"); err != nil {
		return err
	}
	tok, class, err := t.open()
	if err != nil {
		return err
	}
	workers := runtime.GOMAXPROCS(0)
	switch {
	case t.decode:
		return eachFile(ctx, c, args, workers, func() lineWriter { return t.decoding(tok, class) })
	case t.pair || t.maxLen > 0 || t.pad > 0:
		if class == nil {
			return usagef("--max-len and --pad need --as, --pair or --add-special")
		}
		return eachFile(ctx, c, args, workers, func() lineWriter { return t.joining(class) })
	}
	framed := t.as != "" || t.special
	return eachFile(ctx, c, args, workers, func() lineWriter { return t.encoding(tok, class, framed) })
}

// appendInts appends numbers with a separator.
func appendInts(dst []byte, ids []int32, separator byte) []byte {
	for i, id := range ids {
		if i > 0 {
			dst = append(dst, separator)
		}
		dst = strconv.AppendInt(dst, int64(id), 10)
	}
	return dst
}

// encoding prints ids, or tokens.
func (t *tokenizeFlags) encoding(tok model.Tokenizer, class *preset.Class, framed bool) lineWriter {
	e := tok.NewEncoder()
	appendIDs, appendTokens := e.Append, e.AppendTokens
	if class != nil && !framed {
		e := class.Encoder()
		appendIDs, appendTokens = e.Body, e.BodyTokens
	}
	var ids []int32
	var tokens []model.Token
	return func(dst []byte, line string) ([]byte, error) {
		text, err := t.text(line)
		if err != nil {
			return dst, err
		}
		if t.idsOnly {
			ids = appendIDs(ids[:0], text)
			return append(appendInts(dst, ids, ' '), '\n'), nil
		}
		tokens = appendTokens(tokens[:0], text)
		if t.offsets == "chars" {
			countChars(tokens, text)
		}
		dst = append(dst, `{"ids":[`...)
		for i := range tokens {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = strconv.AppendInt(dst, int64(tokens[i].ID), 10)
		}
		dst = append(dst, `],"pieces":[`...)
		for i := range tokens {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(dst, tokens[i].Piece)
		}
		dst = append(dst, `],"offsets":[`...)
		for i := range tokens {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(strconv.AppendInt(append(dst, '['), int64(tokens[i].Start), 10), ',')
			dst = append(strconv.AppendInt(dst, int64(tokens[i].End), 10), ']')
		}
		return append(dst, "]}\n"...), nil
	}
}

// appendString appends a JSON string.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			line, err := jsonLine(s)
			if err != nil { // a string can always be written
				return append(dst, `""`...)
			}
			return append(dst, line[:len(line)-1]...)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}

// countChars turns places in bytes into places in code points.
func countChars(tokens []model.Token, text string) {
	at, chars := int32(0), int32(0)
	count := func(to int32) int32 {
		if to < at { // tokens of one character, or special ones
			chars -= int32(utf8.RuneCountInString(text[to:at]))
		} else {
			chars += int32(utf8.RuneCountInString(text[at:to]))
		}
		at = to
		return chars
	}
	for i := range tokens {
		tokens[i].Start = count(tokens[i].Start)
		tokens[i].End = count(tokens[i].End)
	}
}

// texts returns the two texts of a line.
func (t *tokenizeFlags) texts(line string) (a, b string, two bool, err error) {
	if !t.jsonl {
		if t.pair {
			a, b, two = strings.Cut(line, "\t")
			if !two {
				return "", "", false, errors.New("no tab between two texts")
			}
			return a, b, true, nil
		}
		return line, "", false, nil
	}
	var rec struct {
		Text *string `json:"text"`
		Pair *string `json:"pair"`
	}
	switch err := json.Unmarshal([]byte(line), &rec); {
	case err != nil:
		return "", "", false, err
	case rec.Text == nil:
		return "", "", false, errors.New("text: missing")
	case t.pair && rec.Pair == nil:
		return "", "", false, errors.New("pair: missing")
	case t.pair:
		return *rec.Text, *rec.Pair, true, nil
	}
	return *rec.Text, "", false, nil
}

// joining prints the encodings of one or two texts, cut and padded.
func (t *tokenizeFlags) joining(class *preset.Class) lineWriter {
	e := class.Encoder()
	l := model.Limits{Max: t.maxLen, Pad: t.pad}
	if t.maxLen > 0 {
		l.Truncate, _ = model.ParseTruncation(t.truncate) // its name was checked
	}
	return func(dst []byte, line string) ([]byte, error) {
		a, b, two, err := t.texts(line)
		if err != nil {
			return dst, err
		}
		x, err := e.Join(a, b, two, l)
		if err != nil {
			return dst, err
		}
		if t.idsOnly {
			return append(appendInts(dst, x.IDs, ' '), '\n'), nil
		}
		pieces := make([]string, len(x.IDs))
		for i, id := range x.IDs {
			pieces[i] = class.Piece(id)
		}
		out, err := jsonLine(struct {
			IDs       []int32  `json:"ids"`
			Pieces    []string `json:"pieces"`
			Types     []int32  `json:"token_type_ids"`
			Special   []int32  `json:"special_tokens_mask"`
			Attention []int32  `json:"attention_mask"`
		}{empty(x.IDs), pieces, empty(x.Types), empty(x.Special), empty(x.Attention)})
		return append(dst, out...), err
	}
}

// empty makes of no list an empty one, which JSON tells apart.
func empty(s []int32) []int32 {
	if s == nil {
		return []int32{}
	}
	return s
}

// decoding prints the texts of ids.
func (t *tokenizeFlags) decoding(tok model.Tokenizer, class *preset.Class) lineWriter {
	var text []byte
	return func(dst []byte, line string) ([]byte, error) {
		ids, err := t.ids(line)
		if err != nil {
			return dst, err
		}
		if class != nil {
			text, err = class.DecodeWith(text[:0], ids, t.skip, t.tidy)
		} else {
			text, err = tok.Decode(text[:0], ids)
		}
		if err != nil {
			return dst, err
		}
		if !t.jsonl {
			return append(append(dst, text...), '\n'), nil
		}
		dst = appendString(append(dst, `{"text":`...), string(text))
		return append(dst, "}\n"...), nil
	}
}

// ids reads the ids of a line.
func (t *tokenizeFlags) ids(line string) ([]int32, error) {
	if t.jsonl {
		var rec struct {
			IDs []int32 `json:"ids"`
		}
		if err := json.Unmarshal([]byte(line), &rec); err != nil {
			return nil, err
		}
		if rec.IDs == nil {
			return nil, errors.New("ids: missing")
		}
		return rec.IDs, nil
	}
	ids := slices.Grow([]int32(nil), strings.Count(line, " ")+1)
	for s := range strings.FieldsSeq(line) {
		id, err := strconv.ParseInt(s, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%q is no id", s)
		}
		ids = append(ids, int32(id))
	}
	return ids, nil
}
