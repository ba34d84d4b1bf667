package evaluate

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"espalier/evaluate/input"
	"espalier/pipeline"
	"espalier/pipeline/score"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
	"espalier/preprocess/example"
	"espalier/trainer/prediction"
)

// A table is a stage that writes rows that a test made up.
type table[T any] struct {
	Name   string `yaml:"name" json:"name"`
	schema string
	splits map[string][]T
	order  []string
}

func (s *table[T]) Kind() string { return "test/" + s.Name }
func (*table[T]) Version() int   { return 1 }

func (s *table[T]) Run(_ context.Context, t *pipeline.Task, _ pipeline.Part) error {
	for _, split := range s.order {
		f, err := t.Out.Create(split+"-00000-of-00001.parquet", s.schema)
		if err != nil {
			return err
		}
		w, err := shard.NewWriter[T](f, shard.Options{})
		if err != nil {
			return err
		}
		if err := w.Write(s.splits[split]); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		if err := f.Close(int64(len(s.splits[split]))); err != nil {
			return err
		}
	}
	return nil
}

type meta struct {
	Marks []string `parquet:"marks,list"`
	Big   bool     `parquet:"big"`
}

type row = example.Row[struct{}, meta]

// captioned makes a split of examples with three references each.
func captioned(split string, n int) []row {
	things := []string{"dog", "cat", "horse", "bird", "cow", "car", "bus"}
	places := []string{"on the grass", "in a field", "near the water", "on a road"}
	var out []row
	for i := range n {
		thing, place := things[i%len(things)], places[(i/2)%len(places)]
		m := meta{Big: i%5 == 0}
		if i%4 == 1 {
			m.Marks = []string{"unseen"}
		}
		out = append(out, row{
			ID: fmt.Sprintf("c/t/%s/%03d", split, i), Corpus: "c", Task: "t", Split: split, Key: fmt.Sprint(i), N: int64(i), Meta: m,
			References: []string{
				fmt.Sprintf("A %s stands %s.", thing, place),
				fmt.Sprintf("a brown %s %s", thing, place),
				fmt.Sprintf("there is a %s standing %s", thing, place),
			},
		})
	}
	return out
}

func examples() *table[row] {
	return &table[row]{
		Name: "examples", schema: example.Schema, order: []string{"train", "test"},
		splits: map[string][]row{"train": captioned("train", 60), "test": captioned("test", 24)},
	}
}

func predictions() *table[prediction.Row] {
	var rows []prediction.Row
	for i, e := range captioned("test", 24) {
		text := strings.ToLower(strings.TrimSuffix(e.References[0], "."))
		if i%3 == 0 {
			text = "seventeen planes fly"
		}
		if i == 23 {
			continue
		}
		rows = append(rows, prediction.Row{ID: e.ID, Task: "t", Split: "test", Text: text}, prediction.Row{ID: e.ID, Task: "t", Split: "test", Text: "worse", Rank: 1})
	}
	return &table[prediction.Row]{Name: "predictions", schema: prediction.Schema, order: []string{"test"}, splits: map[string][]prediction.Row{"test": rows}}
}

func runGraph(t *testing.T, threads int, nodes ...pipeline.Node) (*pipeline.Result, *store.Store) {
	t.Helper()
	s, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := pipeline.Run(t.Context(), pipeline.Graph{Nodes: nodes}, pipeline.Options{Store: s, Jobs: 1, Threads: threads})
	if err != nil {
		t.Fatal(err)
	}
	return res, s
}

func scores(t *testing.T, s *store.Store, m *store.Manifest) []score.Row {
	t.Helper()
	f, err := s.OpenFile(t.Context(), m, ScoresFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := shard.Open[score.Row](f, f.Size())
	if err != nil {
		t.Fatal(err)
	}
	var out []score.Row
	for row, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, row)
	}
	return out
}

func find(t *testing.T, rows []score.Row, metric, id string) score.Row {
	t.Helper()
	for _, r := range rows {
		if r.Metric == metric && r.ID == id {
			return r
		}
	}
	t.Fatalf("no score %s of %q", metric, id)
	return score.Row{}
}

func TestMeasure(t *testing.T) {
	graph := func() []pipeline.Node {
		both := map[string]string{"examples": "examples", "predictions": "predictions"}
		alone := map[string]string{"examples": "examples"}
		return []pipeline.Node{
			{Name: "examples", Stage: examples()},
			{Name: "predictions", Stage: predictions()},
			{Name: "ours", Stage: &Measure{Tags: map[string]string{"seed": "3"}}, Inputs: both},
			{Name: "unseen", Stage: &Measure{Only: "unseen"}, Inputs: both},
			{Name: "big", Stage: &Measure{Only: "big", Metrics: []string{"cider"}}, Inputs: both},
			{Name: "ceiling", Stage: &Measure{Candidate: FromReferences}, Inputs: alone},
			{Name: "blind", Stage: &Measure{Candidate: FromConstant, Sample: 30}, Inputs: alone},
		}
	}
	res, s := runGraph(t, 1, graph()...)
	again, _ := runGraph(t, 3, graph()...)
	of := func(name string) []score.Row { return scores(t, s, res.Node(name).Manifest) }
	for _, n := range graph() {
		if a, b := res.Node(n.Name).Manifest.Digest, again.Node(n.Name).Manifest.Digest; a != b {
			t.Errorf("%s: digest %s with one thread, %s with three", n.Name, a, b)
		}
	}

	ours := of("ours")
	cider := find(t, ours, "cider", "")
	if cider.N != 23 || cider.Split != "test" || cider.Corpus != "c" || cider.Task != "t" || cider.Tags["seed"] != "3" || cider.CILow == nil || *cider.CILow >= cider.Value || *cider.CIHigh <= cider.Value {
		t.Errorf("cider of ours: %+v", cider)
	}
	sum, n := 0.0, 0
	for _, r := range ours {
		if r.Metric == "cider" && r.ID != "" {
			sum += r.Value
			n++
		}
	}
	if n != 23 || math.Abs(sum/23-cider.Value) > 1e-12 {
		t.Errorf("%d examples with mean cider %v, want 23 with %v", n, sum/23, cider.Value)
	}
	if got := find(t, ours, "cider", "c/t/test/003").Value; got != 0 {
		t.Errorf("a wrong caption gets cider %v, want 0", got)
	}
	if res.Node("ours").Manifest.Notes["unpredicted"] != "1" {
		t.Errorf("notes %v, want one example without a prediction", res.Node("ours").Manifest.Notes)
	}
	if r := find(t, of("unseen"), "cider", ""); r.N != 6 || r.Tags["only"] != "unseen" {
		t.Errorf("unseen: %+v", r)
	}
	if r := find(t, of("big"), "cider", ""); r.N != 5 {
		t.Errorf("big: %+v", r)
	}
	ceiling, blind := find(t, of("ceiling"), "cider", ""), find(t, of("blind"), "cider", "")
	if ceiling.N != 24 || blind.N != 24 || ceiling.Value < 2*blind.Value || ceiling.Tags["candidate"] != "references" {
		t.Errorf("ceiling %+v, blind %+v", ceiling, blind)
	}
	text := res.Node("blind").Manifest.Notes["constant"]
	found := false
	for _, e := range captioned("train", 60) {
		for _, r := range e.References {
			found = found || r == text
		}
	}
	if !found {
		t.Errorf("the constant caption %q is no train reference", text)
	}
}

// The constant caption is the best of all, by exhaustive search.
func TestConstantCaptionIsTheBest(t *testing.T) {
	res, _ := runGraph(t, 1, pipeline.Node{Name: "examples", Stage: examples()},
		pipeline.Node{Name: "blind", Stage: &Measure{Candidate: FromConstant, Sample: 1000, Bootstrap: new(int)}, Inputs: map[string]string{"examples": "examples"}})
	got := res.Node("blind").Manifest.Notes["constant"]
	train := captioned("train", 60)
	var captions [][]string
	for _, e := range train {
		captions = append(captions, e.References)
	}
	mean := func(text string) float64 {
		c := &corpus{Joined: &input.Joined{Places: make([]input.Place, len(train))}}
		for range train {
			c.Predictions = append(c.Predictions, text)
		}
		c.References, c.IDs, c.workers = captions, make([]string, len(train)), 1
		fams, err := parseMetrics(&Request{Metrics: []string{"cider"}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := scoreAll(t.Context(), c, fams, &Request{})
		if err != nil {
			t.Fatal(err)
		}
		return r.Values[0].Value
	}
	best := mean(got)
	for _, e := range train[:14] {
		for _, r := range e.References {
			if v := mean(r); v > best+1e-12 {
				t.Errorf("%q gets %v, the chosen %q only %v", r, v, got, best)
			}
		}
	}
}

func TestMeasureNamesFaults(t *testing.T) {
	m := &Measure{Metrics: []string{"blue"}, Candidate: "x", Sample: -1}
	for _, want := range []string{"no metric blue", "candidate", "sample"} {
		if err := m.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not name %s", err, want)
		}
	}
	s, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	for want, stage := range map[string]*Measure{
		`no split val, only ["test" "train"]`: {Split: "val"},
		"nothing to score in split test":      {Only: "no such mark", Candidate: FromReferences},
		"no input named predictions":          {Metrics: []string{"bleu"}},
	} {
		_, err := pipeline.Run(t.Context(), pipeline.Graph{Nodes: []pipeline.Node{
			{Name: "examples", Stage: examples()},
			{Name: "m", Stage: stage, Inputs: map[string]string{"examples": "examples"}},
		}}, pipeline.Options{Store: s})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestAggregate(t *testing.T) {
	var nodes []pipeline.Node
	gather := map[string]string{}
	for i, v := range []float64{0.5, 0.7, 0.9} {
		name := fmt.Sprintf("run%d", i)
		tags := map[string]string{"seed": fmt.Sprint(i), "method": "lora"}
		nodes = append(nodes, pipeline.Node{Name: name, Stage: &table[score.Row]{Name: name, schema: score.Schema, order: []string{"scores"}, splits: map[string][]score.Row{"scores": {
			{Metric: "cider", Variant: "v", Corpus: "c", Task: "t", Split: "test", Value: v, N: 100, Tags: tags},
			{Metric: "cider", Variant: "v", Corpus: "c", Task: "t", Split: "test", ID: "x", Value: 9, N: 1, Tags: tags},
		}}}})
		gather[fmt.Sprintf("scores[seed=%d]", i)] = name
	}
	nodes = append(nodes, pipeline.Node{Name: "mean", Stage: &Aggregate{Over: []string{"seed"}}, Inputs: gather})
	res, s := runGraph(t, 1, nodes...)
	rows := scores(t, s, res.Node("mean").Manifest)
	if len(rows) != 2 {
		t.Fatalf("%d rows: %+v", len(rows), rows)
	}
	m, sd := rows[0], rows[1]
	if m.Metric != "cider" || math.Abs(m.Value-0.7) > 1e-15 || m.N != 3 || m.Tags["method"] != "lora" || m.Tags["seed"] != "" || m.Tags["runs"] != "3" || math.Abs(*m.CIHigh-m.Value-4.302653*0.2/math.Sqrt(3)) > 1e-9 {
		t.Errorf("mean %+v", m)
	}
	if sd.Metric != "cider.sd" || math.Abs(sd.Value-0.2) > 1e-15 || sd.CILow != nil {
		t.Errorf("deviation %+v", sd)
	}
	if err := new(Aggregate).Check(); err == nil {
		t.Error("no axis is accepted")
	}
}

// METEOR's tables and document frequencies come to the stage as raw files.
func TestTablesOfTheStage(t *testing.T) {
	tables := t.TempDir()
	for name, text := range map[string]string{
		"function/english.words": "the\na\n", "nonbreaking/english.prefixes": "Dr\n", "synonym/english.exceptions": "",
		"synonym/english.synsets": "dog\n7\nhound\n7\n",
	} {
		path := filepath.Join(tables, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	df := write(t, "df.json", `{"ref_len": 100, "document_frequency": {"a": 90}}`)
	none := 0
	res, st := runGraph(t, 1,
		pipeline.Node{Name: "examples", Stage: examples()},
		pipeline.Node{Name: "tables", Stage: &pipeline.Files{Path: tables}},
		pipeline.Node{Name: "df", Stage: &pipeline.Files{Path: df}},
		pipeline.Node{Name: "people", Stage: &Measure{Candidate: FromReferences, Metrics: []string{"meteor", "cider"}, Bootstrap: &none}, Inputs: map[string]string{"examples": "examples", "meteor": "tables", "df": "df"}})
	variants := make(map[string]string)
	for _, r := range scores(t, st, res.Node("people").Manifest) {
		variants[r.Metric] = r.Variant
	}
	if want := "meteor[exact,stem,synonym]|1.5|tok:ptb"; variants["meteor"] != want {
		t.Errorf("variant %q, want %q", variants["meteor"], want)
	}
	if v := variants["cider"]; !strings.Contains(v, "df:file") {
		t.Errorf("variant %q, want the file's frequencies", v)
	}
}
