package ptb

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"espalier/internal/shared"
)

// Characters that begin a line shift all later captions, as in the original.
func TestShiftedLines(t *testing.T) {
	f, err := os.Open(shared.Dir(t, "goldens", "metrics", "ptb", "line_shift.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := json.NewDecoder(f)
	n := 0
	for ; d.More(); n++ {
		var r struct {
			Note                      string
			Captions, Lines, Attached []string
			Tokens                    int
		}
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		lines := all(r.Captions...)
		if !slices.Equal(lines, r.Lines) {
			t.Errorf("%s: %q, want %q", r.Note, lines, r.Lines)
		}
		tokens := len(lines) - 1 // the original counts line ends
		for _, l := range lines {
			tokens += words(l)
		}
		if tokens != r.Tokens {
			t.Errorf("%s: %d tokens, want %d", r.Note, tokens, r.Tokens)
		}
		for i, want := range r.Attached {
			if got := filtered(lines[i]); got != want {
				t.Errorf("%s, caption %d: %q, want %q", r.Note, i, got, want)
			}
		}
	}
	if n == 0 {
		t.Error("no rows")
	}
}

// words counts what stands between single blanks.
func words(line string) int {
	if line == "" {
		return 0
	}
	return strings.Count(line, " ") + 1
}

// The totals that the original logs, and the list that the caption tools drop.
func TestTotalsAndFilter(t *testing.T) {
	var meta struct {
		Totals  map[string]int `json:"token_totals_before_filter"`
		Removed []string       `json:"removed_after_tokenisation"`
	}
	var patterns []string
	for name, v := range map[string]any{"meta.json": &meta, "chars_patterns.json": &patterns} {
		b, err := os.ReadFile(shared.Dir(t, "goldens", "metrics", "ptb", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, v); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range meta.Totals {
		var in []string
		for _, r := range golden(t, name) {
			in = append(in, r.Text)
		}
		got := len(in) - 1
		for _, l := range all(in...) {
			got += words(l)
		}
		if got != want {
			t.Errorf("%s: %d tokens, want %d", name, got, want)
		}
	}
	for _, w := range meta.Removed {
		if got := filtered("a " + w + " b"); got != "a b" {
			t.Errorf("%q stays: %q", w, got)
		}
	}
	b, err := os.ReadFile(shared.Dir(t, "goldens", "metrics", "ptb", "chars.json"))
	if err != nil {
		t.Fatal(err)
	}
	var chars struct{ Patterns []string }
	if err := json.Unmarshal(b, &chars); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(chars.Patterns, patterns) {
		t.Errorf("patterns %q and %q", chars.Patterns, patterns)
	}
}

// Parts of a stream, done in any order by one tokenizer, give its lines.
func TestPartsAreTheWhole(t *testing.T) {
	var captions []string
	for _, r := range golden(t, "real.jsonl") {
		captions = append(captions, strings.Map(func(r rune) rune {
			if lineBreak(string(r)) >= 0 {
				return ' '
			}
			return r
		}, r.Text))
	}
	captions = append(captions, "", "Mr.", "The U.S.", "The dog of St.", "\n", "")
	want, err := Lines(captions)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	var got []string
	tok := New(func(line []byte) { got = append(got, string(line)) })
	for range 300 {
		from := r.IntN(len(captions))
		n := 1 + r.IntN(min(40, len(captions)-from))
		if r.IntN(3) == 0 {
			from = len(captions) - n
		}
		got = got[:0]
		at := from
		err := tok.Part(n, func() (string, bool) {
			if at == len(captions) {
				return "", false
			}
			at++
			return captions[at-1], true
		})
		if err != nil || !slices.Equal(got, want[from:from+n]) {
			t.Fatalf("captions %d to %d: %q, %v, want %q", from, from+n, got, err, want[from:from+n])
		}
	}
	bad := []string{"a", "b\u2028", "c\v"}
	at := 0
	var e *LineBreakError
	if err := tok.Part(2, func() (string, bool) { at++; return bad[at-1], at <= len(bad) }); !errors.As(err, &e) || e.Caption != 1 || e.Char != 0x2028 {
		t.Errorf("a line break in a part: %v", err)
	}
}
