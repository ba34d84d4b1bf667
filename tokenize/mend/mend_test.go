package mend

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"espalier/tokenize/tokentest"
)

func TestGolden(t *testing.T) {
	m := New()
	tokentest.Golden(t, "clip_clean.jsonl", func(r struct {
		Text, FTFY string
		Twice      string `json:"unescaped_twice"`
	},
	) {
		if got := m.Fix(r.Text); got != r.FTFY {
			t.Errorf("%q: %q, want %q", r.Text, got, r.FTFY)
		}
		if got := Unescape(Unescape(r.Text)); got != r.Twice {
			t.Errorf("%q: %q unescaped, want %q", r.Text, got, r.Twice)
		}
	})
}

// TestPython compares with ftfy and html.unescape; the file is made by
// testdata/README.md's command.
func TestPython(t *testing.T) {
	path := "testdata/mend.json"
	if p := os.Getenv("MEND_ROWS"); p != "" {
		path = p
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][3]string // text, ftfy.fix_text, html.unescape
	if err := json.Unmarshal(b, &rows); err != nil {
		t.Fatal(err)
	}
	m := New()
	bad := 0
	for _, r := range rows {
		got := [3]string{r[0], m.Fix(r[0]), Unescape(r[0])}
		if got != r {
			if bad++; bad < 10 {
				t.Errorf("%+q:\n%+q, want\n%+q", r[0], got[1:], r[1:])
			}
		}
	}
	if bad > 0 || len(rows) < 60 {
		t.Errorf("%d of %d differ", bad, len(rows))
	}
}

// TestQuick repairs text made of what the quick way looks at, with all steps too.
func TestQuick(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	parts := []string{
		"a", "B", " ", "s", ".", "\u2019", "\u201c", "\u2018", "\uff0c", "\uff21", "\uff06", "\uff1c", "\u3000", "\u00e9", "\u00c3", "\u00c2", "\u00a0", "\u0153", "\u0152",
		"\u00e2\u20ac\u2122", "\u00d7", "\u2122", "\u20ac", "\u201a", "\u00e2", "\u4f60", "\u597d", "\u0301", "\ufb01", "\uffe6", "\uff76", "&amp;", "\r", "\x1b[1m", "\ufeff",
		"\U0001f600", "\U000110ba", "\u0420", "\u0432\u0402", "\u0393", "1", "?", ",", "\x80", "\u00b0", "\u2500", "\u2026", "\t", "\u2028", "\u0085",
	}
	m, taken := New(), 0
	for range 60000 {
		text := ""
		for range r.IntN(8) {
			text += parts[r.IntN(len(parts))]
		}
		got, ok := m.quick(text)
		if !ok {
			continue
		}
		taken++
		got = strings.Clone(got)
		if want := m.slow(text, true); got != want {
			t.Fatalf("%+q: %+q, want %+q", text, got, want)
		}
	}
	if taken < 1000 {
		t.Errorf("%d texts are repaired quickly", taken)
	}
}

func FuzzQuick(f *testing.F) {
	for _, s := range []string{"it\u2019s", "\uff0c\u4f60", "\u00e2\u20ac\u2122", "\u00c3 \uff21"} {
		f.Add(s)
	}
	m := New()
	f.Fuzz(func(t *testing.T, text string) {
		if got, ok := m.quick(text); ok && strings.IndexByte(text, '\n') < 0 {
			got = strings.Clone(got)
			if want := m.slow(text, true); got != want {
				t.Fatalf("%+q: %+q, want %+q", text, got, want)
			}
		}
	})
}
