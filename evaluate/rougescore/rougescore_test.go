package rougescore

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

func lines[T any](t testing.TB, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []T
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 4<<20)
	for sc.Scan() {
		var x T
		if err := json.Unmarshal(sc.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		out = append(out, x)
	}
	return out
}

func near(got Score, want []float64) bool {
	for i, g := range []float64{got.P, got.R, got.F} {
		if math.Abs(g-want[i]) > 1e-15 {
			return false
		}
	}
	return true
}

func TestEqualToRougeScore(t *testing.T) {
	dir := shared.Dir(t, "goldens", "metrics", "rouge")
	type pair struct{ Hyp, Ref string }
	type golden struct {
		Tokens []string                        `json:"hyp_tokens_stem"`
		Scores map[string]map[string][]float64 `json:"rouge_score"`
	}
	pairs := lines[pair](t, dir+"/pairs.jsonl")
	for i, g := range lines[golden](t, dir+"/pairs.scores.jsonl") {
		p := pairs[i]
		if got := Tokens(p.Hyp, true); !slices.Equal(got, g.Tokens) {
			t.Errorf("%q: tokens %q, want %q", p.Hyp, got, g.Tokens)
		}
		for mode, stem := range map[string]bool{"plain": false, "stem": true} {
			s := New(stem)
			h, r := s.Cut(p.Hyp), s.Cut(p.Ref)
			for kind, want := range g.Scores[mode] {
				var got Score
				switch kind {
				case "rougeL":
					got = s.L(h, r)
				case "rougeLsum":
					got = s.Lsum(h, r)
				default:
					got = s.N(h, r, int(kind[len(kind)-1]-'0'))
				}
				if !near(got, want) {
					t.Errorf("%q, %q: %s %s %v, want %v", p.Hyp, p.Ref, mode, kind, got, want)
				}
			}
		}
	}
}

func TestKnownAnswers(t *testing.T) {
	s := New(true)
	h, r := s.Cut("The cats sat.\nThey slept"), s.Cut("the cat sat on the mat\n\nthey were sleeping")
	for name, c := range map[string]struct {
		got, want Score
	}{
		"rouge1":    {s.N(h, r, 1), score(4./5, 4./9)},
		"rouge2":    {s.N(h, r, 2), score(2./4, 2./8)},
		"rougeL":    {s.L(h, r), score(4./5, 4./9)},
		"rougeLsum": {s.Lsum(h, r), score(4./5, 4./9)},
	} {
		if c.got != c.want {
			t.Errorf("%s = %v, want %v", name, c.got, c.want)
		}
	}
	if got := s.N(s.Cut("สวัสดี"), s.Cut("สวัสดี"), 1); got != (Score{}) {
		t.Errorf("text without ASCII letters: %v, want zeros", got)
	}
	long := s.Cut(strings.Repeat("aaa ", 5000))
	if got := s.L(long, s.Cut(strings.Repeat("bbb ", 5000))); got != (Score{}) {
		t.Errorf("long texts without a common word: %v", got)
	}
}
