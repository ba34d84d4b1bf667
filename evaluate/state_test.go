package evaluate

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"espalier/evaluate/captiontest"
	"espalier/evaluate/input"
	"espalier/internal/shared"
)

// parts scores files and their two halves, and merges the halves' states.
func parts(t *testing.T, metrics []string, ext string, pred, refs []string) (whole, merged *Result) {
	t.Helper()
	run := func(pred, refs []string) *Result {
		t.Helper()
		res, err := Run(t.Context(), Request{
			Metrics: metrics, Pred: input.Source{Path: write(t, "p"+ext, strings.Join(pred, ""))}, Refs: []input.Source{{Path: write(t, "r"+ext, strings.Join(refs, ""))}},
			Bootstrap: 20, Workers: 3, Keep: true,
		})
		if err != nil {
			t.Fatalf("%v: %v", metrics, err)
		}
		return res
	}
	var states []string
	n := len(pred)
	for _, cut := range [][2]int{{0, n / 3}, {n / 3, n}} {
		path := filepath.Join(t.TempDir(), "part.state")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := run(pred[cut[0]:cut[1]], refs[cut[0]:cut[1]]).WriteState(f); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if !IsState(path) {
			t.Errorf("%s is no state", path)
		}
		states = append(states, path)
	}
	merged, err := Merge(t.Context(), Request{Bootstrap: 20, Workers: 2}, states)
	if err != nil {
		t.Fatalf("%v: %v", metrics, err)
	}
	return run(pred, refs), merged
}

func same(t *testing.T, whole, merged *Result) {
	t.Helper()
	bits := func(v float64) uint64 { return math.Float64bits(v) }
	if len(whole.Values) != len(merged.Values) {
		t.Fatalf("%d values of the whole, %d of its parts", len(whole.Values), len(merged.Values))
	}
	for k, w := range whole.Values {
		m := merged.Values[k]
		if w.Metric != m.Metric || w.Variant != m.Variant || w.N != m.N || bits(w.Value) != bits(m.Value) || bits(*w.CILow) != bits(*m.CILow) || bits(*w.CIHigh) != bits(*m.CIHigh) {
			t.Errorf("the whole gives %+v, its parts %+v", w, m)
		}
	}
	for i := range whole.Each {
		for k, w := range whole.Each[i] {
			if bits(w) != bits(merged.Each[i][k]) {
				t.Errorf("%s of %s: %v in the whole, %v in parts", whole.Values[k].Metric, whole.IDs[i], w, merged.Each[i][k])
			}
		}
	}
	if !reflect.DeepEqual(whole.IDs, merged.IDs) {
		t.Error("the parts' ids are others")
	}
}

// Parts that were scored apart give the bits of one pass, for every metric.
func TestStatesOfPartsMerge(t *testing.T) {
	var pred, refs []string
	for _, c := range captiontest.Adversarial(t) {
		for i, im := range c.Images {
			id := fmt.Sprintf("%s/%d", c.Name, i)
			pred = append(pred, jsonLine(t, map[string]any{"id": id, "text": im.Hyp}))
			refs = append(refs, jsonLine(t, map[string]any{"id": id, "references": im.Refs}))
		}
	}
	// A caption's last token can depend on the first of the next part.
	pred[len(pred)/3-1] = jsonLine(t, map[string]any{"id": "end", "text": "they live in the U.S."})
	refs[len(refs)/3-1] = jsonLine(t, map[string]any{"id": "end", "references": []string{"they live in the U.S."}})
	pred[len(pred)/3] = jsonLine(t, map[string]any{"id": "next", "text": "The man"})
	refs[len(refs)/3] = jsonLine(t, map[string]any{"id": "next", "references": []string{"The man"}})
	whole, merged := parts(t, []string{
		"bleu", "rouge-l", "cider", "cider:tok=none:plain=true", "meteor", "sacrebleu", "chrf", "ter", "rouge-score", "rouge-zh:empty=zero",
		"nltk-bleu:method=3", "nltk-bleu:method=5", "nltk-bleu:method=7", "nltk-gleu", "distinct", "accuracy", "vqa", "gqa", "squad", "squad2", "squad2-best", "cmrc", "drcd", "record",
	}, ".jsonl", pred, refs)
	same(t, whole, merged)

	pred, refs = nil, nil
	for i := range 60 {
		id := fmt.Sprintf("cola/q%d/%d", i/4, i)
		pred = append(pred, jsonLine(t, map[string]any{"id": id, "text": i * 7 % 3}))
		refs = append(refs, jsonLine(t, map[string]any{"id": id, "text": i % 3}))
	}
	whole, merged = parts(t, []string{"f1:average=macro", "matthews", "pearson", "spearman", "multirc", "glue", "snli-ve"}, ".jsonl", pred, refs)
	same(t, whole, merged)
}

func TestStatesOfCorrectionsMerge(t *testing.T) {
	read := func(elem ...string) string {
		t.Helper()
		b, err := os.ReadFile(shared.Dir(t, append([]string{"goldens", "metrics"}, elem...)...))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(read("gec", "nlpcc_a_noisy.hyp"), "\n"), "\n")
	lines[len(lines)-1] += "\n"
	blocks := strings.SplitAfter(strings.TrimSuffix(read("gec", "nlpcc_a_noisy.m2"), "\n\n"), "\n\n")
	blocks[len(blocks)-1] += "\n\n"
	if len(lines) != len(blocks) {
		t.Fatalf("%d lines, %d blocks", len(lines), len(blocks))
	}
	// Numbers of lines are not ids of a set in parts: give each its id.
	for i := range lines {
		id := fmt.Sprint(i)
		lines[i] = jsonLine(t, map[string]any{"id": id, "text": strings.TrimSuffix(lines[i], "\n")})
		blocks[i] = jsonLine(t, map[string]any{"id": id, "text": blocks[i]})
	}
	whole, merged := parts(t, []string{"maxmatch"}, ".jsonl", lines, blocks)
	same(t, whole, merged)
}

func TestStatesThatDoNotFit(t *testing.T) {
	state := func(metric, id string) string {
		t.Helper()
		res, err := Run(t.Context(), Request{Metrics: []string{metric}, Pred: input.Source{Path: write(t, "p.jsonl", `{"id":"`+id+`","text":"a"}`)}, Refs: []input.Source{{Path: write(t, "r.jsonl", `{"id":"`+id+`","text":"a"}`)}}, Keep: true})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "x.state")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := res.WriteState(f); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a, b, other := state("accuracy", "1"), state("accuracy", "2"), state("ter", "3")
	if res, err := Merge(t.Context(), Request{}, []string{a, b}); err != nil || res.Values[0].N != 2 {
		t.Errorf("two states: %v, %v", res, err)
	}
	for name, c := range map[string]struct {
		states []string
		want   string
	}{
		"the same id twice": {[]string{a, a}, "id 1 is in"},
		"another metric":    {[]string{a, other}, "a state of"},
		"no state":          {[]string{write(t, "x.state", "PAR1")}, "x.state"},
	} {
		if _, err := Merge(t.Context(), Request{}, c.states); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// Two systems on the same examples, by both tests.
func TestCompareTwoSystems(t *testing.T) {
	var good, bad, refs strings.Builder
	for i := range 200 {
		fmt.Fprintf(&good, "{\"id\":%d,\"text\":\"%d\"}\n", i, i%2)
		fmt.Fprintf(&bad, "{\"id\":%d,\"text\":\"%d\"}\n", i, (i+i/150)%2)
		fmt.Fprintf(&refs, "{\"id\":%d,\"label\":\"%d\"}\n", i, i%2)
	}
	a, b, r := write(t, "a.jsonl", good.String()), write(t, "b.jsonl", bad.String()), write(t, "r.jsonl", refs.String())
	req := Request{Metrics: []string{"accuracy", "f1", "matthews", "pearson"}, Pred: input.Source{Path: a}, Refs: []input.Source{{Path: r}}, Workers: 2}
	for _, test := range []string{BootstrapTest, RandomisationTest} {
		list, _, err := Compare(t.Context(), req, input.Source{Path: b}, test, 500)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) != 4 {
			t.Fatalf("%s: %v", test, list)
		}
		for _, c := range list {
			if c.Value != 1 || !(c.Against < 1) || math.Abs(c.Difference-(1-c.Against)) > 1e-15 || c.P > 0.01 || c.N != 200 {
				t.Errorf("%s: %+v", test, c)
			}
		}
		if list[0].Against != 0.75 {
			t.Errorf("accuracy of the second system: %v", list[0].Against)
		}
		self, _, err := Compare(t.Context(), req, input.Source{Path: a}, test, 100)
		if err != nil || self[0].Difference != 0 {
			t.Errorf("%s of a system with itself: %+v, %v", test, self, err)
		}
	}
	if _, _, err := Compare(t.Context(), req, input.Source{Path: write(t, "c.jsonl", `{"id":1,"text":"1"}`)}, BootstrapTest, 10); err == nil || !strings.Contains(err.Error(), "same examples") {
		t.Errorf("one prediction against 200: %v", err)
	}
}
