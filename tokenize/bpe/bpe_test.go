package bpe

import (
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"espalier/tokenize/model"
	"espalier/tokenize/spm"
	"espalier/tokenize/tokentest"
)

// names are the goldens' BPE models.
var names = []string{"mistral_v1", "mistral_v3", "bpe1000"}

func parse(t testing.TB, file []byte) *Model {
	t.Helper()
	s, err := spm.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func load(t testing.TB, name string) *Model {
	t.Helper()
	return parse(t, tokentest.Data(t, tokentest.SentencePiece[name]))
}

func TestGolden(t *testing.T) {
	texts := tokentest.Inputs(t)
	m := load(t, "mistral_v1")
	e := m.NewEncoder()
	tokentest.Golden(t, "sp_mistral_v1.jsonl", func(r struct {
		Case    string
		IDs     []int32
		Pieces  []string
		Spans   [][2]int32
		Decoded string
	},
	) {
		ids := e.Append(nil, texts[r.Case])
		if !slices.Equal(ids, r.IDs) {
			t.Errorf("%s: %v, want %v", r.Case, ids, r.IDs)
		}
		var got []int32
		var pieces []string
		var spans [][2]int32
		for _, x := range e.AppendTokens(nil, texts[r.Case]) {
			got = append(got, x.ID)
			pieces = append(pieces, x.Piece)
			spans = append(spans, [2]int32{x.Start, x.End})
		}
		if !slices.Equal(got, r.IDs) || !slices.Equal(pieces, r.Pieces) || !slices.Equal(spans, r.Spans) {
			t.Errorf("%s: tokens %v %q %v, want %v %q %v", r.Case, got, pieces, spans, r.IDs, r.Pieces, r.Spans)
		}
		if back, err := m.Decode(nil, ids); err != nil || string(back) != r.Decoded {
			t.Errorf("%s: decoded %q, %v, want %q", r.Case, back, err, r.Decoded)
		}
	})
}

func TestGoldenMore(t *testing.T) {
	texts := tokentest.Inputs(t)
	e := map[string]model.Encoder{}
	for _, name := range names {
		e[name] = load(t, name).NewEncoder()
	}
	tokentest.Golden(t, "sp_more.jsonl", func(r map[string]json.RawMessage) {
		var id string
		if err := json.Unmarshal(r["case"], &id); err != nil {
			t.Fatal(err)
		}
		for _, name := range names[1:] {
			var want []int32
			if err := json.Unmarshal(r[name], &want); err != nil {
				t.Fatal(err)
			}
			if got := e[name].Append(nil, texts[id]); !slices.Equal(got, want) {
				t.Errorf("%s, %s: %v, want %v", name, id, got, want)
			}
		}
	})
	tokentest.Golden(t, "sp_bytes.jsonl", func(r map[string]any) {
		b, err := hex.DecodeString(r["hex"].(string))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			var want []int32
			for _, id := range r[name].([]any) {
				want = append(want, int32(id.(float64)))
			}
			if got := e[name].Append(nil, string(b)); !slices.Equal(got, want) {
				t.Errorf("%s, %x: %v, want %v", name, b, got, want)
			}
		}
	})
}

// TestSmall has what SentencePiece 0.2.1 gives with the hand-made model.
func TestSmall(t *testing.T) {
	m := parse(t, tokentest.SmallBPE().Bytes())
	e := m.NewEncoder()
	for _, x := range []struct {
		text    string
		ids     []int32
		decoded string
	}{
		{"ab", []int32{259, 268}, "ab"},
		{" a  b\t[X]a", []int32{266, 259, 261, 268, 12, 271, 267}, " a  b\t[X]a"},
		{"xyz a", []int32{266, 123, 124, 125, 259}, "xyz a"},
		{"abab[X]bb", []int32{259, 268, 267, 268, 271, 268, 268}, "abab[X]bb"},
		{"", nil, ""},
		{"  ", []int32{261, 266}, "  "},
		{"▁a", []int32{266, 259}, " a"},
		{"  abcc cca bc é\n", []int32{261, 263, 269, 266, 264, 267, 266, 260, 266, 270, 13}, "  abcc cca bc é\n"},
		{"Ａb\u200b\u3000é e\u0301", []int32{266, 242, 191, 164, 268, 229, 131, 142, 230, 131, 131, 270, 266, 104, 207, 132}, "Ａb\u200b\u3000é e\u0301"},
	} {
		for range 2 {
			if got := e.Append(nil, x.text); !slices.Equal(got, x.ids) {
				t.Errorf("%q: %v, want %v", x.text, got, x.ids)
			}
		}
		if got, err := m.Decode(nil, x.ids); err != nil || string(got) != x.decoded {
			t.Errorf("%v: %q, %v, want %q", x.ids, got, err, x.decoded)
		}
	}
}

// slow merges as the definition says: look for the best pair, join it, begin
// again.
func slow(m *Model, text string) []int32 {
	type part struct {
		s  string
		id int32
	}
	find := func(s string) int32 { return m.find(s, 0, len(s)) }
	var parts []part
	for _, r := range string(m.Norm.Append(nil, text)) {
		parts = append(parts, part{string(r), find(string(r))})
	}
	for {
		best, id := -1, int32(-1)
		for i := 0; i+1 < len(parts); i++ {
			k := find(parts[i].s + parts[i+1].s)
			if k >= 0 && (best < 0 || m.Pieces[k].Score > m.Pieces[id].Score) {
				best, id = i, k
			}
		}
		if best < 0 {
			break
		}
		parts[best] = part{parts[best].s + parts[best+1].s, id}
		parts = slices.Delete(parts, best+1, best+2)
	}
	var ids []int32
	for _, p := range parts {
		switch {
		case p.id >= 0:
			ids = append(ids, p.id)
		case m.ByteFallback:
			for k := range len(p.s) {
				ids = append(ids, m.Bytes[p.s[k]])
			}
		case len(ids) == 0 || ids[len(ids)-1] != m.Unk:
			ids = append(ids, m.Unk)
		}
	}
	return ids
}

func TestSlow(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var words []string
	for _, text := range tokentest.Inputs(t) {
		words = append(words, strings.SplitAfter(text, " ")...)
	}
	slices.Sort(words)
	for _, name := range []string{"mistral_v1", "bpe1000"} {
		m := load(t, name)
		e := m.NewEncoder()
		for range 100 {
			var b strings.Builder
			for range r.IntN(30) {
				b.WriteString(words[r.IntN(len(words))])
				if r.IntN(4) == 0 {
					b.WriteString(strings.Repeat(string(" ab-0"[r.IntN(5)]), r.IntN(70)))
				}
			}
			text := b.String()
			if got, want := e.Append(nil, text), slow(m, text); !slices.Equal(got, want) {
				t.Fatalf("%s: %q: %v, want %v", name, text, got, want)
			}
		}
	}
}

func TestNoAllocations(t *testing.T) {
	e := load(t, "mistral_v1").NewEncoder()
	text := strings.Repeat("A man riding a wave on top of a surfboard.  naïve 你好 ", 20)
	ids := e.Append(nil, text)
	if n := testing.AllocsPerRun(20, func() { ids = e.Append(ids[:0], text) }); n > 0 {
		t.Errorf("%g allocations", n)
	}
}

// FuzzEncode holds remembered words against the whole text.
func FuzzEncode(f *testing.F) {
	m := parse(f, tokentest.SmallBPE().Bytes())
	for _, s := range []string{"abc  cc", " \xff\xe4a [X]", "aaaa bcbcbc", "▁ ▁a▁", "  é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e := m.NewEncoder().(*Encoder)
		ids := e.Append(nil, text)
		e.buf = e.norm.Append(e.buf[:0], text)
		if whole := e.pieces(nil, str(e.buf)); !slices.Equal(ids, whole) {
			t.Fatalf("%q: %v, whole %v", text, ids, whole)
		}
		toks := e.AppendTokens(nil, text)
		if len(toks) != len(ids) {
			t.Fatalf("%q: %v, %v", text, ids, toks)
		}
		for i, k := range toks {
			if k.ID != ids[i] || k.Start > k.End || int(k.End) > len(text) {
				t.Fatalf("%q: %v, %v", text, ids, toks)
			}
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	for _, name := range names {
		m := load(b, name)
		b.Run(name, func(b *testing.B) { tokentest.Bench(b, false, m.NewEncoder) })
		b.Run(name+"/fresh", func(b *testing.B) {
			tokentest.Bench(b, true, func() model.Encoder {
				m, err := New(m.Model)
				if err != nil {
					b.Fatal(err)
				}
				return m.NewEncoder()
			})
		})
		m.words = nil
		b.Run(name+"/plain", func(b *testing.B) { tokentest.Bench(b, false, m.NewEncoder) })
	}
}
