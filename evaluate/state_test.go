package evaluate

import (
	"fmt"
	"math"
	"math/rand/v2"
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
	save := func(res *Result) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), "part.state")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := res.WriteState(f); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if !IsState(path) {
			t.Errorf("%s is no state", path)
		}
		return path
	}
	merge := func(keep bool, states ...string) *Result {
		t.Helper()
		res, err := Merge(t.Context(), Request{Bootstrap: 20, Workers: 2, Keep: keep}, states)
		if err != nil {
			t.Fatalf("%v: %v", metrics, err)
		}
		return res
	}
	// The first two of three parts are merged before the last is.
	n := len(pred)
	var states []string
	for _, cut := range [][2]int{{0, n / 3}, {n / 3, n / 2}, {n / 2, n}} {
		states = append(states, save(run(pred[cut[0]:cut[1]], refs[cut[0]:cut[1]])))
	}
	return run(pred, refs), merge(false, save(merge(true, states[:2]...)), states[2])
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

// A partsCase is metrics on inputs that they can score.
type partsCase struct {
	metrics    []string
	pred, refs []string // JSON lines
}

// partsCases cover all metrics.
func partsCases(t *testing.T) []partsCase {
	t.Helper()
	object := func(id any, more map[string]any) string {
		more["id"] = id
		return jsonLine(t, more)
	}
	var captions partsCase
	for _, c := range captiontest.Adversarial(t) {
		for i, im := range c.Images {
			id := fmt.Sprintf("%s/%d", c.Name, i)
			captions.pred = append(captions.pred, object(id, map[string]any{"text": im.Hyp}))
			captions.refs = append(captions.refs, object(id, map[string]any{"references": im.Refs}))
		}
	}
	// A caption's last token can depend on the first of the next part.
	n := len(captions.pred) / 3
	for i, text := range map[int]string{n - 1: "they live in the U.S.", n: "The man"} {
		captions.pred[i] = object(text, map[string]any{"text": text})
		captions.refs[i] = object(text, map[string]any{"references": []string{text}})
	}
	captions.metrics = []string{
		"bleu", "rouge-l", "cider", "cider:tok=none:plain=true", "meteor", "sacrebleu", "sacrebleu:tok=zh:smooth=floor:eff=true", "chrf", "chrf:word=2:eps=true", "ter", "rouge-score", "rouge-score:stem=true",
		"rouge-zh:empty=zero", "rouge:empty=zero", "rouge:empty=zero:excl=no", "nltk-bleu:method=0", "nltk-bleu:method=3", "nltk-bleu:method=5", "nltk-bleu:method=6", "nltk-bleu:method=7", "nltk-gleu", "distinct",
		"accuracy", "vqa", "gqa", "squad", "squad2", "squad2-best", "cmrc", "drcd", "record",
	}

	rng := rand.New(rand.NewPCG(1, 2))
	var labels, truths, glue, superglue, pairs, graphs, typed, science partsCase
	groups := partsCase{metrics: []string{"gqa-distribution", "gqa"}}
	labels.metrics = []string{"f1:average=macro", "f1:average=micro", "f1:average=weighted", "matthews", "pearson", "spearman", "spearman:float=32", "snli-ve", "accuracy"}
	truths.metrics = []string{"multirc", "f1", "matthews"}
	glue.metrics = []string{"glue", "glue:average=values"}
	superglue.metrics = []string{"superglue", "superglue:cb=fixed:average=values"}
	pairs.metrics = []string{"nlvr2"}
	graphs.metrics = []string{"spice"}
	typed.metrics = []string{"vqa:types=all", "gqa", "gqa:types=more", "squad2", "squad2:threshold=0.5", "squad2-best"}
	science.metrics = []string{"scienceqa", "scienceqa:topics=true", "scienceqa-rationale"}
	add := func(c *partsCase, id string, p, r map[string]any) {
		c.pred, c.refs = append(c.pred, object(id, p)), append(c.refs, object(id, r))
	}
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	texts := func(p, r string) (map[string]any, map[string]any) {
		return map[string]any{"text": p}, map[string]any{"references": []string{r}}
	}
	for i := range 90 {
		p, r := texts(pick("0", "1", "2"), pick("0", "1", "2"))
		add(&labels, fmt.Sprint("l", i), p, r)
		p, r = texts(pick("0", "1"), pick("0", "1"))
		add(&truths, fmt.Sprintf("q%d/%d", i/4, i), p, r)
		task := []string{"cola", "mrpc", "stsb", "mnli", "mnli-mm", "rte", "qqp", "sst2"}[i%8]
		p, r = texts(pick("0", "1"), pick("0", "1"))
		add(&glue, fmt.Sprintf("%s/%d", task, i), p, r)
		switch task = []string{"boolq", "cb", "multirc", "record", "wic"}[i%5]; task {
		case "multirc":
			p, r = texts(pick("0", "1"), pick("0", "1"))
			add(&superglue, fmt.Sprintf("multirc/q%d/%d", i/20, i), p, r)
		case "record":
			p, r = texts(pick("the cat", "dog"), pick("cat", "a dog"))
			r["references"] = append(r["references"].([]string), "cats")
			add(&superglue, fmt.Sprintf("record/%d", i), p, r)
		default:
			p, r = texts(pick("0", "1", "2"), pick("0", "1", "2"))
			add(&superglue, fmt.Sprintf("%s/%d", task, i), p, r)
		}
		p, r = texts(pick("True", "False"), pick("True", "False"))
		add(&pairs, fmt.Sprintf("dev-%d-%d-%d", i/6, i%3, i%2), p, r)
		tuple := func() []string { return []string{pick("girl", "dog"), pick("young", "red")}[:1+rng.IntN(2)] }
		add(&graphs, fmt.Sprint("g", i), map[string]any{"text": [][]string{tuple(), tuple()}}, map[string]any{"references": [][]string{tuple(), tuple(), {"girl", "on", "bench"}}})
		add(&typed, fmt.Sprint("t", i), map[string]any{"text": pick("yes", "no", ""), "no_answer_probability": rng.Float64()}, map[string]any{
			"answers": []string{pick("yes", "no"), pick("yes", "no")}, "answer_type": pick("yes/no", "other"), "question_type": pick("is", "what"),
			"types": map[string]any{"structural": pick("query", "verify"), "semantic": pick("attr", "obj")}, "isBalanced": pick("true", "true", "false"), "entailed": []string{fmt.Sprint("t", rng.IntN(90))},
			"question": pick("is it", "is it red"), "semantic": []map[string]any{{"operation": "select", "argument": "dog"}, {"operation": pick("exist", "query"), "argument": "?"}},
		})
		add(&groups, fmt.Sprint("o", i), map[string]any{"text": pick("yes", "no", "red")}, map[string]any{"answer": pick("yes", "no", "red"), "isBalanced": true, "groups": map[string]any{"global": pick("thing", "color")}})
		add(&science, fmt.Sprint("s", i), map[string]any{"text": "The answer is " + pick("A", "B") + "."}, map[string]any{
			"answer": rng.IntN(2), "subject": pick("natural science", "social science"), "grade": pick("grade3", "grade9"), "hint": pick("", "look"), "image": pick("", "image.png"), "topic": pick("physics", "writing"),
			"lecture": pick("", "force is mass times acceleration"), "solution": pick("the answer follows", "look at the picture"),
		})
	}

	cases := []partsCase{captions, labels, truths, glue, superglue, pairs, graphs, typed, groups, science}
	return append(cases, correctionCases(t)...)
}

// correctionCases are those of M2 files and of texts with sources.
func correctionCases(t *testing.T) []partsCase {
	t.Helper()
	read := func(elem ...string) string {
		t.Helper()
		b, err := os.ReadFile(shared.Dir(t, append([]string{"goldens", "metrics"}, elem...)...))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(b))
	}
	blocks := func(elem ...string) []string { return strings.Split(read(elem...), "\n\n") }
	// Numbers of lines are not ids of a set in parts: give each its id.
	lines := func(field string, texts []string) (out []string) {
		for i, text := range texts {
			out = append(out, jsonLine(t, map[string]any{"id": fmt.Sprint(i), field: text}))
		}
		return out
	}
	texts := partsCase{metrics: []string{"cherrant", "cherrant:mode=tokens:cat=1"}}
	for _, c := range cells(t, shared.Dir(t, "goldens", "metrics", "cherrant", "nlpcc_a_ref.para")) {
		texts.refs = append(texts.refs, jsonLine(t, map[string]any{"id": "n" + c[0], "source": c[1], "references": c[2:]}))
	}
	for _, c := range cells(t, shared.Dir(t, "goldens", "metrics", "cherrant", "nlpcc_a_hyp.para")) {
		texts.pred = append(texts.pred, jsonLine(t, map[string]any{"id": "n" + c[0], "text": c[2]}))
	}
	return []partsCase{
		{[]string{"maxmatch", "maxmatch:beta=1:ignorecase=true"}, lines("text", strings.Split(read("gec", "nlpcc_a_noisy.hyp"), "\n")), lines("text", blocks("gec", "nlpcc_a_noisy.m2"))},
		{[]string{"errant", "errant:mode=typed:cat=3", "errant:mode=tokens:cat=2"}, lines("text", blocks("errant", "nlpcc_a_noisy.hyp.m2")), lines("text", blocks("errant", "nlpcc_a_noisy.ref.m2"))},
		{[]string{"cherrant"}, lines("text", blocks("cherrant", "nlpcc_a_hyp.char.m2")), lines("text", blocks("cherrant", "nlpcc_a_ref.char.m2"))},
		texts,
	}
}

// Parts that were scored apart give the bits of one pass, for every metric that
// there is.
func TestStatesOfPartsMerge(t *testing.T) {
	tested := make(map[string]bool)
	for _, c := range partsCases(t) {
		if len(c.pred) != len(c.refs) {
			t.Fatalf("%v: %d predictions, %d references", c.metrics, len(c.pred), len(c.refs))
		}
		whole, merged := parts(t, c.metrics, ".jsonl", c.pred, c.refs)
		same(t, whole, merged)
		for _, m := range c.metrics {
			name, _, _ := strings.Cut(m, ":")
			tested[name] = true
		}
	}
	for _, m := range List() {
		if !tested[m.Name] {
			t.Errorf("metric %s: nothing shows that its parts merge", m.Name)
		}
	}
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

// Both tests compare two systems by any metric: one with itself does not differ.
func TestEveryMetricCompares(t *testing.T) {
	for _, c := range partsCases(t) {
		const rows = 12
		pred, refs := write(t, "p.jsonl", strings.Join(c.pred[:rows], "")), write(t, "r.jsonl", strings.Join(c.refs[:rows], ""))
		for _, metric := range c.metrics {
			for _, test := range []string{BootstrapTest, RandomisationTest} {
				list, _, err := Compare(t.Context(), Request{Metrics: []string{metric}, Pred: input.Source{Path: pred}, Refs: []input.Source{{Path: refs}}, Workers: 2}, input.Source{Path: pred}, test, 7)
				if err != nil || len(list) == 0 {
					t.Errorf("%s by %s: %d scores, %v", metric, test, len(list), err)
					continue
				}
				for _, d := range list {
					if d.Value != d.Against && !math.IsNaN(d.Value) || d.Difference != 0 && !math.IsNaN(d.Difference) {
						t.Errorf("%s by %s: %+v", metric, test, d)
					}
				}
			}
		}
	}
}

// The number of workers does not change a bit of any score, interval or example.
func TestWorkersDoNotMatter(t *testing.T) {
	for _, c := range partsCases(t) {
		pred, refs := write(t, "p.jsonl", strings.Join(c.pred, "")), write(t, "r.jsonl", strings.Join(c.refs, ""))
		run := func(workers int) *Result {
			t.Helper()
			res, err := Run(t.Context(), Request{Metrics: c.metrics, Pred: input.Source{Path: pred}, Refs: []input.Source{{Path: refs}}, Bootstrap: 10, Workers: workers})
			if err != nil {
				t.Fatalf("%v: %v", c.metrics, err)
			}
			return res
		}
		one := run(1)
		for _, workers := range []int{2, 5} {
			same(t, one, run(workers))
		}
	}
}
