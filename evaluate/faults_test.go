package evaluate

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"espalier/evaluate/input"
	"espalier/pipeline"
)

// A fault is something wrong in a file of predictions or of references.
type fault struct {
	name  string
	pred  func(row map[string]any) // changes the second prediction
	refs  func(row map[string]any) // changes the second reference
	raw   func(pred, refs []string)
	how   func(r *Request)
	taken bool // some metrics score it
	want  []string
}

var faultsOfFiles = []fault{
	{name: "no reference", refs: func(r map[string]any) { r["id"] = "nobody" }, want: []string{"p.jsonl: 1 of ", " predictions have no reference: ", "(", "p.jsonl:2)"}},
	{name: "no prediction", pred: nil, raw: func(pred, _ []string) { pred[1] = "\n" }, how: func(r *Request) { r.Missing = input.RefuseMissing }, want: []string{"r.jsonl: 1 of ", " references have no prediction: "}},
	{name: "predicted twice", raw: func(pred, _ []string) { pred[2] = pred[1] }, want: []string{"p.jsonl:3: id ", " is predicted again, first at ", "p.jsonl:2"}},
	{name: "predictions are not UTF-8", raw: func(pred, _ []string) { pred[1] = "{\"id\": \"\xff\"}\n" }, want: []string{"p.jsonl:2: not valid UTF-8"}},
	{name: "references are not UTF-8", raw: func(_, refs []string) { refs[1] = "{\"id\": \"\xff\"}\n" }, want: []string{"r.jsonl:2: not valid UTF-8"}},
	{name: "a prediction without id", pred: func(r map[string]any) { delete(r, "id") }, want: []string{"p.jsonl:2: id: no such field; the fields are", "--id-field"}},
	{name: "a prediction without text", pred: func(r map[string]any) { delete(r, "text") }, want: []string{"p.jsonl:2: text: no such field; the fields are", "--pred-field"}},
	{name: "a reference without text", refs: func(r map[string]any) {
		for _, k := range []string{"text", "references", "answers", "answer"} {
			delete(r, k)
		}
	}, want: []string{"r.jsonl:2: references: no such field; the fields are", "--ref-field"}},
	{name: "an object for a text", pred: func(r map[string]any) { r["text"] = map[string]int{"a": 1} }, want: []string{"p.jsonl:2: text: object where text is expected"}},
	{name: "an array for an id", pred: func(r map[string]any) { r["id"] = []int{1} }, want: []string{"p.jsonl:2: id: array where a number or text is expected"}},
	{name: "JSON that is cut", raw: func(pred, _ []string) { pred[1] = pred[1][:len(pred[1])/2] + "\n" }, want: []string{"p.jsonl:2: "}},
	{name: "no predictions", raw: func(pred, _ []string) { clear(pred) }, want: []string{"p.jsonl: no predictions"}},
	{name: "lines for objects", raw: func(pred, _ []string) {
		for i := range pred {
			pred[i] = "a b\n"
		}
	}, want: []string{"p.jsonl: predictions are read as lines and references as jsonl", "give the predictions ids"}},
	{name: "an empty list of references", refs: func(r map[string]any) {
		for _, k := range []string{"text", "references", "answer"} {
			delete(r, k)
		}
		r["answers"] = []string{}
	}, taken: true, want: []string{"r.jsonl:2: id ", ": an empty list of references, and metric "}},
	{name: "an empty prediction", pred: func(r map[string]any) { r["text"] = "" }, taken: true, want: []string{"p.jsonl:2: id "}},
	{name: "white space", pred: func(r map[string]any) { r["text"] = " \t\u3000" }, taken: true, want: []string{"p.jsonl:2: id "}},
	{name: "no number", pred: func(r map[string]any) { r["text"] = "nan" }, taken: true, want: []string{"p.jsonl:2: "}},
	{name: "no number in the references", refs: func(r map[string]any) { r["references"] = []string{"inf"} }, taken: true, want: []string{"r.jsonl:2: "}},
	{name: "two labels", refs: func(r map[string]any) { r["references"] = []string{"1", "0"} }, taken: true, want: []string{"r.jsonl:2: id "}},
}

// Every metric refuses the same faults with exit code 20, and says where they
// are; what is no fault to it, it scores.
func TestFaultsOfFilesAreNamed(t *testing.T) {
	tried, refused := make(map[string]bool), make(map[string]int)
	for _, c := range partsCases(t) {
		const rows = 12
		for _, metric := range c.metrics {
			name, _, _ := strings.Cut(metric, ":")
			if tried[name] {
				continue
			}
			tried[name] = true
			for _, f := range faultsOfFiles {
				if name == "distinct" && f.refs != nil {
					continue // it looks at no references
				}
				pred, refs := append([]string(nil), c.pred[:rows]...), append([]string(nil), c.refs[:rows]...)
				change(t, pred, f.pred)
				change(t, refs, f.refs)
				if f.raw != nil {
					f.raw(pred, refs)
				}
				dir := t.TempDir()
				r := Request{
					Metrics: []string{metric}, Workers: 2,
					Pred: input.Source{Path: save(t, filepath.Join(dir, "p.jsonl"), pred)}, Refs: []input.Source{{Path: save(t, filepath.Join(dir, "r.jsonl"), refs)}},
				}
				if f.how != nil {
					f.how(&r)
				}
				_, err := Run(t.Context(), r)
				if err == nil {
					if !f.taken {
						t.Errorf("%s: %s: is scored", metric, f.name)
					}
					continue
				}
				refused[f.name]++
				if code := pipeline.ExitCode(err); code != pipeline.ExitBadInput {
					t.Errorf("%s: %s: exit %d: %v", metric, f.name, code, err)
				}
				for _, w := range f.want {
					if !strings.Contains(err.Error(), w) {
						t.Errorf("%s: %s: %v\nwant %q", metric, f.name, err, w)
						break
					}
				}
			}
		}
	}
	for _, m := range List() {
		if !tried[m.Name] {
			t.Errorf("metric %s: not tried", m.Name)
		}
	}
	for _, f := range faultsOfFiles {
		if refused[f.name] == 0 {
			t.Errorf("no metric refuses: %s", f.name)
		}
	}
}

// change changes the second row.
func change(t *testing.T, rows []string, how func(map[string]any)) {
	t.Helper()
	if how == nil {
		return
	}
	var row map[string]any
	if err := json.Unmarshal([]byte(rows[1]), &row); err != nil {
		t.Fatal(err)
	}
	how(row)
	rows[1] = jsonLine(t, maps.Clone(row))
}

func save(t *testing.T, path string, rows []string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(strings.Join(rows, "")), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// Ids that a metric reads something in have to have it.
func TestIDsOfMetrics(t *testing.T) {
	for metric, c := range map[string]struct{ id, text, want string }{
		"glue":      {"cola", "1", "want ids TASK/ID, where TASK is one of cola, sst2"},
		"superglue": {"nothing/1", "1", "want ids TASK/ID, where TASK is one of boolq, cb"},
		"multirc":   {"7", "1", "want ids QUESTION/ANSWER"},
		"nlvr2":     {"dev-1-2", "True", "want ids SPLIT-SET-PAIR-SENTENCE, as dev-850-0-0"},
	} {
		row := jsonLine(t, map[string]any{"id": c.id, "text": c.text})
		_, err := Run(t.Context(), Request{Metrics: []string{metric}, Pred: input.Source{Path: write(t, "p.jsonl", row)}, Refs: []input.Source{{Path: write(t, "r.jsonl", row)}}})
		if want := fmt.Sprintf("r.jsonl:1: id %s: %s", c.id, c.want); err == nil || !strings.Contains(err.Error(), want) || pipeline.ExitCode(err) != pipeline.ExitBadInput {
			t.Errorf("%s: %v, want %q", metric, err, want)
		}
	}
}

// Labels for which scikit-learn's and SciPy's functions stop.
func TestLabelsThatCannotBeScored(t *testing.T) {
	many := make([]string, 100)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for name, c := range map[string]struct {
		metric     string
		pred, refs []string
		want       string
	}{
		"three labels":        {"f1", []string{"0", "1", "-1"}, []string{"0", "1", "1"}, `labels ["-1" "0" "1"], where average=binary takes two`},
		"other labels":        {"f1", []string{"yes", "no"}, []string{"no", "no"}, `labels ["no" "yes"], none of them "1"; give pos=LABEL`},
		"too many labels":     {"matthews", many, many, "100 different labels, want at most 64"},
		"one number":          {"pearson", []string{"1"}, []string{"1"}, "metric pearson: "},
		"NaN":                 {"pearson", []string{"1", "NaN", "2"}, []string{"1", "2", "3"}, `p.txt:2: id 2: "NaN" is no number`},
		"infinite":            {"spearman", []string{"1", "2"}, []string{"1", "-Inf"}, `r.txt:2: id 2: "-Inf" is no number`},
		"NaN in STS-B":        {"glue", []string{"1"}, []string{"1"}, "want ids TASK/ID"},
		"a text for a number": {"spearman", []string{"1", "x"}, []string{"1", "2"}, `p.txt:2: id 2: "x" is no number`},
	} {
		lines := func(list []string) string { return strings.Join(list, "\n") + "\n" }
		_, err := Run(t.Context(), Request{Metrics: []string{c.metric}, Pred: input.Source{Path: write(t, "p.txt", lines(c.pred))}, Refs: []input.Source{{Path: write(t, "r.txt", lines(c.refs))}}})
		if err == nil || !strings.Contains(err.Error(), c.want) || pipeline.ExitCode(err) != pipeline.ExitBadInput {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// M2 files where texts are wanted, and texts where M2 files are.
func TestWrongFilesOfCorrections(t *testing.T) {
	m2, lines := "S a b\nA 0 1|||R|||x|||REQUIRED|||-NONE-|||0\n\nS c\n\n", "x b\nc\n"
	for metric, c := range map[string]struct{ pred, refs, want string }{
		"bleu":      {m2, lines, "p:1: id 1: a block of an M2 file, and metric bleu takes texts (errant"},
		"sacrebleu": {lines, m2, "r:1: id 1: a block of an M2 file, and metric sacrebleu takes texts (maxmatch"},
		"maxmatch":  {m2, m2, "p:1: id 1: a block of an M2 file, and metric maxmatch takes texts"},
		"errant":    {lines, m2, "p:1: id 1: \"x b\" is no block of an M2 file"},
		"distinct":  {m2, m2, "a block of an M2 file"},
	} {
		_, err := Run(t.Context(), Request{Metrics: []string{metric}, Pred: input.Source{Path: write(t, "p", c.pred)}, Refs: []input.Source{{Path: write(t, "r", c.refs)}}})
		if err == nil || !strings.Contains(err.Error(), c.want) || pipeline.ExitCode(err) != pipeline.ExitBadInput {
			t.Errorf("%s: %v, want %q", metric, err, c.want)
		}
	}
}

// What counts as wrong without being so is told.
func TestPredictionsWithoutChoice(t *testing.T) {
	r := Request{Metrics: []string{"scienceqa"}, Keep: true, Pred: input.Source{Path: write(t, "p.jsonl", `{"id":"1","text":"The answer is A."}`+"\n"+`{"id":"2","text":"maybe"}`)}, Refs: []input.Source{{Path: write(t, "r.jsonl", `{"id":"1","answer":0}`+"\n"+`{"id":"2","answer":1}`)}}}
	res, err := Run(t.Context(), r)
	want := "scienceqa: 1 of 2 predictions name no choice and count as wrong"
	if err != nil || res.Values[0].Value != 50 || len(res.Warnings) != 1 || res.Warnings[0] != want {
		t.Errorf("%+v, %v, want the warning %q", res, err, want)
	}
	path := filepath.Join(t.TempDir(), "x.state")
	var b strings.Builder
	if err := res.WriteState(&b); err != nil {
		t.Fatal(err)
	}
	save(t, path, []string{b.String()})
	if res, err = Merge(t.Context(), Request{}, []string{path}); err != nil || len(res.Warnings) != 1 {
		t.Errorf("merged: %+v, %v", res, err)
	}
}
