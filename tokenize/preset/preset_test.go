package preset

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"espalier/tokenize/bpe"
	"espalier/tokenize/spm"
	"espalier/tokenize/tokentest"
	"espalier/tokenize/unigram"
)

func sentencePiece(t testing.TB, name string) *spm.Model {
	t.Helper()
	m, err := spm.Parse(tokentest.Data(t, tokentest.SentencePiece[name]))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func t5Class(t testing.TB, o Options) *Class {
	t.Helper()
	m, err := unigram.New(sentencePiece(t, "t5"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := T5(m, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func llamaClass(t testing.TB, o Options) *Class {
	t.Helper()
	m, err := bpe.New(sentencePiece(t, "mistral_v1"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Llama(m, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A record of a golden; what is nil is as in the base.
type record struct {
	IDs     []int32    `json:"ids"`
	Pieces  []string   `json:"pieces"`
	Offsets [][2]int32 `json:"offsets"`
	Decoded *string    `json:"decoded"`
	Clean   *string    `json:"decoded_clean"`
	Error   *string    `json:"error"`
}

// over returns the record with the fields that a variant gives.
func (r record) over(v *record) record {
	if v == nil {
		return r
	}
	if v.IDs != nil {
		r.IDs, r.Pieces, r.Offsets = v.IDs, v.Pieces, v.Offsets
	}
	if v.Pieces != nil {
		r.Pieces = v.Pieces
	}
	if v.Offsets != nil {
		r.Offsets = v.Offsets
	}
	if v.Decoded != nil {
		r.Decoded = v.Decoded
	}
	if v.Clean != nil {
		r.Clean = v.Clean
	}
	return r
}

// each calls f with each case of a golden and the record of a variant, "" for
// the base; on names the record that the variant is given against, "" likewise.
func each(t *testing.T, file, variant, on string, f func(id string, want record)) {
	t.Helper()
	tokentest.Golden(t, file, func(raw map[string]json.RawMessage) {
		var id string
		var base record
		b, err := json.Marshal(raw)
		if err == nil {
			err = json.Unmarshal(b, &base)
		}
		if err == nil {
			err = json.Unmarshal(raw["case"], &id)
		}
		for _, name := range []string{on, variant} {
			if v := raw[name]; v != nil && name != "" {
				var r record
				if err == nil {
					err = json.Unmarshal(v, &r)
				}
				base = base.over(&r)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		f(id, base)
	})
}

// check holds a class against the goldens of a variant.
func check(t *testing.T, c *Class, file, variant, on string) {
	t.Helper()
	texts := tokentest.Inputs(t)
	e := c.Encoder()
	slow := strings.HasSuffix(variant, "slow") // tells no places
	bad := 0
	fail := func(format string, args ...any) {
		t.Helper()
		if bad++; bad <= 5 {
			t.Errorf(format, args...)
		}
	}
	each(t, file, variant, on, func(id string, want record) {
		text := texts[id]
		ids := e.Append(nil, text)
		if !slices.Equal(ids, want.IDs) {
			fail("%s %s: %q: %v, want %v", variant, id, text, ids, want.IDs)
			return
		}
		var got []int32
		var pieces []string
		var offsets [][2]int32
		for _, k := range e.AppendTokens(nil, text) {
			got = append(got, k.ID)
			pieces = append(pieces, k.Piece)
			offsets = append(offsets, [2]int32{int32(len([]rune(text[:k.Start]))), int32(len([]rune(text[:k.End])))})
		}
		if !slices.Equal(got, ids) {
			fail("%s %s: tokens %v, ids %v", variant, id, got, ids)
		}
		if want.Pieces != nil && !slices.Equal(pieces, want.Pieces) {
			fail("%s %s: pieces %q, want %q", variant, id, pieces, want.Pieces)
		}
		if want.Offsets != nil && !slow && !slices.Equal(offsets, want.Offsets) {
			fail("%s %s: %q: offsets %v, want %v", variant, id, text, offsets, want.Offsets)
		}
		for skip, text := range map[bool]*string{false: want.Decoded, true: want.Clean} {
			if text == nil {
				continue
			}
			if back, err := c.DecodeWith(nil, want.IDs, skip, skip); err != nil || string(back) != *text {
				fail("%s %s: decoded (skip: %v) %q, %v, want %q", variant, id, skip, back, err, *text)
			}
		}
	})
	if bad > 5 {
		t.Errorf("%s, %q: %d failures", file, variant, bad)
	}
}

func TestT5(t *testing.T) {
	for variant, o := range map[string]Options{
		"": {}, "slow_new": {NoLegacy: true}, "fast": {Kind: Fast}, "fast_new": {Kind: Fast, NoLegacy: true}, "v5": {Kind: V5},
	} {
		check(t, t5Class(t, o), "t5_hf.jsonl", variant, "")
	}
}

func TestLlama(t *testing.T) {
	for variant, o := range map[string]Options{
		"": {}, "slow_new": {NoLegacy: true}, "fast": {Kind: Fast}, "fast_new": {Kind: Fast, NoLegacy: true},
		"v5": {Kind: V5, NoLegacy: true}, "v5_legacy": {Kind: V5},
	} {
		check(t, llamaClass(t, o), "llama_hf.jsonl", variant, "")
	}
}
