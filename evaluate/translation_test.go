package evaluate

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"espalier/evaluate/input"
	"espalier/internal/shared"
)

var three, six = 3.0, 6.0 // variables: constants would divide exactly

// TER adds edits and lengths up; one misplaced phrase is one edit.
func TestTER(t *testing.T) {
	res := scorePairs(t, []string{"ter", "ter:norm=true:punct=false"}, []string{"sat the cat", "a dog , runs"}, [][]string{{"the cat sat"}, {"a dog runs ."}}, Request{})
	want := map[string]float64{
		"TER|nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:2.6.0": 100 * (three / 7),
		"TER|nrefs:1|case:lc|tok:tercom|norm:yes|punct:no|asian:no|version:2.6.0": 100 * (1 / six),
	}
	for _, v := range res.Values {
		if v.Value != want[v.Variant] || v.N != 2 {
			t.Errorf("%s %s: %v of %d, want %v", v.Metric, v.Variant, v.Value, v.N, want[v.Variant])
		}
	}
	if len(res.Values) != 2 {
		t.Errorf("%d values", len(res.Values))
	}
}

// sacrebleu's own bootstrap interval and both of its paired tests, number by
// number as NumPy draws them. The tool sums in float32, hence 1e-5.
func TestResamplingOfSacreBLEU(t *testing.T) {
	type system struct {
		Score, Mean, CI float64
		P               *float64 `json:"p_value"`
	}
	var golden map[string]struct {
		CI     float64
		BS, AR map[string]json.RawMessage
	}
	b, err := os.ReadFile(shared.Dir(t, "goldens", "metrics", "bleu", "bootstrap.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &golden); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(shared.Dir(t, "goldens", "metrics", "bleu", "corpora.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	seen := 0
	for sc.Scan() {
		var c struct {
			Name string
			Hyps []string
			Refs [][]string
		}
		if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		g, ok := golden[c.Name]
		if !ok {
			continue
		}
		seen++
		r := Request{Metrics: []string{"sacrebleu", "chrf"}, Workers: 2, Bootstrap: 1000}
		var base, other strings.Builder
		for i, h := range c.Hyps {
			refs := make([]string, len(c.Refs))
			for k := range c.Refs {
				refs[k] = c.Refs[k][i]
			}
			r.Refs = append(r.Refs[:0], input.Source{Path: "x"})
			w := strings.Split(h, " ")
			cut := strings.Join(w[:max(0, len(w)-2)], " ") + " ."
			base.WriteString(jsonLine(t, map[string]any{"id": i, "text": h}))
			other.WriteString(jsonLine(t, map[string]any{"id": i, "text": cut}))
			c.Refs[0][i] = jsonLine(t, map[string]any{"id": i, "references": refs})
		}
		r.Pred.Path = write(t, "base.jsonl", base.String())
		r.Refs = []input.Source{{Path: write(t, "refs.jsonl", strings.Join(c.Refs[0], ""))}}
		against := input.Source{Path: write(t, "other.jsonl", other.String())}
		res, err := Run(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		v := value(t, res, "sacrebleu")
		if half := (*v.CIHigh - *v.CILow) / 2; math.Abs(half-g.CI) > 1e-5*g.CI {
			t.Errorf("%s: half an interval %v, want %v", c.Name, half, g.CI)
		}
		for test, want := range map[string]map[string]json.RawMessage{BootstrapTest: g.BS, RandomisationTest: g.AR} {
			n := map[string]int{BootstrapTest: 1000, RandomisationTest: 2000}[test]
			list, _, err := Compare(t.Context(), r, against, test, n)
			if err != nil {
				t.Fatal(err)
			}
			for k, name := range []string{"BLEU", "chrF2"} {
				var systems []system
				if err := json.Unmarshal(want[name], &systems); err != nil {
					t.Fatal(err)
				}
				got := list[k]
				if math.Abs(got.Value-systems[0].Score) > 1e-10 || math.Abs(got.Against-systems[1].Score) > 1e-10 || got.P != *systems[1].P {
					t.Errorf("%s, %s of %s: %v and %v, p %v, want %v and %v, p %v", c.Name, test, name, got.Value, got.Against, got.P, systems[0].Score, systems[1].Score, *systems[1].P)
				}
			}
		}
	}
	if seen != len(golden) || seen == 0 {
		t.Errorf("%d corpora, want %d", seen, len(golden))
	}
}
