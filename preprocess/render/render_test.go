package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"espalier/internal/shared"
	"espalier/preprocess/corpus/corpustest"
	"espalier/preprocess/corpus/gec"
)

// A golden is a line of t5.jsonl or other.jsonl.
type golden struct {
	Style, Task, Source, Target, Origin, Error, Full string
	Fields                                           map[string]any
	LabelID                                          *int64 `json:"label_id"`
	Part                                             int
	Dropped                                          bool
}

func goldens(t *testing.T, name string) (list []golden) {
	t.Helper()
	b, err := os.ReadFile(shared.Dir(t, "goldens", "corpora", "render", name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		var g golden
		if err := json.Unmarshal(line, &g); err != nil {
			t.Fatal(err)
		}
		list = append(list, g)
	}
	return list
}

func template(t *testing.T, name string) *Template {
	t.Helper()
	tm, ok := Find(name)
	if !ok {
		t.Fatalf("no template %s", name)
	}
	return tm
}

func TestT5(t *testing.T) {
	n := 0
	for _, g := range goldens(t, "t5.jsonl") {
		n++
		x := &Example{Fields: g.Fields, LabelID: -1}
		if g.LabelID != nil {
			x.LabelID = *g.LabelID
		}
		if score, ok := g.Fields["score"].(float64); ok {
			x.Label = strconv.FormatFloat(score, 'g', -1, 64)
		}
		if answers, ok := g.Fields["answers"].(map[string]any); ok {
			for _, a := range answers["text"].([]any) {
				x.References = append(x.References, a.(string))
			}
		}
		list, err := template(t, "t5/"+g.Task).Render(x)
		switch {
		case g.Error != "":
			if err == nil || errors.Is(err, ErrDropped) {
				t.Errorf("%s, %v: %v, want an error", g.Task, g.Fields, err)
			}
		case g.Dropped:
			if !errors.Is(err, ErrDropped) {
				t.Errorf("%s, %v: %v, want it left out", g.Task, g.Fields, err)
			}
		case err != nil:
			t.Errorf("%s, %s: %v", g.Task, g.Origin, err)
		case g.Part >= len(list) || list[g.Part] != Text{g.Source, g.Target}:
			t.Errorf("%s, %s: got %q\nwant %q", g.Task, g.Origin, list, Text{g.Source, g.Target})
		}
	}
	if n != 227 {
		t.Errorf("%d renderings", n)
	}
}

func TestOther(t *testing.T) {
	n := 0
	for _, g := range goldens(t, "other.jsonl") {
		n++
		x, name := &Example{Fields: g.Fields, LabelID: -1}, g.Style+"/"+g.Task
		part := g.Part
		switch {
		case g.Task == "stsb":
			x.Label = fmt.Sprint(g.Fields["score"])
		case strings.HasPrefix(g.Style, "hyperformer"):
			id, err := strconv.ParseInt(g.Target, 10, 64) // the golden has the class as its target only
			if err != nil {
				t.Fatal(err)
			}
			x.LabelID = id
		case g.Style == "scienceqa":
			x.LabelID = int64(g.Fields["answer"].(float64))
		case g.Task == "nlpcc-train":
			src := corpustest.Bytes("data.train", []byte(g.Fields["line"].(string)))
			rows, _, err := corpustest.With(gec.Train)(t, src, 1)
			if err != nil || len(rows) != 1 {
				t.Fatal(rows, err)
			}
			x.Fields = rows[0]["fields"].(map[string]any)
			for _, r := range rows[0]["references"].([]any) {
				x.References = append(x.References, r.(string))
			}
			name = "skillnet/nlpcc"
		case g.Task == "caption":
			x.References = []string{" " + g.Target + "\n"}
		case g.Task == "outgen", g.Task == "vqa", g.Task == "okvqa":
			x.References = []string{g.Target}
		case g.Task == "nlpcc":
		default:
			x.Label = g.Target
			if g.Task == "nlvr2" {
				x.Label = strings.ToUpper(g.Target[:1]) + g.Target[1:]
			}
		}
		list, err := template(t, name).Render(x)
		if err != nil || part >= len(list) || list[part] != (Text{g.Source, g.Target}) {
			t.Errorf("%s, %s: got %q, %v\nwant %q", name, g.Origin, list, err, Text{g.Source, g.Target})
		}
		if g.Full != "" && list[part].Source+list[part].Target != g.Full {
			t.Errorf("%s, %s: source and target do not join", name, g.Origin)
		}
	}
	if n != 432 {
		t.Errorf("%d renderings", n)
	}
}

func TestCommon(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""}, {"a", "a"}, {"a b b a", "a"}, {"b a b a c", "b"}, {"a b c c", "c"}, {"net mesh net mesh mesh", "mesh"},
	} {
		if got := Common(strings.Fields(c.in)); got != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}

// t5Facts is t5.json.
type t5Facts struct {
	Classes     map[string][]string
	Postprocess []struct {
		Fn, Text string
		Classes  []string
		Value    any
	}
	Rounding [][3]any `json:"stsb_rounding"`
}

func facts(t *testing.T) (f t5Facts) {
	t.Helper()
	b, err := os.ReadFile(shared.Dir(t, "goldens", "corpora", "render", "t5.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestT5Classes(t *testing.T) {
	for name, want := range facts(t).Classes {
		if got := template(t, "t5/"+name).Labels; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestT5Postprocess(t *testing.T) {
	n := 0
	for _, c := range facts(t).Postprocess {
		n++
		if c.Fn == "string_to_float" {
			a, _ := template(t, "t5/glue_stsb").Parse(c.Text)
			want, err := strconv.ParseFloat(c.Value.(string), 64)
			if err != nil {
				t.Fatal(err)
			}
			if a.Number != want && !(math.IsNaN(a.Number) && math.IsNaN(want)) {
				t.Errorf("%q: %v, want %v", c.Text, a.Number, want)
			}
			continue
		}
		tm := &Template{Labels: c.Classes}
		a, ok := tm.Parse(c.Text)
		if float64(a.Class) != c.Value.(float64) || ok != (a.Class >= 0) {
			t.Errorf("%q: class %d, want %v", c.Text, a.Class, c.Value)
		}
	}
	if n < 20 {
		t.Errorf("%d cases", n)
	}
}

func TestSTSBRounding(t *testing.T) {
	i := 0
	rows := facts(t).Rounding
	for thousandths := 0; thousandths <= 5000; thousandths++ {
		score := float64(thousandths) / 1000
		for score > rows[i][1].(float64) {
			i++
		}
		if got, want := STSB(score), rows[i][2].(string); got != want {
			t.Errorf("%v: %s, want %s", score, got, want)
		}
	}
	if i != len(rows)-1 {
		t.Errorf("%d of %d rows used", i+1, len(rows))
	}
}

func wscOf(m map[string]any) WSC {
	n := func(name string) int { return int(m[name].(float64)) }
	return WSC{m["text"].(string), m["span1_text"].(string), m["span2_text"].(string), n("span1_index"), n("span2_index")}
}

func TestFixWSC(t *testing.T) {
	b, err := os.ReadFile(shared.Dir(t, "goldens", "corpora", "render", "wsc_fixed.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range bytes.Lines(b) {
		var c struct {
			Before, After map[string]any
			Error         string
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		n++
		got, err := FixWSC(wscOf(c.Before))
		if (err != nil) != (c.Error != "") {
			t.Errorf("%v: %v, want %s", c.Before, err, c.Error)
		} else if err == nil && got != wscOf(c.After) {
			t.Errorf("got %+v, want %v", got, c.After)
		}
	}
	if n != 21 {
		t.Errorf("%d rows", n)
	}
}

func TestFixWSCOfFewGLUE(t *testing.T) {
	want := map[string]map[string]any{}
	b, err := os.ReadFile(shared.Dir(t, "goldens", "corpora", "render", "wsc_fixed_fewglue.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		var c struct {
			File  string
			N     int
			After map[string]any
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		want[fmt.Sprint(c.File, c.N)] = c.After
	}
	seen, changed := 0, 0
	for _, name := range []string{"train.jsonl", "unlabeled.jsonl"} {
		b, err := os.ReadFile(shared.Dir(t, "data", "superglue-fewglue", "WSC", name))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range bytes.Lines(b) {
			var d struct {
				Text   string
				Target map[string]any
			}
			if err := json.Unmarshal(line, &d); err != nil {
				t.Fatal(err)
			}
			d.Target["text"] = d.Text
			before := wscOf(d.Target)
			got, err := FixWSC(before)
			if err != nil {
				t.Errorf("%s row %d: %v", name, n, err)
			}
			for k, v := range want[fmt.Sprint(name, n)] {
				d.Target[k] = v
			}
			if got != wscOf(d.Target) {
				t.Errorf("%s row %d: %+v", name, n, got)
			}
			if got != before {
				changed++
			}
			n++
			seen++
		}
	}
	if seen != 586 || changed != 94 {
		t.Errorf("%d of %d rows change, want 94 of 586", changed, seen)
	}
}

func TestTemplates(t *testing.T) {
	made := map[string]string{}
	for i, tm := range All() {
		if tm.Version < 1 || tm.render == nil || strings.Count(tm.Name, "/") != 1 {
			t.Errorf("template %+v", tm)
		}
		if i > 0 && All()[i-1].Name >= tm.Name {
			t.Errorf("%s is there twice", tm.Name)
		}
		for _, f := range tm.For {
			key := tm.Style() + " " + f
			if made[key] != "" {
				t.Errorf("%s and %s are for the same examples", made[key], tm.Name)
			}
			made[key] = tm.Name
		}
	}
	if tm, ok := ForTask("t5", "glue", "cola"); !ok || tm.Name != "t5/glue_cola" {
		t.Errorf("T5's CoLA is %v", tm)
	}
	if tm, ok := ForTask("vl-t5", "okvqa", "vqa"); !ok || tm.Name != "vl-t5/vqa" {
		t.Errorf("VL-T5's OK-VQA is %v", tm)
	}
	if _, ok := ForTask("t5", "coco", "caption"); ok {
		t.Error("T5 has no captions")
	}
	if _, err := template(t, "t5/glue_cola").Render(&Example{LabelID: 1}); err == nil || err.Error() != "t5/glue_cola: no field sentence" {
		t.Errorf("an example without its field: %v", err)
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		template, text string
		want           Answer
		ok             bool
	}{
		{"scienceqa/QCM-A", "Answer: The answer is C.", Answer{Class: 2, Text: "C"}, true},
		{"scienceqa/QCM-A", "The answer is C. The answer is C.", Answer{Class: -1, Text: "The answer is C. The answer is C."}, false},
		{"scienceqa/QCM-A", "The answer is Z.", Answer{Class: -1, Text: "Z"}, false},
		{"hyperformer/mrpc", " 1\n", Answer{Class: 1, Text: " 1\n"}, true},
		{"hyperformer/mrpc", "equivalent", Answer{Class: -1, Text: "equivalent"}, false},
		{"espalier/vqa", "a cat", Answer{Class: -1, Text: "a cat"}, true},
		{"vl-t5/nlvr2", "true", Answer{Class: 1, Text: "true"}, true},
	} {
		if got, ok := template(t, c.template).Parse(c.text); got != c.want || ok != c.ok {
			t.Errorf("%s, %q: %+v, %v", c.template, c.text, got, ok)
		}
	}
}

// The three tasks of HyperPELT's few-shot transfer that T5 has no form for.
func TestFewShotTasks(t *testing.T) {
	for _, c := range []struct {
		corpus string
		x      Example
		want   Text
	}{
		{"imdb", Example{Label: "positive", LabelID: 1, Fields: map[string]any{"text": "Good.<br /><br />Yes."}}, Text{Source: "imdb sentence: Good.  Yes.", Target: "positive"}},
		{"paws", Example{Label: "0", LabelID: 0, Fields: map[string]any{"sentence1": "a b", "sentence2": "b a"}}, Text{Source: "paws sentence1: a b sentence2: b a", Target: "not_duplicate"}},
		{"trec", Example{Label: "human", LabelID: 3, Fields: map[string]any{"text": "Who ?"}}, Text{Source: "trec sentence: Who ?", Target: "human"}},
	} {
		tm, ok := ForTask("t5", c.corpus, c.corpus)
		if !ok {
			t.Fatalf("no template for %s", c.corpus)
		}
		got, err := tm.Render(&c.x)
		if err != nil || len(got) != 1 || got[0].Source != c.want.Source || got[0].Target != c.want.Target {
			t.Errorf("%s: %+v, %v, want %+v", c.corpus, got, err, c.want)
		}
	}
}
