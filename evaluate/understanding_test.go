package evaluate

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"espalier/evaluate/input"
	"espalier/internal/shared"
)

// Through the whole path from files to values: every case of the GLUE goldens.
func TestGLUE(t *testing.T) {
	var cases map[string]struct {
		Kind       string
		Gold, Pred []json.Number
	}
	var scores map[string]map[string]any
	for name, v := range map[string]any{"cases.json": &cases, "scores.json": &scores} {
		b, err := os.ReadFile(shared.Dir(t, "goldens", "metrics", "glue", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, v); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range cases {
		var pred, refs strings.Builder
		for i := range c.Gold {
			fmt.Fprintf(&pred, "{\"id\": %d, \"label\": %s}\n", i, c.Pred[i])
			fmt.Fprintf(&refs, "{\"id\": %d, \"label\": %s}\n", i, c.Gold[i])
		}
		r := Request{Pred: input.Source{Path: write(t, "p.jsonl", pred.String())}, Refs: []input.Source{{Path: write(t, "r.jsonl", refs.String())}}, Bootstrap: 10}
		keys := map[string]string{"accuracy": "accuracy", "f1": "f1_binary", "f1:average=macro": "f1_macro", "f1:average=weighted": "f1_weighted", "f1:average=micro": "f1_micro", "matthews": "matthews"}
		if c.Kind == "regression" {
			keys = map[string]string{"pearson": "pearson", "spearman": "spearman"}
		}
		for metric, key := range keys {
			want := scores[name][key]
			r.Metrics = []string{metric}
			res, err := Run(t.Context(), r)
			switch w := want.(type) {
			case float64:
				if err != nil || !near(res.Values[0].Value, w, 1e-12) {
					t.Errorf("%s %s: %v (%v), want %v", name, metric, res, err, w)
				}
			case string:
				if err != nil || !math.IsNaN(res.Values[0].Value) {
					t.Errorf("%s %s: %v (%v), want no number", name, metric, res, err)
				} else if b, err := json.Marshal(res.Values[0]); err != nil || !strings.Contains(string(b), `"value":"NaN"`) {
					t.Errorf("%s %s: %s, %v", name, metric, b, err)
				}
			}
		}
	}
}

func TestVQAFiles(t *testing.T) {
	var rows []struct {
		ID         int `json:"question_id"`
		Answers    []string
		Prediction string
	}
	var scores map[string]struct {
		Accuracy struct{ Overall float64 }
	}
	for name, v := range map[string]any{"rows.json": &rows, "scores.json": &scores} {
		b, err := os.ReadFile(shared.Dir(t, "goldens", "metrics", "vqa", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, v); err != nil {
			t.Fatal(err)
		}
	}
	type answer struct {
		Answer string `json:"answer"`
		ID     int    `json:"answer_id"`
	}
	type annotation struct {
		ID      int      `json:"question_id"`
		Answers []answer `json:"answers"`
	}
	type result struct {
		ID     int    `json:"question_id"`
		Answer string `json:"answer"`
	}
	var doc struct {
		Annotations []annotation `json:"annotations"`
	}
	var preds []result
	for _, r := range rows {
		a := annotation{ID: r.ID}
		for i, x := range r.Answers {
			a.Answers = append(a.Answers, answer{x, i + 1})
		}
		doc.Annotations = append(doc.Annotations, a)
		preds = append(preds, result{r.ID, r.Prediction})
	}
	d, _ := json.Marshal(doc)
	p, _ := json.Marshal(preds)
	for version, want := range scores {
		res, err := Run(t.Context(), Request{Metrics: []string{"vqa:version=" + version},
			Pred: input.Source{Path: write(t, "p.json", string(p))}, Refs: []input.Source{{Path: write(t, "r.json", string(d))}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := math.Round(100*res.Values[0].Value) / 100; got != want.Accuracy.Overall {
			t.Errorf("version %s: %v, want %v", version, got, want.Accuracy.Overall)
		}
	}
}

func TestSquadFiles(t *testing.T) {
	refs := write(t, "r.jsonl", "{\"id\": \"q/1\", \"answers\": [\"The Cat's\", \"dog\"]}\n{\"id\": \"q/2\", \"answers\": [\"x y\"]}\n{\"id\": \"q/3\", \"answers\": [\"\"]}\n")
	pred := write(t, "p.jsonl", "{\"id\": \"q/1\", \"text\": \"cats\"}\n{\"id\": \"q/2\", \"text\": \"a x z\"}\n{\"id\": \"q/3\", \"text\": \"\"}\n")
	res, err := Run(t.Context(), Request{Metrics: []string{"squad", "squad2", "record"}, Pred: input.Source{Path: pred}, Refs: []input.Source{{Path: refs}}})
	if err != nil {
		t.Fatal(err)
	}
	for metric, want := range map[string]float64{"squad-em": 200. / 3, "squad-f1": 50, "squad2-em": 200. / 3, "squad2-f1": 250. / 3, "record-em": 2. / 3, "record-f1": .5} {
		if got := value(t, res, metric).Value; !near(got, want, 1e-14) {
			t.Errorf("%s = %v, want %v", metric, got, want)
		}
	}
	labels := write(t, "l.jsonl", "{\"id\": \"q/1\", \"text\": \"0\"}\n{\"id\": \"q/2\", \"text\": \"1\"}\n{\"id\": \"q/3\", \"text\": \"1\"}\n")
	res, err = Run(t.Context(), Request{Metrics: []string{"multirc"}, Pred: input.Source{Path: labels}, Refs: []input.Source{{Path: labels}}, Bootstrap: 5})
	if err != nil || res.Values[0].Value != 1 || res.Values[2].Value != 1 {
		t.Errorf("multirc of itself: %v, %v", res, err)
	}
}
