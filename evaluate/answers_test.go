package evaluate

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"espalier/evaluate/input"
	"espalier/internal/shared"
)

// values scores two texts as files of JSON lines.
func scored(t *testing.T, metric, pred, refs string) map[string]float64 {
	t.Helper()
	res, err := Run(t.Context(), Request{Metrics: []string{metric}, Pred: input.Source{Path: write(t, "p.jsonl", pred)}, Refs: []input.Source{{Path: write(t, "r.jsonl", refs)}}})
	if err != nil {
		t.Fatalf("%s: %v", metric, err)
	}
	out := make(map[string]float64)
	for _, v := range res.Values {
		out[v.Metric] = v.Value
	}
	return out
}

func expect(t *testing.T, what string, got, want map[string]float64) {
	t.Helper()
	for _, k := range slices.Sorted(maps.Keys(want)) {
		g, ok := got[k]
		if !ok || !(math.IsNaN(g) && math.IsNaN(want[k])) && !near(g, want[k], 1e-13) {
			t.Errorf("%s: %s = %v (%t), want %v", what, k, g, ok, want[k])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: values %v, want %v", what, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// SQuAD's corpus scores with and without thresholds, through files.
func TestSquadCorpus(t *testing.T) {
	var golden struct {
		V1 struct {
			EM float64 `json:"exact_match"`
			F1 float64
		}
		V2 struct {
			By   map[string]map[string]struct{ Exact, F1 float64 } `json:"by_threshold"`
			Best struct {
				Exact   float64 `json:"best_exact"`
				ExactAt float64 `json:"best_exact_thresh"`
				F1      float64 `json:"best_f1"`
				F1At    float64 `json:"best_f1_thresh"`
			}
		}
	}
	b, err := os.ReadFile(shared.Dir(t, "goldens", "metrics", "qa", "squad_corpus.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &golden); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(shared.Dir(t, "goldens", "metrics", "qa", "squad.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var pred, refs, pred1, refs1 strings.Builder
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for i := 0; sc.Scan(); i++ {
		var row struct {
			Prediction string
			Golds      []string
		}
		if err := json.Unmarshal(sc.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		p, _ := json.Marshal(map[string]any{"id": i, "text": row.Prediction, "no_answer_probability": float64(i*37%100) / 100})
		golds := row.Golds
		if len(golds) > 0 {
			fmt.Fprintf(&pred1, "%s\n", p)
			r, _ := json.Marshal(map[string]any{"id": i, "answers": golds})
			fmt.Fprintf(&refs1, "%s\n", r)
		}
		r, _ := json.Marshal(map[string]any{"id": i, "answers": map[string]any{"text": append([]string{}, golds...), "answer_start": []int{}}})
		fmt.Fprintf(&pred, "%s\n", p)
		fmt.Fprintf(&refs, "%s\n", r)
	}
	expect(t, "squad", scored(t, "squad", pred1.String(), refs1.String()), map[string]float64{"squad-em": golden.V1.EM, "squad-f1": golden.V1.F1})
	for at, parts := range golden.V2.By {
		want := make(map[string]float64)
		for part, v := range parts {
			label := map[string]string{"all": "squad2", "HasAns": "squad2-hasans", "NoAns": "squad2-noans"}[part]
			want[label+"-em"], want[label+"-f1"] = v.Exact, v.F1
		}
		expect(t, "squad2 at "+at, scored(t, "squad2:threshold="+at, pred.String(), refs.String()), want)
	}
	g := golden.V2.Best
	expect(t, "squad2-best", scored(t, "squad2-best", pred.String(), refs.String()), map[string]float64{
		"squad2-best-em": g.Exact, "squad2-best-em-threshold": g.ExactAt, "squad2-best-f1": g.F1, "squad2-best-f1-threshold": g.F1At,
	})
}

// Cases that a reader can check by hand.
func TestAnswersByHand(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		metric, pred, refs string
		want               map[string]float64
	}{
		"cmrc": {
			"cmrc", `{"id":1,"text":"在北京"}` + "\n" + `{"id":2,"text":"二人"}`, `{"id":1,"answers":["北京大学"]}` + "\n" + `{"id":2,"answers":["二人。"]}`,
			map[string]float64{"cmrc-em": 50, "cmrc-f1": 50 * (4.0/7 + 1), "cmrc-average": 25 + 25*(4.0/7+1)},
		},
		"drcd": {
			"drcd", `{"id":1,"text":"《北京》"}` + "\n" + `{"id":2,"text":"京北，大"}`, `{"id":1,"answers":["北京"]}` + "\n" + `{"id":2,"answers":["北京"]}`,
			map[string]float64{"drcd-em": 50, "drcd-f1": 50 * (1 + 0.8)},
		},
		"gqa": {
			"gqa", `{"id":"a","text":"yes"}` + "\n" + `{"id":"b","text":"cat"}` + "\n" + `{"id":"c","text":"no"}`,
			`{"id":"a","answer":"yes","isBalanced":true,"types":{"structural":"verify","semantic":"attr"},"entailed":["a","b","c"]}` + "\n" +
				`{"id":"b","answer":"dog","isBalanced":true,"types":{"structural":"query","semantic":"obj"},"entailed":[]}` + "\n" +
				`{"id":"c","answer":"no","isBalanced":false,"types":{"structural":"verify","semantic":"attr"},"entailed":[]}`,
			map[string]float64{"gqa": 50, "gqa-binary": 100, "gqa-open": 0, "gqa-consistency": 50, "gqa-query": 0, "gqa-verify": 100, "gqa-attr": 100, "gqa-obj": 0},
		},
		"gqa without fields": {"gqa", `{"id":"a","text":"yes"}`, `{"id":"a","answer":"yes"}`, map[string]float64{"gqa": 100}},
		"snli-ve": {
			"snli-ve", `{"id":1,"text":"entailment"}` + "\n" + `{"id":2,"text":"neutral"}`, `{"id":1,"label":"entailment"}` + "\n" + `{"id":2,"label":"contradiction"}`,
			map[string]float64{"snli-ve": 50, "snli-ve-entailment": 100, "snli-ve-contradiction": 0},
		},
		"nlvr2": {
			"nlvr2", `{"id":"dev-1-0-0","text":"True"}` + "\n" + `{"id":"dev-1-1-0","text":"False"}` + "\n" + `{"id":"dev-1-0-1","text":"True"}`,
			`{"id":"dev-1-0-0","label":"True"}` + "\n" + `{"id":"dev-1-1-0","label":"True"}` + "\n" + `{"id":"dev-1-0-1","label":"True"}`,
			map[string]float64{"nlvr2": 200.0 / 3, "nlvr2-consistency": 50},
		},
		"spice": {
			"spice", `{"id":1,"text":[["girl"],["dog"]]}` + "\n" + `{"id":2,"text":[["cat"]]}`, `{"id":1,"refs":[[["girl"],["girl","young"]],[["girl"],["bench"],["girl","on","bench"]]]}` + "\n" + `{"id":2,"refs":[["cat"]]}`,
			map[string]float64{
				"spice": (1.0/3 + 1) / 2, "spice-p": .75, "spice-r": .625, "spice-object": .75, "spice-object-p": .75, "spice-object-r": .75,
				"spice-attribute": 0, "spice-attribute-p": 0, "spice-attribute-r": 0, "spice-relation": 0, "spice-relation-p": 0, "spice-relation-r": 0,
				"spice-color": math.NaN(), "spice-color-p": math.NaN(), "spice-color-r": math.NaN(), "spice-cardinality": math.NaN(), "spice-cardinality-p": math.NaN(),
				"spice-cardinality-r": math.NaN(), "spice-size": math.NaN(), "spice-size-p": math.NaN(), "spice-size-r": math.NaN(),
			},
		},
		"glue": {
			"glue", `{"id":"cola/1","text":"1"}` + "\n" + `{"id":"cola/2","text":"0"}` + "\n" + `{"id":"MRPC/1","text":"1"}` + "\n" + `{"id":"MRPC/2","text":"1"}` + "\n" + `{"id":"mnli-mm/1","text":"0"}` + "\n" + `{"id":"mnli-m/1","text":"2"}` + "\n" + `{"id":"stsb/1","text":"1"}` + "\n" + `{"id":"stsb/2","text":"1"}`,
			`{"id":"cola/1","label":1}` + "\n" + `{"id":"cola/2","label":0}` + "\n" + `{"id":"MRPC/1","label":1}` + "\n" + `{"id":"MRPC/2","label":0}` + "\n" + `{"id":"mnli-mm/1","label":0}` + "\n" + `{"id":"mnli-m/1","label":0}` + "\n" + `{"id":"stsb/1","label":1}` + "\n" + `{"id":"stsb/2","label":2}`,
			map[string]float64{"glue": (1 + (0.5+2.0/3)/2 + 0.5 + 0) / 4, "glue-cola-matthews": 1, "glue-mrpc-accuracy": .5, "glue-mrpc-f1": 2.0 / 3, "glue-mnli-accuracy": 0, "glue-mnlimm-accuracy": 1, "glue-stsb-pearson": nan, "glue-stsb-spearman": nan},
		},
		"glue by value": {
			"glue:average=values", `{"id":"sst-2/1","text":"1"}` + "\n" + `{"id":"qqp/1","text":"1"}` + "\n" + `{"id":"qqp/2","text":"1"}`,
			`{"id":"sst-2/1","label":0}` + "\n" + `{"id":"qqp/1","label":1}` + "\n" + `{"id":"qqp/2","label":0}`,
			map[string]float64{"glue": (0 + .5 + 2.0/3) / 3, "glue-sst2-accuracy": 0, "glue-qqp-accuracy": .5, "glue-qqp-f1": 2.0 / 3},
		},
		"superglue": {
			"superglue", `{"id":"multirc/0/0","text":"1"}` + "\n" + `{"id":"multirc/0/1","text":"1"}` + "\n" + `{"id":"record/1","text":"the cat"}` + "\n" + `{"id":"cb/1","text":"0"}` + "\n" + `{"id":"cb/2","text":"1"}` + "\n" + `{"id":"cb/3","text":"1"}` + "\n" + `{"id":"cb/4","text":"1"}`,
			`{"id":"multirc/0/0","label":1}` + "\n" + `{"id":"multirc/0/1","label":0}` + "\n" + `{"id":"record/1","answers":["cat","dog"]}` + "\n" + `{"id":"cb/1","label":0}` + "\n" + `{"id":"cb/2","label":0}` + "\n" + `{"id":"cb/3","label":1}` + "\n" + `{"id":"cb/4","label":1}`,
			map[string]float64{"superglue": (1.0/3 + 1 + (.75+.7333333333333334)/2) / 3, "superglue-multirc-f1a": 2.0 / 3, "superglue-multirc-em": 0, "superglue-record-f1": 1, "superglue-record-em": 1, "superglue-cb-accuracy": .75, "superglue-cb-f1": .7333333333333334},
		},
	} {
		expect(t, name, scored(t, c.metric, c.pred, c.refs), c.want)
	}
}

func jsonLine(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b) + "\n"
}
