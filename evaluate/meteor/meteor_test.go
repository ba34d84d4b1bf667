package meteor

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"espalier/internal/shared"
)

func rows[T any](t *testing.T, name string) (out []T) {
	t.Helper()
	f, err := os.Open(shared.Dir(t, "goldens", "metrics", "meteor", name))
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
		direct := slices.Clone(d.synsets[r.W])
		slices.Sort(direct)
		if !slices.Equal(slices.Compact(direct), r.Direct) {
			t.Errorf("%q: %v, want %v", r.W, direct, r.Direct)
		}
	}
}

func TestNormalise(t *testing.T) {
	d := tables(t)
	for _, r := range rows[struct{ Text, Norm string }](t, "normalize.jsonl") {
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
	known := map[string]bool{}
	for _, p := range pairs {
		for _, w := range strings.Fields(p.HypWords + " " + p.RefWords) {
			known[w] = true
		}
	}
	table, err := d.Paraphrases(t.Context(), func(w []byte) bool { return known[string(w)] })
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range pairs {
		for _, c := range []struct {
			s    *Scorer
			want result
			name string
		}{{NewScorer(d, nil), p.Three, "three"}, {NewScorer(d, table), p.All, "all"}} {
			h, r := d.Words(p.Hyp), d.Words(p.Ref)
			if strings.Join(h, " ") != p.HypWords || strings.Join(r, " ") != p.RefWords {
				t.Errorf("pair %d: words %q %q", i, h, r)
				continue
			}
			st := c.s.Count(h, r)
			row := make([]float64, Width)
			st.Row(row)
			if got := Score(row); !slices.Equal(row, c.want.Stats) || math.Abs(got-c.want.Score) > 1e-14 {
				t.Errorf("pair %d %s: %v %v, want %v %v", i, c.name, got, row, c.want.Score, c.want.Stats)
			}
			var matches [][]float64
			for _, m := range align(c.s.candidates(h, r), len(h)).matches {
				if m != nil {
					matches = append(matches, []float64{float64(m.hyp), float64(m.hypLen), float64(m.ref), float64(m.refLen), float64(m.module), 1})
				}
			}
			for k, m := range c.want.Matches {
				if len(matches) != len(c.want.Matches) || !slices.Equal(m[:5], matches[k][:5]) {
					t.Errorf("pair %d %s: matches %v, want %v", i, c.name, matches, c.want.Matches)
					break
				}
			}
		}
	}
}
