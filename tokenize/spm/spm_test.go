package spm

import (
	"testing"

	"espalier/tokenize/tokentest"
)

func load(t testing.TB, name string) *Model {
	t.Helper()
	m, err := Parse(tokentest.Data(t, tokentest.SentencePiece[name]))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestGoldenNormalize(t *testing.T) {
	texts := tokentest.Inputs(t)
	check := func(m *Model, c, want string) {
		t.Helper()
		got, from := m.Norm.AppendMapped(nil, nil, texts[c])
		if string(got) != want || len(from) != len(got)+1 {
			t.Errorf("%s: %q, want %q (%d places)", c, got, want, len(from))
		}
		if plain := m.Norm.Append(nil, texts[c]); string(plain) != want {
			t.Errorf("%s: %q without places, want %q", c, plain, want)
		}
	}
	for _, name := range []string{"t5", "zh"} {
		m := load(t, name)
		tokentest.Golden(t, "sp_"+name+".jsonl", func(r struct{ Case, Normalized string }) { check(m, r.Case, r.Normalized) })
	}
	loaded := map[string]*Model{}
	tokentest.Golden(t, "sp_normalize.jsonl", func(r map[string]string) {
		for name, want := range r {
			if name == "case" {
				continue
			}
			if loaded[name] == nil {
				loaded[name] = load(t, name)
			}
			check(loaded[name], r["case"], want)
		}
	})
}

func TestGoldenDecode(t *testing.T) {
	loaded := map[string]*Model{}
	tokentest.Golden(t, "sp_decode.jsonl", func(r struct {
		Model   string
		IDs     []int32
		Decoded string
	},
	) {
		if loaded[r.Model] == nil {
			loaded[r.Model] = load(t, r.Model)
		}
		got, err := loaded[r.Model].Decode(nil, r.IDs)
		if err != nil || string(got) != r.Decoded {
			t.Errorf("%s: %v: %q, %v, want %q", r.Model, r.IDs, got, err, r.Decoded)
		}
	})
}

func TestByWord(t *testing.T) {
	for name, want := range map[string]bool{"t5": true, "zh": true, "albert": true, "en1000": true, "ja8000": true, "mistral_v1": false} {
		if got := load(t, name).Norm.ByWord(); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
