package ptb

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"espalier/internal/shared"
)

// row is a line of any of the golden files.
type row struct {
	Text, Lower, Upper, EOF string
	W                       string
	RawLower                string `json:"raw_lower"`
	RawUpper                string `json:"raw_upper"`
	RawEOF                  string `json:"raw_eof"`
	FilteredLower           string `json:"filtered_lower"`
	Raw, Filtered           string
	Next                    string
	NextRaw                 string `json:"next_raw"`
	Captions                []string
	Lines, Attached         []string
}

func rows(t testing.TB, path string) []row {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []row
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var r row
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func golden(t testing.TB, name string) []row {
	return rows(t, shared.Dir(t, "goldens", "metrics", "ptb", name))
}

// all tokenises captions as one stream, line breaks included.
func all(captions ...string) []string {
	var out []string
	tok := New(func(line []byte) { out = append(out, string(line)) })
	for _, c := range captions {
		tok.feed(c)
	}
	tok.Close()
	return out
}

func filtered(line string) string { return string(Filter([]byte(line))) }

// checkThree compares lines followed by a lower-case line, by an upper-case
// line and by nothing.
func checkThree(t *testing.T, rs []row) {
	t.Helper()
	var lower, upper []string
	for _, r := range rs {
		lower = append(lower, r.Text, "a plain next line")
		upper = append(upper, r.Text, "The next line")
	}
	l, u := all(lower...), all(upper...)
	for i, r := range rs {
		if got := l[2*i]; got != r.Lower {
			t.Errorf("%q before lower case: %q, want %q", r.Text, got, r.Lower)
		}
		if got := u[2*i]; got != r.Upper {
			t.Errorf("%q before upper case: %q, want %q", r.Text, got, r.Upper)
		}
		if got := all(r.Text)[0]; got != r.EOF {
			t.Errorf("%q at the end: %q, want %q", r.Text, got, r.EOF)
		}
		if r.FilteredLower != "" && filtered(l[2*i]) != r.FilteredLower {
			t.Errorf("%q filtered: %q, want %q", r.Text, filtered(l[2*i]), r.FilteredLower)
		}
	}
}

func TestMadeUpLines(t *testing.T) { checkThree(t, rows(t, "testdata/hand.jsonl")) }

func TestEqualToTheReference(t *testing.T) {
	for _, name := range []string{"hand.jsonl", "abbrev.jsonl"} {
		rs := golden(t, name)
		for i := range rs {
			r := &rs[i]
			if r.W != "" {
				r.Text = "a big " + r.W + "."
			}
			r.Lower, r.Upper, r.EOF = r.RawLower, r.RawUpper, r.RawEOF
		}
		t.Run(name, func(t *testing.T) { checkThree(t, rs) })
	}
	for _, name := range []string{"real.jsonl", "fuzz.jsonl"} {
		t.Run(name, func(t *testing.T) {
			rs := golden(t, name)
			var in []string
			for _, r := range rs {
				in = append(in, r.Text)
			}
			for i, got := range all(in...) {
				if got != rs[i].Raw || filtered(got) != rs[i].Filtered {
					t.Errorf("%q: %q, want %q", rs[i].Text, got, rs[i].Raw)
				}
			}
		})
	}
	t.Run("context.jsonl", func(t *testing.T) {
		rs := golden(t, "context.jsonl")
		var in []string
		for _, r := range rs {
			in = append(in, r.Text, r.Next, "a plain next line")
		}
		out := all(in...)
		for i, r := range rs {
			if out[3*i] != r.Raw || filtered(out[3*i]) != r.Filtered || out[3*i+1] != r.NextRaw {
				t.Errorf("%q, %q: %q, %q, want %q, %q", r.Text, r.Next, out[3*i], out[3*i+1], r.Raw, r.NextRaw)
			}
		}
	})
}

// Every character of the basic plane in seven places.
func TestEveryCharacter(t *testing.T) {
	b, err := os.ReadFile(shared.Dir(t, "goldens", "metrics", "ptb", "chars.json"))
	if err != nil {
		t.Fatal(err)
	}
	var g struct {
		Patterns []string
		Classes  [][]string
		Ranges   [][3]int
	}
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	for p, pattern := range g.Patterns {
		var chars []string
		var in, want []string
		for _, r := range g.Ranges {
			for c := r[0]; c <= r[1]; c++ {
				chars = append(chars, string(rune(c)))
				in = append(in, strings.ReplaceAll(pattern, "@", string(rune(c))))
				want = append(want, g.Classes[r[2]][p])
			}
		}
		out := all(append(in, "end")...)
		for i, w := range want {
			same := strings.ReplaceAll(w, "\u25fb", chars[i])
			low := strings.ReplaceAll(w, "\u25fb", lower(chars[i]))
			if out[i] != w && out[i] != same && out[i] != low {
				t.Errorf("%q: %q, want %q", in[i], out[i], w)
			}
		}
	}
}

func TestLineBreaks(t *testing.T) {
	for _, r := range rows(t, "testdata/lines.jsonl") {
		out := all(r.Captions...)
		if strings.Join(out, "\n") != strings.Join(r.Lines, "\n") {
			t.Errorf("%q: %q, want %q", r.Captions, out, r.Lines)
		}
		for i, want := range r.Attached {
			if got := filtered(out[i]); got != want {
				t.Errorf("%q: caption %d gets %q, want %q", r.Captions, i, got, want)
			}
		}
	}
	var e *LineBreakError
	if _, err := Lines([]string{"a dog", "a\rcat"}); !errors.As(err, &e) || e.Caption != 1 || e.Char != '\r' {
		t.Errorf("Lines with a carriage return: %v, want a LineBreakError of caption 1", err)
	}
	if got, err := Lines([]string{"a\ndog.", ""}); err != nil || len(got) != 2 || got[0] != "a dog ." || got[1] != "" {
		t.Errorf("Lines = %q, %v", got, err)
	}
	if got, err := Lines(nil); err != nil || len(got) != 0 {
		t.Errorf("Lines of nothing = %q, %v", got, err)
	}
}

func TestFilter(t *testing.T) {
	for in, want := range map[string]string{
		"": "", ".": "", ". . .": "", "a dog .": "a dog", "`` a '' -lrb- b -rrb- ?! ---": "a -lrb- b -rrb- ?! ---",
		"-LRB- a": "a", ", a , , b": "a b",
		"see http://x.y/z\u00a0":    "see http://x.y/z", // as the tools strip the line
		"http://x.y/z5.\x1c,\u3000": "http://x.y/z5.\x1c,",
	} {
		if got := filtered(in); got != want {
			t.Errorf("Filter(%q) = %q, want %q", in, got, want)
		}
	}
}

// A stream that is cut into captions in another place gives the same tokens as
// long as the text is the same, and never more lines than captions.
func FuzzTokenizer(f *testing.F) {
	for _, s := range []string{"A dog's U.S. tail.\nThe cat", "1 1/2 cups, (555) 555-1234", "&amp; <a b='c'> :-) '05", "a\u00adb \u0130\u03a3 \U0001F600"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		lines := strings.Split(s, "\n")
		out, err := Lines(lines)
		if err != nil {
			return
		}
		if len(out) != len(lines) {
			t.Fatalf("%d lines of tokens for %d captions", len(out), len(lines))
		}
		for _, l := range out {
			if strings.Contains(l, "  ") || strings.HasPrefix(l, " ") || strings.HasSuffix(l, " ") {
				t.Fatalf("%q holds an empty token", l)
			}
		}
		// Parts of the stream are cut as within it.
		var parts []string
		cut := New(func(line []byte) { parts = append(parts, string(line)) })
		at := 0
		next := func() (string, bool) {
			at++
			if at > len(lines) {
				return "", false
			}
			return lines[at-1], true
		}
		half := (len(lines) + 1) / 2
		for _, n := range []int{half, len(lines) - half} {
			at = len(parts)
			if err := cut.Part(n, next); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(parts, out) {
			t.Fatalf("%q: parts give %q, want %q", lines, parts, out)
		}
		// Fed as one piece with the line feeds inside, the automaton sees the
		// same symbols.
		tok := New(func([]byte) {})
		tok.lex.feed(s)
		n := 0
		for {
			r, _, _, ok := tok.lex.next(true)
			if !ok {
				break
			}
			if tok.lex.c.rules[r].act == newline {
				n++
			}
		}
		if n != len(lines)-1 {
			t.Fatalf("%d line ends in one piece, want %d", n, len(lines)-1)
		}
	})
}

func BenchmarkTokenizer(b *testing.B) {
	rs := golden(b, "real.jsonl")
	n := int64(0)
	for _, r := range rs {
		n += int64(len(r.Text)) + 1
	}
	b.SetBytes(n)
	tok := New(func([]byte) {})
	for b.Loop() {
		for _, r := range rs {
			tok.feed(r.Text)
		}
	}
}

// testdata/lower.jsonl: what String.toLowerCase(Locale.ENGLISH) of OpenJDK 17
// makes of random strings with a capital sigma.
func TestLowerIsJavas(t *testing.T) {
	f, err := os.Open("testdata/lower.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := json.NewDecoder(f)
	n := 0
	for ; d.More(); n++ {
		var row [2]string
		if err := d.Decode(&row); err != nil {
			t.Fatal(err)
		}
		if got := lower(row[0]); got != row[1] {
			t.Errorf("lower(%+q) = %+q, want %+q", row[0], got, row[1])
		}
	}
	if n != 250 {
		t.Errorf("%d rows, want 250", n)
	}
}
