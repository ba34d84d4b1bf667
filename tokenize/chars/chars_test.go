package chars

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"espalier/internal/shared"
)

func read(t *testing.T, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatal(err)
	}
}

// each calls f with every code point but the surrogates.
func each(f func(r rune)) {
	for r := rune(0); r <= 0x10FFFF; r++ {
		if r < 0xD800 || r > 0xDFFF {
			f(r)
		}
	}
}

func TestClasses(t *testing.T) {
	var g map[string]json.RawMessage
	read(t, shared.Dir(t, "goldens", "tokenizers", "char_classes.json"), &g)
	table := Load()
	for _, x := range []struct {
		name  string
		names []string
		of    func(p Props) int
	}{
		{"bytelevel_fast", []string{"", "L", "N", "S"}, func(p Props) int { return int(p.Fast()) }},
		{"bytelevel_python_regex", []string{"", "L", "N", "S"}, func(p Props) int { return int(p.Python()) }},
		{"bert_fast", []string{"", "drop", "space", "cjk", "punct"}, func(p Props) int { return int(p.FastBert()) }},
	} {
		var ranges [][3]any
		if err := json.Unmarshal(g[x.name], &ranges); err != nil {
			t.Fatal(err)
		}
		want := map[rune]string{}
		for _, r := range ranges {
			for c := rune(r[0].(float64)); c <= rune(r[1].(float64)); c++ {
				want[c] = r[2].(string)
			}
		}
		bad := 0
		each(func(r rune) {
			if got := x.names[x.of(table.Of(r))]; got != want[r] {
				if bad++; bad < 5 {
					t.Errorf("%s: U+%04X is %q, want %q", x.name, r, got, want[r])
				}
			}
		})
	}
}

// TestMaps compares what becomes of every character in the fast BERT classes.
func TestMaps(t *testing.T) {
	var g map[string]json.RawMessage
	read(t, shared.Dir(t, "goldens", "tokenizers", "char_normalize.json"), &g)
	table, n := Load(), NewNormalizer(true)
	strip := func(s string) string {
		var b strings.Builder
		for _, r := range string(n.AppendNFD(nil, s)) {
			if table.Of(r)&FastMark == 0 {
				b.WriteRune(r)
			}
		}
		return b.String()
	}
	lower := func(s string) string {
		var b strings.Builder
		for _, r := range s {
			b.WriteRune(Lower(r))
			if r == 0x130 {
				b.WriteRune(0x307)
			}
		}
		return b.String()
	}
	for name, f := range map[string]func(string) string{
		"bert_strip_accents": strip, "bert_lower": lower, "bert_strip_lower": func(s string) string { return lower(strip(s)) },
	} {
		var want struct {
			Changed int
			Digests []string
		}
		if err := json.Unmarshal(g[name], &want); err != nil {
			t.Fatal(err)
		}
		var block []string
		var digests []string
		changed := 0
		flush := func() {
			sum := sha256.Sum256([]byte(strings.Join(block, "\n")))
			digests = append(digests, hex.EncodeToString(sum[:8]))
			block = block[:0]
		}
		each(func(r rune) {
			s := f(string(r))
			if s != string(r) {
				changed++
			}
			if block = append(block, s); len(block) == 4096 {
				flush()
			}
		})
		flush()
		if changed != want.Changed || strings.Join(digests, " ") != strings.Join(want.Digests, " ") {
			t.Errorf("%s: %d characters change, want %d; or other digests", name, changed, want.Changed)
		}
	}
}

// TestNormal compares with unicodedata and the tokenizers library; the file is
// made by testdata/README.md's command.
func TestNormal(t *testing.T) {
	path := "testdata/normal.json"
	if p := os.Getenv("CHARS_NORMAL"); p != "" {
		path = p
	}
	var rows [][5]string // text, NFD, NFC, NFD and NFC of the fast classes
	read(t, path, &rows)
	python, fast := NewNormalizer(false), NewNormalizer(true)
	bad := 0
	for _, r := range rows {
		got := [5]string{
			r[0], string(python.AppendNFD(nil, r[0])), string(python.AppendNFC(nil, r[0])),
			string(fast.AppendNFD(nil, r[0])), string(fast.AppendNFC(nil, r[0])),
		}
		if got != r {
			if bad++; bad < 10 {
				t.Errorf("%+q: %+q, want %+q", r[0], got[1:], r[1:])
			}
		}
	}
	if bad > 0 || len(rows) < 60 {
		t.Errorf("%d of %d differ", bad, len(rows))
	}
}

func TestManyMarks(t *testing.T) {
	n := NewNormalizer(false)
	s := "a" + strings.Repeat("\u0301\u0323", 50000)
	want := "a" + strings.Repeat("\u0323", 50000) + strings.Repeat("\u0301", 50000)
	if got := string(n.AppendNFD(nil, s)); got != want {
		t.Error("marks are not in canonical order")
	}
}

func TestLoadOnce(t *testing.T) {
	if a, b := Load(), Load(); a != b {
		t.Error("two tables")
	}
	if p := Load().Of(-1); p != Load().Of(0x10FFFF) {
		t.Errorf("properties of -1: %x", p)
	}
}

// TestLower has what str.lower of Python 3.11 gives.
func TestLower(t *testing.T) {
	for _, x := range [][2]string{
		{"ΟΔΥΣΣΕΥΣ", "οδυσσευς"},
		{"Σ", "σ"},
		{"ΑΣ. ΣΑΣ", "ας. σας"},
		{"ΑΣ\u0301", "ας\u0301"},
		{"ΑΣ\u00adΑ", "ασ\u00adα"},
		{"İI", "i\u0307i"},
		{"A1Σ", "a1σ"},
		{"É\u1c89", "é\u1c89"}, // younger than Unicode 14
	} {
		if got := string(Load().AppendLower(nil, x[0])); got != x[1] {
			t.Errorf("%+q: %+q, want %+q", x[0], got, x[1])
		}
	}
	if got := string(Load().AppendLowerFast(nil, "ΑΣ İ\u1c89")); got != "ασ i\u0307\u1c8a" {
		t.Errorf("fast: %+q", got)
	}
}
