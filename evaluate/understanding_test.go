package evaluate

import (
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
			keys = map[string]string{"pearson": "pearson", "spearman": "spearman", "pearson:float=32": "pearson_float32", "spearman:float=32": "spearman_float32"}
		}
		for metric, key := range keys {
			want := scores[name][key]
			r.Metrics = []string{metric}
			res, err := Run(t.Context(), r)
			switch w := want.(type) {
			case float64:
				bound := 1e-12
				if strings.Contains(key, "float32") {
					bound = 1e-6
				}
				if err != nil || !near(res.Values[0].Value, w, bound) {
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
		Question   string `json:"question_type"`
		Answer     string `json:"answer_type"`
		Prediction string
	}
	var scores map[string]struct {
		Accuracy struct {
			Overall         float64
			PerQuestionType map[string]float64
			PerAnswerType   map[string]float64
		}
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
		ID       int      `json:"question_id"`
		Question string   `json:"question_type"`
		Answer   string   `json:"answer_type"`
		Answers  []answer `json:"answers"`
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
		a := annotation{ID: r.ID, Question: r.Question, Answer: r.Answer}
		for i, x := range r.Answers {
			a.Answers = append(a.Answers, answer{x, i + 1})
		}
		doc.Annotations = append(doc.Annotations, a)
		preds = append(preds, result{r.ID, r.Prediction})
	}
	d, _ := json.Marshal(doc)
	p, _ := json.Marshal(preds)
	for version, want := range scores {
		res, err := Run(t.Context(), Request{
			Metrics: []string{"vqa:types=all:version=" + version},
			Pred:    input.Source{Path: write(t, "p.json", string(p))}, Refs: []input.Source{{Path: write(t, "r.json", string(d))}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := math.Round(100*res.Values[0].Value) / 100; got != want.Accuracy.Overall {
			t.Errorf("version %s: %v, want %v", version, got, want.Accuracy.Overall)
		}
		maps.Copy(want.Accuracy.PerAnswerType, want.Accuracy.PerQuestionType)
		for name, v := range want.Accuracy.PerAnswerType {
			if got := value(t, res, "vqa-"+name).Value; math.Abs(got-v) > .00500001 {
				t.Errorf("version %s, %s: %v, want %v", version, name, got, v)
			}
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

// ScienceQA's table and rationale scores, from the repository's own files.
func TestScienceQA(t *testing.T) {
	var golden struct {
		Question_IDs []string
		Accuracy     map[string]any
		Rationale    struct {
			BLEU1 float64 `json:"bleu1"`
			BLEU4 float64 `json:"bleu4"`
			Rouge float64 `json:"rouge_l"`
		}
	}
	var run struct {
		Results map[string]int
		Outputs map[string]string
	}
	for path, v := range map[string]any{
		shared.Dir(t, "goldens", "metrics", "scienceqa", "scores.json"):                               &golden,
		shared.Dir(t, "data", "vqa-scienceqa", "results", "gpt3", "final_test_QCM-ALE_2_seed_3.json"): &run,
	} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, v); err != nil {
			t.Fatal(err)
		}
	}
	results, outputs := make(map[string]int), make(map[string]string)
	for _, id := range golden.Question_IDs {
		results[id], outputs[id] = run.Results[id], run.Outputs[id]
	}
	refs := []input.Source{{Path: shared.Dir(t, "data", "vqa-scienceqa", "scienceqa", "problems.head.json")}}
	scored := func(preds any, metric string) *Result {
		t.Helper()
		b, err := json.Marshal(preds)
		if err != nil {
			t.Fatal(err)
		}
		res, err := Run(t.Context(), Request{Metrics: []string{metric}, Pred: input.Source{Path: write(t, "p.json", string(b))}, Refs: refs})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	res := scored(results, "scienceqa:topics=true")
	names := map[string]string{"average": "", "natural": "nat", "social": "soc", "language": "lan", "has_text": "txt", "has_image": "img", "no_context": "no", "grade_1_6": "g1-6", "grade_7_12": "g7-12"}
	checked := 0
	for key, want := range golden.Accuracy {
		name, ok := names[strings.TrimPrefix(key, "acc_")]
		if !ok {
			name = strings.TrimPrefix(key, "acc_")
		}
		name = strings.TrimSuffix("scienceqa-"+name, "-")
		for _, v := range res.Values {
			if v.Metric == name {
				checked++
				if got := fmt.Sprintf("%.2f", v.Value); v.N != 90 || got != fmt.Sprint(want) && !(v.Value == -1 && fmt.Sprint(want) == "-1") {
					t.Errorf("%s: %s of %d, want %v", name, got, v.N, want)
				}
			}
		}
		if fmt.Sprint(want) == "-1" {
			checked++ // a topic that no question has
		}
	}
	if checked != len(golden.Accuracy) {
		t.Errorf("%d of %d scores compared", checked, len(golden.Accuracy))
	}
	choices := res
	res = scored(outputs, "scienceqa-rationale")
	for name, want := range map[string]float64{"rationale-bleu-1": golden.Rationale.BLEU1, "rationale-bleu-4": golden.Rationale.BLEU4, "rationale-rouge-l": golden.Rationale.Rouge} {
		if got := value(t, res, name).Value; !near(got, want, 1e-13) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	f, err := os.Open(shared.Dir(t, "goldens", "metrics", "scienceqa", "per_question.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for d := json.NewDecoder(f); d.More(); n++ {
		var q struct {
			ID           string
			Pred, Answer int
			BLEU1, BLEU4 float64
			Rouge        float64 `json:"rouge_l"`
		}
		if err := d.Decode(&q); err != nil {
			t.Fatal(err)
		}
		i := slices.Index(res.IDs, q.ID)
		for k, want := range []float64{q.BLEU1, q.BLEU4, q.Rouge} {
			if got := res.Each[i][k]; !near(got, want, 1e-13) {
				t.Errorf("question %s: %s %v, want %v", q.ID, res.Values[k].Metric, got, want)
			}
		}
		right := map[bool]float64{true: 100, false: 0}[q.Pred == q.Answer]
		if i := slices.Index(choices.IDs, q.ID); choices.Each[i][0] != right {
			t.Errorf("question %s: %v, want %v", q.ID, choices.Each[i][0], right)
		}
	}
	if n != len(golden.Question_IDs) {
		t.Errorf("%d questions, want %d", n, len(golden.Question_IDs))
	}
}

// SQuAD's own layouts: a document of questions, an object of answers.
func TestSquadDocument(t *testing.T) {
	refs := write(t, "r.json", `{"version": "v2.0", "data": [{"title": "x", "paragraphs": [{"context": "c", "qas": [
		{"id": "a", "question": "?", "answers": [{"text": "the Cat", "answer_start": 1}, {"text": "dog", "answer_start": 3}]},
		{"question": "?", "is_impossible": true, "answers": [], "id": "b"}]}]}]}`)
	for _, preds := range []string{`{"a": "cat", "b": "dog"}`, "{\n \"b\": \"dog\",\n \"a\": \"cat\"\n}\n"} {
		res, err := Run(t.Context(), Request{Metrics: []string{"squad2"}, Pred: input.Source{Path: write(t, "p.json", preds)}, Refs: []input.Source{{Path: refs}}})
		if err != nil {
			t.Fatal(err)
		}
		if v := value(t, res, "squad2-em"); v.Value != 50 || v.N != 2 {
			t.Errorf("%+v", v)
		}
	}
	for _, bad := range []string{`{"version": "1", "data": [{"paragraphs": [{"qas": [{"answers": []}]}]}]}`, `{"version": "1", "data": [{"paragraphs": [{"qas": [{"id": "a", "answers": [{}]}]}]}]}`, `{"version": "1", "data": [{"paragraphs": [{"qas": [`} {
		_, err := Run(t.Context(), Request{Metrics: []string{"squad"}, Pred: input.Source{Path: write(t, "p.json", `{"a": "cat"}`)}, Refs: []input.Source{{Path: write(t, "bad.json", bad)}}})
		if err == nil || !strings.Contains(err.Error(), "bad.json") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// T5 writes words: what is no label is the wrong one, what is no number is -1.
func TestBoardOfWords(t *testing.T) {
	c := &input.Joined{}
	add := func(id, reference, prediction string) {
		c.IDs, c.References = append(c.IDs, id), append(c.References, []string{reference})
		c.Predictions, c.Places = append(c.Predictions, prediction), append(c.Places, input.Place{})
	}
	add("glue/mrpc/validation/0", "equivalent", "equivalent")
	add("glue/mrpc/validation/1", "equivalent", "hello")
	add("glue/mrpc/validation/2", "not_equivalent", "hello")
	add("glue/mrpc/validation/3", "not_equivalent", "not_equivalent")
	add("glue/stsb/validation/0", "1.0", "1.2")
	add("glue/stsb/validation/1", "3.0", "hello")
	add("glue/stsb/validation/2", "5.0", "4.8")
	add("glue/cola/validation/0", "acceptable", "acceptable")
	add("glue/cola/validation/1", "unacceptable", "unacceptable")
	r := &Request{Metrics: []string{"glue:average=values:form=t5"}}
	fams, err := parseMetrics(r)
	if err != nil {
		t.Fatal(err)
	}
	res, err := scoreAll(t.Context(), &corpus{Joined: c, workers: 1}, fams, r)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, v := range res.Values {
		got[v.Metric] = v.Value
	}
	// Two of four are right; of 2 equivalent ones 1 is found, and 1 is wrong.
	for name, want := range map[string]float64{
		"glue-mrpc-accuracy": 0.5, "glue-mrpc-f1": 0.5, "glue-cola-matthews": 1, "glue-stsb-spearman": 0.5, "glue-stsb-pearson": 0.61475,
	} {
		if math.Abs(got[name]-want) > 1e-3 {
			t.Errorf("%s is %g, want %g", name, got[name], want)
		}
	}
}
