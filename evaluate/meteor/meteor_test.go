package meteor

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"espalier/internal/shared"
)

func rows[T any](t *testing.T, name string) []T {
	t.Helper()
	return jsonLines[T](t, shared.Dir(t, "goldens", "metrics", "meteor", name))
}

func jsonLines[T any](t *testing.T, path string) (out []T) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var r T
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// tables loads METEOR's own tables, which are not part of this repository:
// ESPALIER_METEOR names a folder with its jar.
func tables(t *testing.T) *Data {
	t.Helper()
	dir := os.Getenv("ESPALIER_METEOR")
	if dir == "" {
		t.Skip("ESPALIER_METEOR names no folder")
	}
	d, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestSynsets(t *testing.T) {
	d := tables(t)
	for _, r := range rows[struct {
		W      string
		Direct []int32
		Base   []int32 `json:"base_forms"`
	}](t, "synsets.jsonl") {
		if got := d.baseForms(r.W); !slices.Equal(got, r.Base) {
			t.Errorf("%q: base forms %v, want %v", r.W, got, r.Base)
		}
		if direct := ordered(d.synsets.add(nil, r.W)); !slices.Equal(direct, r.Direct) {
			t.Errorf("%q: %v, want %v", r.W, direct, r.Direct)
		}
	}
}

// Without the tables, which tell where a dot stays, texts without dots are left.
func TestNormalise(t *testing.T) {
	d, err := Load(os.Getenv("ESPALIER_METEOR"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows[struct{ Text, Norm string }](t, "normalize.jsonl") {
		if d.synsets == nil && strings.Contains(r.Text, ".") {
			continue
		}
		if got := d.normalise(r.Text); got != r.Norm {
			t.Errorf("%q: %q, want %q", r.Text, got, r.Norm)
		}
	}
}

func TestAlign(t *testing.T) {
	d := tables(t)
	type result struct {
		Score   float64
		Stats   []float64
		Matches [][]float64
	}
	pairs := rows[struct {
		Hyp, Ref string
		HypWords string `json:"hyp_words"`
		RefWords string `json:"ref_words"`
		All      result
		Three    result `json:"exact_stem_syn"`
	}](t, "align.jsonl")
	table, err := d.Paraphrases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, with := range []*Paraphrases{nil, table} {
		lex := NewLexicon(d, with)
		for _, p := range pairs {
			lex.Numbers(d.Words(p.Hyp))
			lex.Numbers(d.Words(p.Ref))
		}
		lex.Close(2)
		s := NewScorer(lex)
		for i, p := range pairs {
			want := p.Three
			if with != nil {
				want = p.All
			}
			h, r := d.Words(p.Hyp), d.Words(p.Ref)
			if strings.Join(h, " ") != p.HypWords || strings.Join(r, " ") != p.RefWords {
				t.Errorf("pair %d: words %q %q", i, h, r)
				continue
			}
			s.Hypothesis(lex.Numbers(h))
			st := s.Count(lex.Numbers(r))
			row := make([]float64, Width)
			st.Row(row)
			if got := Score(row); !slices.Equal(row, want.Stats) || got != want.Score {
				t.Errorf("pair %d, paraphrases %v: %v %v, want %v %v", i, with != nil, got, row, want.Score, want.Stats)
			}
			matches := s.matches()
			for k, m := range want.Matches {
				if len(matches) != len(want.Matches) || !slices.Equal(m[:5], matches[k]) {
					t.Errorf("pair %d, paraphrases %v: matches %v, want %v", i, with != nil, matches, want.Matches)
					break
				}
			}
		}
	}
}

// matches are the last comparison's, in the order of the reference.
func (s *Scorer) matches() (out [][]float64) {
	chosen := slices.SortedFunc(slices.Values(s.chosen), func(a, b match) int { return a.ref - b.ref })
	for _, m := range chosen {
		out = append(out, []float64{float64(m.hyp), float64(m.hypLen), float64(m.ref), float64(m.refLen), float64(m.module)})
	}
	return out
}
