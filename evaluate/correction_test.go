package evaluate

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"espalier/evaluate/input"
	"espalier/internal/shared"
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

// checkCategories compares with a table that a tool printed.
func checkCategories(t *testing.T, metric, pred, refs, printed string) {
	t.Helper()
	res, err := Run(t.Context(), Request{Metrics: []string{metric}, Pred: input.Source{Path: pred}, Refs: []input.Source{{Path: refs}}})
	if err != nil {
		t.Fatal(err)
	}
	name, _, _ := strings.Cut(metric, ":")
	rows := 0
	table, _, _ := strings.Cut(printed, "\n\n=")
	for _, line := range strings.Split(table, "\n") {
		f := strings.Fields(line)
		if len(f) == 6 {
			f = append([]string{""}, f...) // the category without a name
		}
		if len(f) != 7 || f[0] == "Category" {
			continue
		}
		rows++
		for k, part := range []string{"-p", "-r", "-f0.5"} {
			want, err := strconv.ParseFloat(f[4+k], 64)
			if err != nil {
				t.Fatal(err)
			}
			if got := value(t, res, name+"["+f[0]+"]"+part).Value; got != want {
				t.Errorf("%s of %s, %s%s: %v, want %v", metric, pred, f[0], part, got, want)
			}
		}
	}
	if 3*(rows+1) != len(res.Values) || rows == 0 {
		t.Errorf("%s of %s: %d values, the tool prints %d categories", metric, pred, len(res.Values), rows)
	}
}

// The tables by category that errant_compare and ChERRANT print with -cat.
func TestByCategory(t *testing.T) {
	dir := shared.Dir(t, "goldens", "metrics", "cherrant")
	b, err := os.ReadFile(filepath.Join(dir, "compare.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden map[string]map[string]string
	if err := json.Unmarshal(b, &golden); err != nil {
		t.Fatal(err)
	}
	checkCategories(t, "cherrant:cat=1", filepath.Join(dir, "nlpcc_a_hyp.char.m2"), filepath.Join(dir, "nlpcc_a_ref.char.m2"), golden["nlpcc_a_hyp vs nlpcc_a_ref"]["-cat 1"])
	files, err := filepath.Glob(shared.Dir(t, "goldens", "metrics", "errant") + "/*.scores.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var runs []struct {
			Args    struct{ Cat int }
			Printed string
		}
		if err := json.Unmarshal(b, &runs); err != nil {
			t.Fatal(err)
		}
		base := strings.TrimSuffix(f, ".scores.json")
		for _, r := range runs {
			if r.Args.Cat > 0 {
				checkCategories(t, fmt.Sprintf("errant:cat=%d", r.Args.Cat), base+".hyp.m2", base+".ref.m2", r.Printed)
			}
		}
	}
}
