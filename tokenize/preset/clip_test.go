package preset

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"slices"
	"testing"

	"espalier/tokenize/model"
	"espalier/tokenize/tokentest"
	"espalier/tokenize/vocab"
)

func clipMerges(t testing.TB) [][2]string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(tokentest.Data(t, "tok-clip/bpe_simple_vocab_16e6.txt.gz")))
	if err != nil {
		t.Fatal(err)
	}
	file, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	merges, err := vocab.CLIP(string(file))
	if err != nil {
		t.Fatal(err)
	}
	return merges
}

func clipClass(t testing.TB, o CLIPOptions) *Class {
	t.Helper()
	c, err := CLIP(clipMerges(t), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var clipVariants = map[string]CLIPOptions{
	"": {}, "openai": {Style: OpenAI}, "hf_slow": {Style: CLIPSlow}, "hf_fast": {Style: CLIPFast}, "hf_v5": {Style: CLIPV5},
	"canonicalize": {Clean: Canonicalize}, "whitespace": {Clean: Whitespace},
}

func TestCLIP(t *testing.T) {
	texts := tokentest.Inputs(t)
	for variant, o := range clipVariants {
		c := clipClass(t, o)
		e := c.Encoder()
		tokentest.Golden(t, "clip.jsonl", func(raw map[string]json.RawMessage) {
			var id, clean, decoded string
			var want record
			for key, to := range map[string]any{"case": &id, "clean": &clean, "decoded": &decoded, "ids": &want.IDs} {
				if err := json.Unmarshal(raw[key], to); err != nil {
					t.Fatal(err)
				}
			}
			if v := raw[variant]; v != nil {
				want = record{}
				if err := json.Unmarshal(v, &want); err != nil {
					t.Fatal(err)
				}
			}
			ids := e.Append(nil, texts[id])
			if !slices.Equal(ids, want.IDs) {
				t.Errorf("%q %s: %q: %v, want %v", variant, id, texts[id], ids, want.IDs)
			}
			toks := e.AppendTokens(nil, texts[id])
			at := int32(0)
			for i, k := range toks[:len(toks)-1] {
				if k.ID != ids[i] || k.Start < at || k.End < k.Start || int(k.End) > len(texts[id]) {
					t.Errorf("%q %s: tokens %+v", variant, id, toks)
					break
				}
				at = k.Start
			}
			if variant != "" {
				return
			}
			if got := e.e.(*clipText).clean(texts[id], false); got != clean {
				t.Errorf("%s: clean %q, want %q", id, got, clean)
			}
			if back, err := c.Decode(nil, ids[1:len(ids)-1]); err != nil || string(back) != decoded {
				t.Errorf("%s: decoded %q, %v, want %q", id, back, err, decoded)
			}
		})
	}
}

func TestCLIPClean(t *testing.T) {
	for name, o := range map[string]CLIPOptions{"lower": {}, "whitespace": {Clean: Whitespace}, "canonicalize": {Clean: Canonicalize}} {
		e := clipClass(t, o).Encoder().e.(*clipText)
		tokentest.Golden(t, "clip_clean.jsonl", func(r map[string]string) {
			if got := e.clean(r["text"], true); got != r[name] || len(e.from) != len(got) {
				t.Errorf("%s: %q: %q, want %q", name, r["text"], got, r[name])
			}
		})
	}
}

func TestCLIPContext(t *testing.T) {
	classes := map[string]*Class{"open_clip": clipClass(t, CLIPOptions{}), "hf_slow": clipClass(t, CLIPOptions{Style: CLIPSlow}), "hf_v5": clipClass(t, CLIPOptions{Style: CLIPV5})}
	tokentest.Golden(t, "clip_ctx77.jsonl", func(r struct {
		By, Text string
		IDs      []int32
	},
	) {
		got, err := classes[r.By].Encoder().Join(r.Text, "", false, model.Limits{Truncate: model.LongestFirst, Max: 77, Pad: 77})
		if err != nil || !slices.Equal(got.IDs, r.IDs) {
			t.Errorf("%s: %q: %v, %v, want %v", r.By, r.Text, got.IDs, err, r.IDs)
		}
	})
}

// TestCLIPPlaces looks at places in text that is changed before it is encoded.
func TestCLIPPlaces(t *testing.T) {
	e := clipClass(t, CLIPOptions{}).Encoder()
	for text, want := range map[string][]string{
		"A  Dog's CAFÉ":      {"A", "Dog", "'s", "CAFÉ"},
		" Two\tbirds ":       {"Two", "birds"},
		"an “egg”, two eggs": {"an", "“egg”", "“egg”", "“egg”,", "two", "eggs"},
		"xx &amp; y":         {"xx", "&", "y"},
		"İ is  a city":       {"İ", "İ", "is", "a", "city"},
	} {
		var got []string
		for _, k := range e.BodyTokens(nil, text) {
			got = append(got, text[k.Start:k.End])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestEasy(t *testing.T) {
	for c := range 256 {
		for at := range 11 {
			text := "abcd ~!\tefgh"
			text = text[:at] + string([]byte{byte(c)}) + text[at:]
			if got, want := easy(text), easyBytes(text); got != want {
				t.Errorf("%q: %v, want %v", text, got, want)
			}
		}
	}
}
