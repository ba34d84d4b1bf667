package meteor

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// own writes small tables.
func own(t *testing.T, paraphrases string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		functionFile: "the\na\n.\n", prefixFile: "# abbreviations\nDr\nNo #NUMERIC_ONLY#\n",
		synsetFile: "dog\n00000007 00000009\nhound\n00000009\nmouse\n00000011\nrodent\n00000011\n", exceptionFile: "mouse\nmice\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if paraphrases != "" {
		pack(t, filepath.Join(dir, "paraphrase-en.gz"), paraphrases)
	}
	return dir
}

func TestOwnTables(t *testing.T) {
	d, err := Load(own(t, "0.5\nin front of\nbefore\n0.2\nunseen\nwords\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Modules(); !slices.Equal(got, []string{"exact", "stem", "synonym", "paraphrase"}) {
		t.Error(got)
	}
	for text, want := range map[string]string{
		"Dr. No. 5 and No. x": "dr. no. 5 and no. x", "No. X": "no . x", "Hi, U.S. man's 1,000.": "hi , us man 's 1,000 .", "wait...what": "wait ... what",
	} {
		if got := strings.Join(d.Words(text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	table, err := d.Paraphrases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lex := NewLexicon(d, table)
	cases := []struct {
		hyp, ref string
		want     float64
	}{
		{"the dog", "the dog", 1},
		{"", "the dog", 0},
		{"cat", "dog", 0},
		{"dog", "hound", .8},                 // a synonym
		{"mice", "a rodent", 0},              // filled in below: base form by exception
		{"sat in front of", "sat before", 0}, // below: a paraphrase
	}
	// One content word of weight .8 in one of .75, and in 1 (.75 + .25):
	p, r := .8, .8*.75/1.
	frag := 1 / ((1. + 1.) / 2)
	cases[4].want = 1 / ((1-alpha)/p + alpha/r) * (1 - gamma*math.Pow(frag, beta))
	// 1 + 3 x .6 of 4 words, and 1 + .6 of 2, one chunk that is all:
	p, r = 2.8/4, 1.6/2
	cases[5].want = 1 / ((1-alpha)/p + alpha/r)
	for _, c := range cases {
		lex.Numbers(append(d.Words(c.hyp), d.Words(c.ref)...))
	}
	lex.Close(1)
	s := NewScorer(lex)
	row := make([]float64, Width)
	for _, c := range cases {
		s.Hypothesis(lex.Numbers(d.Words(c.hyp)))
		st := s.Count(lex.Numbers(d.Words(c.ref)))
		st.Row(row)
		if got := Score(row); math.Abs(got-c.want) > 1e-14 {
			t.Errorf("%q against %q: %v, want %v", c.hyp, c.ref, got, c.want)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	if _, err := Load(t.TempDir()); err == nil {
		t.Error("an empty folder was taken")
	}
	dir := own(t, "")
	if err := os.WriteFile(filepath.Join(dir, synsetFile), []byte("dog\n7\ncat\nx\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), synsetFile+":4") {
		t.Errorf("a synset that is no number: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, prefixFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), prefixFile) {
		t.Errorf("a table is missing: %v", err)
	}
}
