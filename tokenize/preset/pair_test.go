package preset

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"espalier/tokenize/bytebpe"
	"espalier/tokenize/model"
	"espalier/tokenize/tokentest"
	"espalier/tokenize/wordpiece"
)

// pairClass returns the fast and the slow class of a tokenizer of the goldens.
func pairClass(t *testing.T, name string) (fast, slow *Class) {
	t.Helper()
	switch name {
	case "t5":
		return t5Class(t, Options{Kind: Fast}), t5Class(t, Options{})
	case "roberta":
		var err error
		if fast, err = Roberta(robertaModel(t, bytebpe.GPT2), ByteOptions{}); err == nil {
			slow, err = Roberta(robertaModel(t, bytebpe.GPT2Python), ByteOptions{Gentle: true})
		}
		if err != nil {
			t.Fatal(err)
		}
		return fast, slow
	}
	return bertClass(t, bertFiles[name], wordpiece.Options{Lower: true}), bertClass(t, bertFiles[name], wordpiece.Options{Lower: true, Slow: true})
}

func TestPairs(t *testing.T) {
	texts := map[string][2]string{}
	tokentest.Golden(t, "pairs.jsonl", func(r struct{ Case, A, B string }) { texts[r.Case] = [2]string{r.A, r.B} })
	classes := map[string][2]*Class{}
	type result struct {
		IDs       []int32 `json:"ids"`
		Types     []int32 `json:"token_type_ids"`
		Special   []int32 `json:"special_tokens_mask"`
		Attention []int32 `json:"attention_mask"`
		Error     string
	}
	bad := 0
	tokentest.Golden(t, "pairs_encoded.jsonl", func(r struct {
		Tokenizer, Case, Strategy string
		MaxLength                 int `json:"max_length"`
		Padding                   string
		result
		Slow json.RawMessage
	},
	) {
		if classes[r.Tokenizer][0] == nil {
			fast, slow := pairClass(t, r.Tokenizer)
			classes[r.Tokenizer] = [2]*Class{fast, slow}
		}
		l := model.Limits{Max: r.MaxLength, PadLeft: r.Padding == "left"}
		l.Truncate = map[string]model.Truncation{"none": model.NoTruncation, "longest_first": model.LongestFirst, "only_first": model.OnlyFirst, "only_second": model.OnlySecond}[r.Strategy]
		if r.Padding != "" {
			l.Pad = r.MaxLength
		}
		for k, c := range classes[r.Tokenizer] {
			want := r.result
			if k == 1 && r.Slow != nil {
				if err := json.Unmarshal(r.Slow, &want); err != nil {
					t.Fatal(err)
				}
				if want.IDs != nil {
					want.Error = ""
				}
			}
			e, err := c.Encoder().Join(texts[r.Case][0], texts[r.Case][1], true, l)
			if errors.Is(err, model.ErrTooShort) != (want.Error != "") {
				t.Errorf("%s, %s, %s: %v, want %q", r.Tokenizer, r.Case, r.Strategy, err, want.Error)
			}
			if want.Error != "" {
				continue
			}
			got := result{e.IDs, e.Types, e.Special, e.Attention, ""}
			if want.Attention == nil {
				got.Attention = nil
			}
			if !reflect.DeepEqual(got, want) {
				if bad++; bad < 6 {
					t.Errorf("%s (%d), %s, %s %d %s:\n%v, want\n%v", r.Tokenizer, k, r.Case, r.Strategy, r.MaxLength, r.Padding, got, want)
				}
			}
		}
	})
	if bad > 0 {
		t.Errorf("%d differ", bad)
	}
}

func TestDecode(t *testing.T) {
	roberta := func(o ByteOptions) *Class {
		c, err := Roberta(robertaModel(t, bytebpe.GPT2), o)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	gpt2, err := GPT2(gpt2Model(t, bytebpe.GPT2), ByteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	classes := map[string]map[string]*Class{
		"t5":      {"slow": t5Class(t, Options{}), "slow_new": t5Class(t, Options{NoLegacy: true}), "fast": t5Class(t, Options{Kind: Fast}), "v5": t5Class(t, Options{Kind: V5})},
		"llama":   {"slow": llamaClass(t, Options{}), "slow_new": llamaClass(t, Options{NoLegacy: true}), "fast": llamaClass(t, Options{Kind: Fast}), "fast_new": llamaClass(t, Options{Kind: Fast, NoLegacy: true}), "v5": llamaClass(t, Options{Kind: V5, NoLegacy: true})},
		"gpt2":    {"fast": gpt2},
		"clip":    {"slow": clipClass(t, CLIPOptions{Style: CLIPSlow}), "fast": clipClass(t, CLIPOptions{Style: CLIPFast}), "v5": clipClass(t, CLIPOptions{Style: CLIPV5})},
		"roberta": {"fast": roberta(ByteOptions{}), "slow": roberta(ByteOptions{Gentle: true}), "v5": roberta(ByteOptions{V5: true})},
	}
	for name := range bertFiles {
		fast, slow := pairClass(t, name)
		classes[name] = map[string]*Class{"fast": fast, "slow": slow}
	}
	tokentest.Golden(t, "hf_decode.jsonl", func(raw map[string]json.RawMessage) {
		var r struct {
			Tokenizer, By  string
			IDs            []int32
			Decoded, Clean string
		}
		b, err := json.Marshal(raw)
		if err == nil {
			err = json.Unmarshal(b, &r)
		}
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range classes[r.Tokenizer] {
			var want record
			if json.Unmarshal(b, &want) != nil {
				t.Fatal("bad line")
			}
			if v := raw[name]; v != nil && name != r.By {
				var over record
				if err := json.Unmarshal(v, &over); err != nil {
					t.Fatal(err)
				}
				want = want.over(&over)
			}
			for skip, text := range map[bool]*string{false: want.Decoded, true: want.Clean} {
				got, err := c.DecodeWith(nil, r.IDs, skip, skip)
				if err != nil || string(got) != *text {
					t.Errorf("%s %s, skip %v, %v: %q, %v, want %q", r.Tokenizer, name, skip, r.IDs, got, err, *text)
				}
			}
		}
	})
}
