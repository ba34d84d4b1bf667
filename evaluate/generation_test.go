package evaluate

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"espalier/evaluate/input"
	"espalier/evaluate/pltrdy"
	"espalier/evaluate/rougescore"
	"espalier/internal/shared"
)

// score scores pairs of texts held in memory.
func scorePairs(t *testing.T, metrics []string, preds []string, refs [][]string, r Request) *Result {
	t.Helper()
	r.Metrics = metrics
	fams, err := parseMetrics(&r)
	if err != nil {
		t.Fatal(err)
	}
	c := &corpus{Joined: &input.Joined{Predictions: preds, References: refs, IDs: make([]string, len(preds)), Places: make([]input.Place, len(preds))}, workers: 2}
	res, err := scoreAll(t.Context(), c, fams, &r)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

type pairRow struct{ Set, Hyp, Ref string }

func pairRows(t *testing.T, elem ...string) (out []pairRow) {
	t.Helper()
	f, err := os.Open(shared.Dir(t, elem...))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 4<<20)
	for sc.Scan() {
		var p pairRow
		if err := json.Unmarshal(sc.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// Chinese generation as SkillNet and KdConv score it, by characters.
func TestChineseGeneration(t *testing.T) {
	b, err := os.ReadFile(shared.Dir(t, "goldens", "metrics", "zhgen", "aggregate.json"))
	if err != nil {
		t.Fatal(err)
	}
	type rougeMeans struct {
		Pairs int
		R1    []float64 `json:"rouge-1"`
		R2    []float64 `json:"rouge-2"`
		RL    []float64 `json:"rouge-l"`
	}
	var golden map[string]struct {
		Char struct {
			BLEU     []float64 `json:"corpus_bleu1to4_m3"`
			Distinct map[string]struct{ Value float64 }
			Excl     rougeMeans `json:"rouge_excl"`
			List     rougeMeans `json:"rouge_list"`
			M2       float64    `json:"mean_sbleu4_m2"`
			Bigram   float64    `json:"mean_sbleu_bigram_only_m1"`
		}
	}
	if err := json.Unmarshal(b, &golden); err != nil {
		t.Fatal(err)
	}
	sets := make(map[string][]pairRow)
	for _, p := range pairRows(t, "goldens", "metrics", "zhgen", "pairs.jsonl") {
		sets[p.Set] = append(sets[p.Set], p)
	}
	for name, g := range golden {
		var preds []string
		var refs [][]string
		for _, p := range sets[name] {
			preds, refs = append(preds, p.Hyp), append(refs, []string{p.Ref})
		}
		res := scorePairs(t, []string{
			"nltk-bleu:method=3:order=1:seg=char", "nltk-bleu:method=3:order=2:seg=char", "nltk-bleu:method=3:order=3:seg=char", "nltk-bleu:method=3:seg=char",
			"distinct:seg=char", "nltk-bleu:method=2:seg=char", "nltk-bleu:method=1:order=2:only=true:seg=char",
		}, preds, refs, Request{Bootstrap: 20})
		for i, want := range g.Char.BLEU {
			if !near(res.Values[i].Value, want, 1e-12) {
				t.Errorf("%s: BLEU-%d %v, want %v", name, i+1, res.Values[i].Value, want)
			}
		}
		for i, n := range []string{"1", "2", "3", "4"} {
			if got, want := res.Values[4+i].Value, g.Char.Distinct[n].Value; got != want {
				t.Errorf("%s: distinct-%s %v, want %v", name, n, got, want)
			}
		}
		mean := func(k int) float64 {
			s := 0.0
			for i := range preds {
				s += res.Each[i][k]
			}
			return s / float64(len(preds))
		}
		if got := mean(8); !near(got, g.Char.M2, 1e-12) {
			t.Errorf("%s: mean sentence BLEU %v, want %v", name, got, g.Char.M2)
		}
		if got := mean(9); !near(got, g.Char.Bigram, 1e-12) {
			t.Errorf("%s: mean bigram-only BLEU %v, want %v", name, got, g.Char.Bigram)
		}
		for mode, want := range map[string]rougeMeans{"yes": g.Char.Excl, "no": g.Char.List} {
			kept, keptRefs := []string{}, [][]string{}
			for i, p := range preds {
				if strings.Trim(p, ". ") != "" && strings.Trim(refs[i][0], ". ") != "" {
					kept, keptRefs = append(kept, p), append(keptRefs, refs[i])
				}
			}
			if len(kept) != want.Pairs {
				t.Fatalf("%s: %d pairs, want %d", name, len(kept), want.Pairs)
			}
			res := scorePairs(t, []string{"rouge-zh:excl=" + mode}, kept, keptRefs, Request{})
			for i, w := range [][]float64{want.R1, want.R2, want.RL} {
				if !near(res.Values[i].Value, w[2], 1e-13) {
					t.Errorf("%s: %s excl=%s %v, want %v", name, res.Values[i].Metric, mode, res.Values[i].Value, w[2])
				}
			}
		}
	}
}

func TestRougeMeans(t *testing.T) {
	b, err := os.ReadFile(shared.Dir(t, "goldens", "metrics", "rouge", "aggregate.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden map[string]json.RawMessage
	if err := json.Unmarshal(b, &golden); err != nil {
		t.Fatal(err)
	}
	var multi []struct {
		Hyp   string
		Refs  []string
		Score map[string][]float64 `json:"plain"`
	}
	var mean map[string]map[string][]float64
	for key, v := range map[string]any{"multi": &multi, "mean": &mean} {
		if err := json.Unmarshal(golden[key], v); err != nil {
			t.Fatal(err)
		}
	}
	check := func(what string, res *Result, names map[string]string, suffixes []string, want map[string][]float64) {
		t.Helper()
		for name, key := range names {
			for i, suffix := range suffixes {
				if suffix == "none" {
					continue
				}
				if got := value(t, res, name+suffix).Value; math.Abs(got-want[key][i]) > 1e-13 {
					t.Errorf("%s: %s%s %v, want %v", what, name, suffix, got, want[key][i])
				}
			}
		}
	}
	google := map[string]string{"rouge1": "rouge1", "rouge2": "rouge2", "rougeL": "rougeL", "rougeLsum": "rougeLsum"}
	for _, m := range multi {
		check(m.Hyp, scorePairs(t, []string{"rouge-score:parts=true"}, []string{m.Hyp}, [][]string{m.Refs}, Request{}), google, []string{"-p", "-r", ""}, m.Score)
	}
	var preds []string
	var refs [][]string
	for _, p := range pairRows(t, "goldens", "metrics", "rouge", "pairs.jsonl") {
		var s pltrdy.Scorer
		if _, err := s.Cut(p.Hyp); err != nil {
			continue // the package rouge raises
		}
		if _, err := s.Cut(p.Ref); err != nil {
			continue
		}
		preds, refs = append(preds, p.Hyp), append(refs, []string{p.Ref})
	}
	package1 := map[string]string{"rouge-1": "rouge-1", "rouge-2": "rouge-2", "rouge-l": "rouge-l"}
	onlyF := []string{"none", "none", ""}
	check("plain", scorePairs(t, []string{"rouge-score:parts=true"}, preds, refs, Request{}), google, []string{"-p", "-r", ""}, mean["rouge_score_plain"])
	check("stem", scorePairs(t, []string{"rouge-score:parts=true:stem=true"}, preds, refs, Request{}), google, []string{"-p", "-r", ""}, mean["rouge_score_stem"])
	check("exclusive", scorePairs(t, []string{"rouge"}, preds, refs, Request{}), package1, onlyF, mean["rouge_exclusive"])
	check("not exclusive", scorePairs(t, []string{"rouge:excl=no"}, preds, refs, Request{}), package1, onlyF, mean["rouge_not_exclusive"])
	if len(multi) == 0 || len(preds) != 123 {
		t.Errorf("%d of several references, %d pairs", len(multi), len(preds))
	}

	// rouge_score's own bootstrap.
	var boot map[string]struct{ Low, Mid, High []float64 }
	if err := json.Unmarshal(golden["bootstrap_seed0_n1000"], &boot); err != nil {
		t.Fatal(err)
	}
	s := rougescore.New(false)
	names := []string{"rouge1", "rouge2", "rouge3", "rouge4", "rougeL", "rougeLsum"}
	types := make([][]rougescore.Score, len(names))
	for i := range preds {
		h, r := s.Cut(preds[i]), s.Cut(refs[i][0])
		for k, x := range []rougescore.Score{s.N(h, r, 1), s.N(h, r, 2), s.N(h, r, 3), s.N(h, r, 4), s.L(h, r), s.Lsum(h, r)} {
			types[k] = append(types[k], x)
		}
	}
	for k, a := range rougescore.Bootstrap(types, 1000, 0) {
		want := boot[names[k]]
		for i, w := range [][]float64{want.Low, want.Mid, want.High} {
			got := [3]rougescore.Score{a.Low, a.Mid, a.High}[i]
			if math.Abs(got.P-w[0]) > 1e-13 || math.Abs(got.R-w[1]) > 1e-13 || math.Abs(got.F-w[2]) > 1e-13 {
				t.Errorf("bootstrap of %s, %d: %v, want %v", names[k], i, got, w)
			}
		}
	}
	res := scorePairs(t, []string{"rouge-score:aggregate=bootstrap"}, preds, refs, Request{})
	if got, want := value(t, res, "rouge1").Value, boot["rouge1"].Mid[2]; math.Abs(got-want) > 1e-13 {
		t.Errorf("the middle of rouge1 is %v, want %v", got, want)
	}
}

func TestEmptyPredictionsOfRouge(t *testing.T) {
	preds, refs := []string{"a b", "."}, [][]string{{"a b"}, {"b"}}
	r := Request{Metrics: []string{"rouge"}}
	fams, _ := parseMetrics(&r)
	c := &corpus{Joined: &input.Joined{Predictions: preds, References: refs, IDs: []string{"x", "y"}, Places: make([]input.Place, 2)}, workers: 1}
	if _, err := scoreAll(t.Context(), c, fams, &r); err == nil || !strings.Contains(err.Error(), "id y") {
		t.Errorf("error %v", err)
	}
	res := scorePairs(t, []string{"rouge:empty=zero"}, preds, refs, Request{})
	if got := res.Values[0].Value; !near(got, .999999995/2, 1e-12) {
		t.Errorf("rouge-1 = %v, want half of .999999995", got)
	}
}

// NLTK returns 0 before it smooths where no word matches; method 6 raises where
// it has no trigram.
func TestMethod6WithoutTrigrams(t *testing.T) {
	for pred, want := range map[string]float64{"x y z": 0, "a y z": math.NaN()} {
		res, err := Run(t.Context(), Request{Metrics: []string{"nltk-bleu:method=6:order=2"}, Pred: input.Source{Path: write(t, "p", pred+"\n")}, Refs: []input.Source{{Path: write(t, "r", "a b c\n")}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Values[0].Value; got != want && !(math.IsNaN(got) && math.IsNaN(want)) || len(res.Warnings) != 1 {
			t.Errorf("%s: %v with warnings %q, want %v and one", pred, got, res.Warnings, want)
		}
	}
}
