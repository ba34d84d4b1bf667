package evaluate

import (
	"math"
	"strings"
	"testing"

	"espalier/evaluate/input"
	"espalier/pipeline"
)

func TestMaxMatchFiles(t *testing.T) {
	for _, workers := range []int{1, 3} {
		res, err := Run(t.Context(), Request{
			Metrics: []string{"maxmatch", "maxmatch:ignorecase=true"}, Workers: workers, Bootstrap: 20,
			Pred: input.Source{Path: "maxmatch/testdata/ten_lines.hyp"}, Refs: []input.Source{{Path: "maxmatch/testdata/ten_lines.m2"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []float64{2. / 3, .8, .689655172413793, .6363636363636364, .7, .6481481481481481} {
			if got := res.Values[i]; math.Abs(got.Value-want) > 1e-15 || got.N != 10 {
				t.Errorf("%s = %v over %d, want %v", got.Metric, got.Value, got.N, want)
			}
		}
		if res.Values[2].Metric != "maxmatch-f0.5" {
			t.Errorf("metric %s, want maxmatch-f0.5", res.Values[2].Metric)
		}
	}
	m2 := write(t, "bad.m2", "S a b\nA 0 1|||R|||x|||REQUIRED|||-NONE-|||0\n\nS c\nA 0 x|||R|||x|||REQUIRED|||-NONE-|||0\n")
	hyp := write(t, "h.txt", "a b\nc\n")
	_, err := Run(t.Context(), Request{Metrics: []string{"maxmatch"}, Pred: input.Source{Path: hyp}, Refs: []input.Source{{Path: m2}}})
	if err == nil || !strings.Contains(err.Error(), ":5: offset") || pipeline.ExitCode(err) != pipeline.ExitBadInput {
		t.Errorf("error %v, want line 5 named", err)
	}
	short := write(t, "s.txt", "a b\nc\nd\n")
	if _, err := Run(t.Context(), Request{Metrics: []string{"maxmatch"}, Pred: input.Source{Path: short}, Refs: []input.Source{{Path: m2}}}); err == nil || !strings.Contains(err.Error(), "have no reference") {
		t.Errorf("more lines than blocks: error %v", err)
	}
}

func TestErrantFiles(t *testing.T) {
	block := func(edits ...string) string { return "S a b c\n" + strings.Join(edits, "\n") + "\n\n" }
	one, other := "A 0 1|||R:NOUN|||x|||REQUIRED|||-NONE-|||0", "A 1 2|||R:VERB|||y|||REQUIRED|||-NONE-|||0"
	noop := "A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0"
	hyp := write(t, "h.m2", block(one, other)+block(noop)+block(one))
	ref := write(t, "r.m2", block(one)+block(other)+block(one))
	res, err := Run(t.Context(), Request{Metrics: []string{"errant", "cherrant:beta=1"}, Pred: input.Source{Path: hyp}, Refs: []input.Source{{Path: ref}}, Bootstrap: 10})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{.6667, .6667, .6667, .6667, .6667, .6667} {
		if got := res.Values[i]; got.Value != want || got.N != 3 {
			t.Errorf("%s = %v over %d, want %v", got.Metric, got.Value, got.N, want)
		}
	}
	if res.Values[2].Metric != "errant-f0.5" || res.Values[5].Metric != "cherrant-f1" {
		t.Errorf("metrics %v", res.Values)
	}
}
