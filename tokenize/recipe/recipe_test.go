package recipe

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"espalier/tokenize/model"
	"espalier/tokenize/tokentest"
	"espalier/tokenize/vocab"
)

func open(t testing.TB, text string) (*Tokenizer, error) {
	t.Helper()
	v, err := vocab.Parse(text)
	if err != nil {
		return nil, err
	}
	return New(v, Options{})
}

func file(t testing.TB, name string) *Tokenizer {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	x, err := open(t, string(b))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return x
}

func files(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob("testdata/*.json")
	if err != nil || len(names) == 0 {
		t.Fatal("no tokenizers", err)
	}
	return names
}

type pair struct {
	Text             string
	IDs, Types, Mask []int32
}

// TestGolden compares with the tokenizers library; the files are made by
// testdata/make.py.
func TestGolden(t *testing.T) {
	for _, name := range files(t) {
		x := file(t, name)
		special := map[int32]bool{}
		for _, a := range x.Added() {
			special[a.ID] = a.Special
		}
		frame := x.Frame()
		head, tail := frame.Around()
		e := x.NewEncoder()
		tokentest.Lines(t, name+"l", func(r struct {
			Text           string
			IDs, Special   []int32
			Offsets        [][2]int32
			Tokens         []string
			Decoded, Plain string
			Pair           *pair
		},
		) {
			for range 2 { // words are remembered
				if got := e.Append([]int32{}, r.Text); !slices.Equal(got, r.IDs) {
					t.Errorf("%s: %q: %v, want %v", name, r.Text, got, r.IDs)
				}
			}
			var ids []int32
			var pieces []string
			var places [][2]int32
			for _, k := range e.AppendTokens(nil, r.Text) {
				ids, pieces = append(ids, k.ID), append(pieces, k.Piece)
				places = append(places, [2]int32{int32(utf8.RuneCountInString(r.Text[:k.Start])), int32(utf8.RuneCountInString(r.Text[:k.End]))})
			}
			if !slices.Equal(ids, r.IDs) || !slices.Equal(pieces, r.Tokens) || !slices.Equal(places, r.Offsets) {
				t.Errorf("%s: %q: %v %q %v, want %v %q %v", name, r.Text, ids, pieces, places, r.IDs, r.Tokens, r.Offsets)
			}
			whole := slices.Concat(head, r.IDs, tail)
			if !slices.Equal(whole, r.Special) {
				t.Errorf("%s: %q: %v with special ids, want %v", name, r.Text, whole, r.Special)
			}
			if got, err := x.Decode(nil, whole); err != nil || string(got) != r.Decoded {
				t.Errorf("%s: %v: %q, %v, want %q", name, whole, got, err, r.Decoded)
			}
			whole = slices.DeleteFunc(whole, func(id int32) bool { return special[id] })
			if got, err := x.Decode(nil, whole); err != nil || string(got) != r.Plain {
				t.Errorf("%s: %v: %q, %v, want %q", name, whole, got, err, r.Plain)
			}
			if r.Pair == nil {
				return
			}
			got, err := frame.Join(r.IDs, e.Append(nil, r.Pair.Text), true, model.Limits{})
			if err != nil || !slices.Equal(got.IDs, r.Pair.IDs) || !slices.Equal(got.Types, r.Pair.Types) || !slices.Equal(got.Special, r.Pair.Mask) {
				t.Errorf("%s: %q, %q: %v, %v, want %v", name, r.Text, r.Pair.Text, got, err, *r.Pair)
			}
		})
	}
}

// TestNoAllocations encodes without allocating once all has grown.
// TestRenamed has the names that tokenizers 0.22.2 and 0.23.3 give to added tokens
// that the normalizer changes.
func TestRenamed(t *testing.T) {
	v, err := vocab.Parse(`{"added_tokens": [
		{"id": 3, "content": "C", "normalized": true, "special": false}, {"id": 5, "content": "XX", "normalized": true, "special": false},
		{"id": 6, "content": "B", "normalized": true, "special": false}, {"id": 7, "content": "Zed", "normalized": true, "special": false},
		{"id": 8, "content": "[PAD]", "normalized": true, "special": false}, {"id": 9, "content": "zed", "normalized": false, "special": true},
		{"id": 10, "content": "[XY]", "normalized": true, "special": true}, {"id": 11, "content": "[y]", "normalized": true, "special": true}],
		"normalizer": {"type": "Sequence", "normalizers": [{"type": "Lowercase"}, {"type": "Replace", "pattern": {"String": "x"}, "content": ""}]},
		"pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
		"model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "[UNK]": 2, "C": 3, "[pad]": 4}, "unk_token": "[UNK]"}}`)
	if err != nil {
		t.Fatal(err)
	}
	all := []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, x := range []struct {
		renamed bool
		decoded string
		special []int32
	}{
		{false, "a b [UNK] C [pad] XX B Zed [PAD] zed [XY]", []int32{9, 10, 11}},
		{true, "a b [UNK] c [pad]  b zed [pad] zed [y]", []int32{7, 9, 10, 11}},
	} {
		m, err := New(v, Options{Renamed: x.renamed})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := m.Decode(nil, all); err != nil || string(got) != x.decoded {
			t.Errorf("renamed %v: %q, %v, want %q", x.renamed, got, err, x.decoded)
		}
		var special []int32
		for _, a := range m.Added() {
			if a.Special {
				special = append(special, a.ID)
			}
		}
		slices.Sort(special)
		if !slices.Equal(special, x.special) {
			t.Errorf("renamed %v: %v are special, want %v", x.renamed, special, x.special)
		}
		ids := m.NewEncoder().Append(nil, "a XX C c B b Zed zed ZED [PAD] [pad] [XY] [y] [Y] A")
		if want := []int32{0, 3, 3, 6, 6, 7, 9, 7, 8, 8, 10, 10, 10, 0}; !slices.Equal(ids, want) {
			t.Errorf("renamed %v: %v, want %v", x.renamed, ids, want)
		}
	}
}

// TestAddedTwice has added tokens of one normal form as tokenizers 0.22.2 finds
// them; 0.23.3 takes any of them.
func TestAddedTwice(t *testing.T) {
	m, err := open(t, `{"added_tokens": [
		{"id": 2, "content": "[Y]", "normalized": true, "special": false}, {"id": 3, "content": "Q", "normalized": true, "special": false},
		{"id": 4, "content": "q", "normalized": true, "special": false, "lstrip": true}, {"id": 5, "content": "[y]", "normalized": true, "special": true}],
		"normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
		"model": {"type": "WordLevel", "vocab": {"a": 0, "[UNK]": 1}, "unk_token": "[UNK]"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := m.NewEncoder().Append(nil, "a [Y] [y]  Q   q"), []int32{0, 5, 5, 3, 3}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestNoAllocations(t *testing.T) {
	text := strings.Repeat("A man don't \u00e9\u4f60 e\u0301 \uff21 <mask> 1234 Xyz "+strings.Repeat("xyz", 60), 20)
	for _, name := range files(t) {
		e := file(t, name).NewEncoder()
		var ids []int32
		run := func() { ids = e.Append(ids[:0], text) }
		run()
		run()
		if n := testing.AllocsPerRun(10, run); n > 0 {
			t.Errorf("%s: %g allocations", name, n)
		}
	}
}

// TestLong encodes a long text of one kind, which takes time in proportion.
func TestLong(t *testing.T) {
	for _, name := range files(t) {
		e := file(t, name).NewEncoder()
		for _, s := range []string{"a", " ", "\u4f60", "1", "!", "a ", "<mask>"} {
			e.Append(nil, strings.Repeat(s, 1<<17))
		}
	}
}

// TestIllFormed encodes bytes that are not UTF-8 as U+FFFD each.
func TestIllFormed(t *testing.T) {
	for _, name := range files(t) {
		e := file(t, name).NewEncoder()
		text := "a\xff \xe4\xbd b\xf0\x9f\x98\u4f60"
		want := "a\uFFFD \uFFFD\uFFFD b\uFFFD\uFFFD\uFFFD\u4f60"
		if got, want := e.Append(nil, text), e.Append(nil, want); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		for _, k := range e.AppendTokens(nil, text) {
			if k.Start > k.End || int(k.End) > len(text) {
				t.Errorf("%s: %v is outside of the text", name, k)
			}
		}
	}
}

// level is a file of words and the steps that are given.
func level(steps string) string {
	return `{"model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "ab": 2, "[UNK]": 3}, "unk_token": "[UNK]"}` + steps + `}`
}

// TestRefused has files that are not read, and what is said of them.
func TestRefused(t *testing.T) {
	deep := strings.Repeat(`{"type": "Sequence", "normalizers": [`, 12) + `{"type": "NFC"}` + strings.Repeat(`]}`, 12)
	for _, x := range []struct{ text, want string }{
		{level(`, "normalizer": {"type": "Magic"}`), `normalizer: "Magic" is not read`},
		{level(`, "normalizer": ` + deep), "too deep"},
		{level(`, "normalizer": {"type": "Replace", "pattern": {"Regex": "(a"}, "content": ""}`), "normalizer: pattern"},
		{level(`, "normalizer": {"type": "Replace", "pattern": {}, "content": ""}`), "no pattern"},
		{level(`, "normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}`), "character map"},
		{level(`, "normalizer": {"type": "Precompiled", "precompiled_charsmap": "?"}`), "character map"},
		{level(`, "normalizer": [1]`), "normalizer"},
		{level(`, "pre_tokenizer": {"type": "UnicodeScripts"}`), `pre_tokenizer: "UnicodeScripts" is not read`},
		{level(`, "pre_tokenizer": {"type": "Split", "pattern": {"String": " "}, "behavior": "Odd"}`), "behavior"},
		{level(`, "pre_tokenizer": {"type": "Metaspace", "replacement": "__"}`), "one character"},
		{level(`, "pre_tokenizer": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "often"}`), "prepend_scheme"},
		{level(`, "pre_tokenizer": {"type": "CharDelimiterSplit", "delimiter": ""}`), "delimiter"},
		{level(`, "pre_tokenizer": {"type": "FixedLength", "length": 0}`), "length"},
		{level(`, "post_processor": {"type": "Other"}`), `post_processor: "Other" is not read`},
		{level(`, "post_processor": {"type": "BertProcessing", "sep": ["a", 0], "cls": ["b", 77]}`), "id 77"},
		{level(`, "post_processor": {"type": "BertProcessing", "sep": ["a"], "cls": ["b", 1]}`), "sep"},
		{level(`, "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}], "pair": []}`), `"x" has no ids`},
		{level(`, "post_processor": {"type": "TemplateProcessing", "single": [], "pair": []}`), "a text is missing"},
		{level(`, "post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "C"}}], "pair": []}`), "want A or B"},
		{level(`, "decoder": {"type": "Odd"}`), `decoder: "Odd" is not read`},
		{level(`, "decoder": {"type": "Strip", "content": "ab"}`), "one character"},
		{`{"model": {"type": "Odd", "vocab": {"a": 0}}}`, `model: "Odd" is not read`},
		{`{"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "x"}}`, `no "x"`},
		{`{"model": {"type": "Unigram", "vocab": [["a", -1.0]], "unk_id": 3}}`, "unk_id 3"},
		{`{"model": {"type": "Unigram", "vocab": [["a", -1.0]], "unk_id": null}}`, "unk_id"},
		{`{"model": {"type": "Unigram", "vocab": {"a": 0}, "unk_id": 0}}`, "0 scores of 1 pieces"},
		{`{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a a"]}}`, "merge 1"},
		{`{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "dropout": 0.1}}`, "dropout"},
		{`{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [["a", "a", "a"]]}}`, "3 pieces"},
		{`{"model": {"type": "Unigram", "vocab": [["a"]]}}`, "no text and score"},
		{`{"model": {"type": "Unigram", "vocab": [["a", "b"]]}}`, "no number"},
		{fmt.Sprintf(`{"model": {"type": "WordLevel", "vocab": {"a": 0, "%s": 1}, "unk_token": "a"}}`, strings.Repeat("x", 5000)), "5000 bytes"},
		{level(`, "added_tokens": [{"id": 4, "content": "` + strings.Repeat("x", 5000) + `"}]`), "5000 bytes"},
	} {
		if _, err := open(t, x.text); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.text[:min(len(x.text), 200)], err, x.want)
		}
	}
}

// charsMap is a map that holds nothing but what one character becomes.
func charsMap(c byte, to string) string {
	// a root whose only child, by the byte, has a leaf
	units := make([]uint32, 512)
	units[0] = 1 << 10
	at := 1 ^ uint32(c)
	units[at] = uint32(c) | 1<<8 | (at^256)<<10
	units[256] = 1 << 31
	var b bytes.Buffer
	head := binary.LittleEndian.AppendUint32(nil, uint32(4*len(units)))
	b.Write(head)
	for _, u := range units {
		b.Write(binary.LittleEndian.AppendUint32(nil, u))
	}
	b.WriteString(to + "\x00")
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// TestPrecompiled maps characters: of a cluster of three bytes the whole, of one
// of seven the first.
func TestPrecompiled(t *testing.T) {
	for _, x := range []struct{ to, text, want string }{
		{"q", "axa", "aqa"},
		{"", "axxa", "aa"},
		{"qrs", "xx", "qrsqrs"},
		{"q", "ax\u0301b", "aqb"},
		{"q", "x\u0301\u0301\u0301b", "q\u0301\u0301\u0301b"},
	} {
		k, err := open(t, level(`, "normalizer": {"type": "Precompiled", "precompiled_charsmap": "`+charsMap('x', x.to)+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		w := k.work()
		w.load(x.text, 0, len(x.text), true)
		for _, n := range k.normalize {
			n.normalize(w)
		}
		if string(w.text) != x.want || len(w.from) != len(w.text) {
			t.Errorf("%q: %q, want %q", x.text, w.text, x.want)
		}
	}
}

// TestStream gives a text an id at a time, valid UTF-8 always.
func TestStream(t *testing.T) {
	x := file(t, "testdata/llama3.json")
	ids := x.NewEncoder().Append(nil, "don't \u4f60\U0001f600 x")
	d := x.NewDecoder()
	var text []byte
	for _, id := range ids {
		var err error
		if text, err = d.Push(text, id); err != nil || !utf8.Valid(text) {
			t.Fatalf("%q, %v", text, err)
		}
	}
	if text = d.Flush(text); string(text) != "don't \u4f60\U0001f600 x" {
		t.Errorf("%q", text)
	}
	if _, err := d.Push(nil, int32(x.Size())); err == nil {
		t.Error("an id out of range is decoded")
	}
}

func FuzzNew(f *testing.F) {
	for _, s := range []string{
		level(`, "normalizer": {"type": "NFKC"}, "pre_tokenizer": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first"}, "decoder": {"type": "Fuse"}`),
		`{"model": {"vocab": [["a", -1.5], ["<unk>", 0]], "unk_id": 1}, "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "\\s+|a"}, "behavior": "MergedWithNext"}}`,
		`{"model": {"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}, "added_tokens": [{"id": 3, "content": "x", "lstrip": true}], "normalizer": {"type": "Replace", "pattern": {"String": "b"}, "content": "x"}}`,
		`{"model": {"vocab": {"\u0120": 0}, "merges": []}, "pre_tokenizer": {"type": "ByteLevel"}, "post_processor": {"type": "ByteLevel", "trim_offsets": true}, "decoder": {"type": "ByteLevel"}}`,
	} {
		f.Add(s, " ab x\xff e\u0301")
	}
	f.Fuzz(func(t *testing.T, file, text string) {
		v, err := vocab.Parse(file)
		if err != nil || len(text) > 500 {
			return
		}
		x, err := New(v, Options{})
		if err != nil {
			return
		}
		e := x.NewEncoder()
		ids := e.Append(nil, text)
		tokens := e.AppendTokens(nil, text)
		if len(ids) != len(tokens) {
			t.Fatalf("%d ids, %d tokens", len(ids), len(tokens))
		}
		for i, k := range tokens {
			if k.ID != ids[i] || k.Start < 0 || k.Start > k.End || int(k.End) > len(text) {
				t.Fatalf("token %d, %v, of %q", i, k, text)
			}
		}
		if _, err := x.Decode(nil, ids); err != nil {
			t.Fatal(err)
		}
	})
}
