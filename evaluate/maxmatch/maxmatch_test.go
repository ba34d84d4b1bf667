package maxmatch

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"espalier/evaluate/pytext"
	"espalier/internal/shared"
)

type golden struct {
	Settings []struct {
		P, R, F, Beta           float64
		Correct, Proposed, Gold int
		Chosen                  []int `json:"chosen_annotators"`
		IgnoreCase              bool  `json:"ignore_whitespace_casing"`
		MaxUnchanged            int   `json:"max_unchanged_words"`
	}
	Sentences []struct {
		Vertices, Edges int
		Annotators      json.RawMessage
	}
}

type annotatorCount struct {
	Edits                   [][]any
	Correct, Proposed, Gold int
}

func load(t *testing.T, dir, name string) (sentences []Sentence, hyps [][]string, g golden) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, name+".m2"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if sentences, err = Read(f); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, name+".hyp"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
		hyps = append(hyps, pytext.Fields(line))
	}
	if b, err = os.ReadFile(filepath.Join(dir, name+".scores.json")); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	return sentences, hyps, g
}

func check(t *testing.T, dir, name string) {
	t.Helper()
	sentences, hyps, g := load(t, dir, name)
	if len(sentences) != len(hyps) {
		t.Fatalf("%d sentences, %d hypotheses", len(sentences), len(hyps))
	}
	var compare Comparer
	for n, s := range g.Settings {
		o := Options{MaxUnchanged: s.MaxUnchanged, IgnoreCase: s.IgnoreCase, Beta: s.Beta}
		c := Chooser{Beta: s.Beta}
		var chosen []int
		for i := range sentences {
			counts, l, err := compare.Compare(&sentences[i], hyps[i], o)
			if err != nil {
				t.Fatal(err)
			}
			var totals []Totals
			for _, n := range counts {
				totals = append(totals, n.Totals)
			}
			chosen = append(chosen, sentences[i].Annotators[c.Choose(totals)].ID)
			if n > 0 {
				continue
			}
			if w := g.Sentences[i]; l.Vertices != w.Vertices || l.Edges != w.Edges {
				t.Errorf("%s sentence %d: %d vertices, %d edges, want %d, %d", name, i, l.Vertices, l.Edges, w.Vertices, w.Edges)
			}
			var want map[string]annotatorCount
			if json.Unmarshal(g.Sentences[i].Annotators, &want) != nil {
				continue
			}
			for k, a := range sentences[i].Annotators {
				w := want[json.Number(strings.TrimSpace(string(mustJSON(a.ID)))).String()]
				var got [][]any
				for _, e := range counts[k].Edits {
					got = append(got, []any{float64(e.Start), float64(e.End), e.Original, e.Corrections[0]})
				}
				if string(mustJSON(got)) != string(mustJSON(w.Edits)) && len(got)+len(w.Edits) > 0 {
					t.Errorf("%s sentence %d annotator %d: edits %v, want %v", name, i, a.ID, got, w.Edits)
				}
				if c := counts[k]; c.Correct != w.Correct || c.Proposed != w.Proposed || c.Gold != w.Gold {
					t.Errorf("%s sentence %d annotator %d: %d of %d, gold %d, want %d of %d, %d", name, i, a.ID, c.Correct, c.Proposed, c.Gold, w.Correct, w.Proposed, w.Gold)
				}
			}
		}
		p, r, f := c.Totals.F(s.Beta)
		if (c.Totals != Totals{s.Correct, s.Proposed, s.Gold}) || math.Abs(p-s.P) > 1e-15 || math.Abs(r-s.R) > 1e-15 || math.Abs(f-s.F) > 1e-15 {
			t.Errorf("%s %+v: %+v, %v %v %v, want %+v", name, o, c.Totals, p, r, f, s)
		}
		if !slices.Equal(chosen, s.Chosen) {
			t.Errorf("%s %+v: annotators %v, want %v", name, o, chosen, s.Chosen)
		}
	}
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func TestTenLines(t *testing.T) { check(t, "testdata", "ten_lines") }

func TestEqualToTheM2Scorer(t *testing.T) {
	dir := shared.Dir(t, "goldens", "metrics", "gec")
	files, err := filepath.Glob(filepath.Join(dir, "*.m2"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".m2")
		t.Run(name, func(t *testing.T) { check(t, dir, name) })
	}
}

// A repeated phrase makes the script run for hours.
func TestRepetitionIsNoTrap(t *testing.T) {
	src := strings.Fields(strings.Repeat("the cat sat on a mat ", 5))
	hyp := slices.Concat(src[:12], strings.Fields(strings.Repeat("and so we go to the cat ", 30)), src[12:])
	s := Sentence{Source: src, Annotators: []Annotator{{Edits: []Edit{{Start: 1, End: 2, Original: "cat", Corrections: []string{"dog"}}}}}}
	began := time.Now()
	var c Comparer
	counts, l, _ := c.Compare(&s, hyp, Options{MaxUnchanged: 2})
	t.Logf("%d vertices, %d edges, %v", l.Vertices, l.Edges, time.Since(began))
	if counts[0].Gold != 1 || counts[0].Proposed == 0 {
		t.Errorf("counts %+v", counts[0])
	}
}

// A block in memory is read as a file is.
func TestBlockIsRead(t *testing.T) {
	for _, in := range []string{"S a b\nA 0 1|||R|||x||y|||REQUIRED|||-NONE-|||1\n", "\ufeffS a\r\nA 0 0|||M|||b|||R|||N|||0|||more\r\n", "S a\nS b c", "S a\n\nS b\n", "", "\n", "S", "A 0 1|||x", "S a\nA 0 1|||R|||x|||R|||N"} {
		want, wantErr := Read(strings.NewReader(in))
		got, err := Block(in)
		if !reflect.DeepEqual(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("Block(%q) = %v, %v, want %v, %v", in, got, err, want, wantErr)
		}
	}
}

func TestBadFilesNameTheLine(t *testing.T) {
	for in, want := range map[string]string{
		"S a b\nA 0 1|||R|||x|||REQUIRED|||-NONE-\n":      "line 2: 5 fields",
		"S a b\nA 0 x|||R|||x|||REQUIRED|||-NONE-|||0\n":  `line 2: offset "x"`,
		"S a b\nA 0|||R|||x|||REQUIRED|||-NONE-|||0\n":    "line 2: offsets",
		"S a b\n\nthe cat\n":                              "line 3: a block without a line S",
		"S a b\nthe cat\n":                                "line 2:",
		"S a b\nA 0 1|||R|||x|||REQUIRED|||-NONE-|||me\n": "line 2: annotator",
	} {
		if _, err := Read(strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Read(%q): %v, want %q", in, err, want)
		}
	}
}

// A sentence on which the script takes hours: a system says the same over and
// over.
func worst() (*Sentence, []string) {
	src := strings.Fields(strings.Repeat("the man who has a dog and ", 5))
	return &Sentence{Source: src, Annotators: []Annotator{{Edits: []Edit{
		{Start: 3, End: 4, Original: "has", Corrections: []string{"had"}}, {Start: 9, End: 10, Original: "who", Corrections: []string{""}},
	}}}}, strings.Fields(strings.Repeat("the man had a dog and cat ", 40))
}

func BenchmarkWorst(b *testing.B) {
	s, hyp := worst()
	for b.Loop() {
		if _, _, err := new(Comparer).Compare(s, hyp, Options{MaxUnchanged: 2}); err != nil {
			b.Fatal(err)
		}
	}
}
