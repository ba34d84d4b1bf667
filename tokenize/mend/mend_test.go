package mend

import (
	"encoding/json"
	"os"
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
