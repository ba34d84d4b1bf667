package vocab

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestJSON(t *testing.T) {
	got, err := JSON(`{"a": 0, "\u0120b": 2, "\ud83d\ude00": 1, "\"\\\/\n": 4}`)
	if want := []string{"a", "😀", "\u0120b", "", "\"\\/\n"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	for file, want := range map[string]string{
		"":                           "truncated",
		`{"a": 0`:                    "want ','",
		`{"a" 0}`:                    "want ':'",
		`{"a": -1}`:                  "no id",
		`{"a": 1e3}`:                 "want ','",
		`{"a": 99}`:                  "id 99 of \"a\": too large",
		`{"a": 0, "b": 0}`:           `id 0 is "a" and "b"`,
		`{"a": 0} x`:                 "more behind the end",
		"{\"a\n\": 0}":               "control character",
		`{"\ud83d": 0}`:              "half a surrogate pair",
		`{"\x": 0}`:                  "escape 'x'",
		"{\n\"a\": 0,\n\"b\": null}": "line 3",
	} {
		if _, err := JSON(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", file, err, want)
		}
	}
}

func TestMerges(t *testing.T) {
	got, err := Merges("#version: 0.2\na b\r\n\n# c\nab c")
	if want := [][2]string{{"a", "b"}, {"#", "c"}, {"ab", "c"}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	for file, want := range map[string]string{"a b\nabc\n": `line 2: "abc" is no pair`, "a  b": "line 1", " a": "line 1", "a b c": "line 1"} {
		if _, err := Merges(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", file, err, want)
		}
	}
}

func TestCLIP(t *testing.T) {
	got, err := CLIP("\"name#version: 0.2\ni n\nt h</w>\n" + strings.Repeat("a b\n", CLIPMerges))
	if err != nil || len(got) != CLIPMerges || got[1] != [2]string{"t", "h</w>"} {
		t.Errorf("%d merges, %v", len(got), err)
	}
	for _, file := range []string{"", "one line", "head\nx\n"} {
		if _, err := CLIP(file); err == nil {
			t.Errorf("%q is accepted", file)
		}
	}
}

func TestParse(t *testing.T) {
	got, err := Parse(`{"version": "1.0", "truncation": null, "added_tokens": [{"id": 1, "content": "<m>", "lstrip": true, "special": true, "normalized": false}],
		"normalizer": {"type": "BertNormalizer", "lowercase": true, "strip_accents": false, "handle_chinese_chars": true},
		"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true}, "post_processor": {"type": "X", "deep": [[{"a": [1.5e3, -2]}]]},
		"model": {"type": "BPE", "unk_token": null, "vocab": {"a": 0, "<m>": 1}, "merges": ["a b", ["c", "d e"]]}}`)
	want := &Tokenizer{
		Model: "BPE", Vocab: []string{"a", "<m>"}, Pieces: 2, Merges: [][2]string{{"a", "b"}, {"c", "d e"}},
		Added: []Added{{ID: 1, Text: "<m>", LStrip: true, Special: true}}, UnknownID: -1, MaxChars: -1,
		Normalizer:    `{"type": "BertNormalizer", "lowercase": true, "strip_accents": false, "handle_chinese_chars": true}`,
		PreTokenizer:  `{"type": "ByteLevel", "add_prefix_space": false, "use_regex": true}`,
		PostProcessor: `{"type": "X", "deep": [[{"a": [1.5e3, -2]}]]}`,
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	for _, file := range []string{
		`{}`, `[]`, `{"model": {"vocab": {"a": 0}}`, `{"model": {"vocab": {"a": 0}, "merges": ["ab"]}}`, `{"model": {"vocab": {"a": 0}, "merges": [["a"]]}}`,
		`{"added_tokens": [{"id": 99999999, "content": "x"}], "model": {"vocab": {"a": 0}}}`, `{"x": ` + strings.Repeat("[", 100000) + strings.Repeat("]", 100000) + `}`,
	} {
		if _, err := Parse(file); err == nil {
			t.Errorf("%.60q is accepted", file)
		}
	}
}

// TestScores reads scores as the library's JSON reader does, to the last bit: not
// always as the nearest number.
func TestScores(t *testing.T) {
	for text, want := range map[string]float64{
		"0.0": 0, "-3": -3, "-2.0122928619384766": -2.012292861938477, "1e2": 100, "-1.5E-3": -0.0015, "0.1": 0.1, "1e-400": 0,
		"-11.123456789012345678901234567890": -11.123456789012344, "123456789012345678901234567890": 1.2345678901234568e29,
	} {
		v, err := Parse(`{"model": {"type": "Unigram", "unk_id": 0, "byte_fallback": true, "vocab": [["a", ` + text + `]]}}`)
		if err != nil || len(v.Scores) != 1 || v.Scores[0] != want || v.UnknownID != 0 || !v.ByteFallback {
			t.Errorf("%s: %+v, %v, want %g", text, v, err, want)
		}
	}
	for _, text := range []string{"1e400", "-", "1.", ".5", "1e", "x"} {
		if _, err := Parse(`{"model": {"vocab": [["a", ` + text + `]]}}`); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}

func FuzzFiles(f *testing.F) {
	for _, s := range []string{`{"a": 0, "\u0120b": 1}`, "#version: 0.2\na b\n", "x\na b\n", `{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}, "added_tokens": []}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, file string) {
		if v, err := JSON(file); err == nil && len(v) > len(file) {
			t.Errorf("%d ids of %d bytes", len(v), len(file))
		}
		if m, err := Merges(file); err == nil {
			for _, x := range m {
				if x[0] == "" || x[1] == "" {
					t.Errorf("empty piece in %q", m)
				}
			}
		}
		if _, err := CLIP(file); err != nil && err.Error() == "" {
			t.Error("an error without a text")
		}
		if p, err := Parse(file); err == nil && len(p.Vocab)+len(p.Added) == 0 {
			t.Error("no vocabulary is accepted")
		}
	})
}
