package pltrdy

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
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

func TestEqualToRouge101(t *testing.T) {
	dir := shared.Dir(t, "goldens", "metrics", "rouge")
	type pair struct{ Hyp, Ref string }
	type golden struct {
		Scores map[string]json.RawMessage `json:"rouge"`
	}
	pairs := lines[pair](t, dir+"/pairs.jsonl")
	for i, g := range lines[golden](t, dir+"/pairs.scores.jsonl") {
		p := pairs[i]
		for mode, lists := range map[string]bool{"exclusive": false, "not_exclusive": true} {
			s := Scorer{Lists: lists}
			h, err := s.Cut(p.Hyp)
			r, refErr := s.Cut(p.Ref)
			var want map[string][]float64
			if json.Unmarshal(g.Scores[mode], &want) != nil || want == nil {
				if err == nil && refErr == nil {
					t.Errorf("%q, %q: no error, want %s", p.Hyp, p.Ref, g.Scores[mode])
				}
				continue
			}
			if err != nil || refErr != nil {
				t.Errorf("%q, %q: %v, %v", p.Hyp, p.Ref, err, refErr)
				continue
			}
			for kind, got := range map[string]Score{"rouge-1": s.N(h, r, 1), "rouge-2": s.N(h, r, 2), "rouge-l": s.L(h, r)} {
				for k, v := range []float64{got.P, got.R, got.F} {
					if math.Abs(v-want[kind][k]) > 1e-15 {
						t.Errorf("%q, %q: %s %s %v, want %v", p.Hyp, p.Ref, mode, kind, got, want[kind])
						break
					}
				}
			}
		}
	}
}

func TestKnownAnswers(t *testing.T) {
	var s Scorer
	f := func(h, r string, n int) float64 {
		a, err := s.Cut(h)
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.Cut(r)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return s.L(a, b).F
		}
		return s.N(a, b, n).F
	}
	for _, c := range []struct {
		hyp, ref string
		n        int
		want     float64
	}{
		{"a b c", "a b c", 1, .999999995},
		{"the cat sat", "the cat sat on the mat", 1, .7499999953125},
		{"the cat sat", "the cat sat on the mat", 2, .5714285673469389},
		{"the cat sat", "the cat sat on the mat", 0, .7499999953125},
		{"你 好 世 界", "你 好 ， 世 界", 2, .5714285665306124},
		{"1 2 1 2", "1 2 3 4 5 1 2 6", 1, .4999999962500001},
		{"A B", "a b", 1, 0},
		{strings.Repeat("aaa ", 5000), strings.Repeat("bbb ", 5000), 0, 0},
	} {
		if got := f(c.hyp, c.ref, c.n); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("%.20q, %.20q, n %d: %v, want %v", c.hyp, c.ref, c.n, got, c.want)
		}
	}
	for _, empty := range []string{"", ".", "..."} {
		if _, err := s.Cut(empty); err != ErrEmpty {
			t.Errorf("Cut(%q): %v, want ErrEmpty", empty, err)
		}
	}
	if got := Characters(" 你好\u3000ab "); got != "你 好 a b" {
		t.Errorf("Characters = %q", got)
	}
}
