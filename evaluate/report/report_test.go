package report_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"espalier/data"
	"espalier/evaluate"
	"espalier/evaluate/report"
	"espalier/pipeline"
	"espalier/pipeline/score"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
	"espalier/preprocess"
	"espalier/preprocess/example"
	"espalier/tokenize"
	"espalier/trainer/prediction"
)

// A captioner stands for trainer/predict: it writes references with faults.
type captioner struct {
	Beam    int     `yaml:"beam" json:"beam"`
	Shuffle *uint64 `yaml:"shuffle_images" json:"shuffle_images"`
	Empty   bool    `yaml:"empty" json:"empty"`
}

func (*captioner) Kind() string { return "trainer/predict" }
func (*captioner) Version() int { return 1 }

func (c *captioner) Run(_ context.Context, t *pipeline.Task, _ pipeline.Part) error {
	var heads []example.Head
	for _, e := range t.In["examples"].Shards("test") {
		f, err := t.In["examples"].Open(e.Name)
		if err != nil {
			return err
		}
		r, err := shard.Open[example.Head](f, f.Size())
		if err != nil {
			return err
		}
		for h, err := range r.All() {
			if err != nil {
				return err
			}
			heads = append(heads, h)
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	var rows []prediction.Row
	for i, h := range heads {
		if c.Shuffle != nil {
			h.References = heads[(i+7)%len(heads)].References
		}
		sum := fnv.New32a()
		sum.Write([]byte(h.ID))
		n := int(sum.Sum32())
		words := strings.Fields(strings.ToLower(strings.TrimRight(h.References[n%len(h.References)], ".")))
		if n%3 == 1 {
			other := strings.Fields(strings.ToLower(strings.TrimRight(h.References[(n+1)%len(h.References)], ".")))
			words = append(other[:min(4, len(other))], words[min(len(words), 4):]...)
		}
		if n%7 == 2 {
			words = words[:len(words)/2]
		}
		text := strings.Join(words, " ")
		if i == 0 && c.Empty {
			text = ""
		}
		rows = append(rows, prediction.Row{ID: h.ID, Task: h.Task, Split: "test", Text: text})
	}
	return put(t, "test-00000-of-00001.parquet", prediction.Schema, rows)
}

func put[T any](t *pipeline.Task, name, schema string, rows []T) error {
	f, err := t.Out.Create(name, schema)
	if err != nil {
		return err
	}
	w, err := shard.NewWriter[T](f, shard.Options{})
	if err != nil {
		return err
	}
	if err := w.Write(rows); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return f.Close(int64(len(rows)))
}

// A model stands for trainer/train.
type model struct{}

func (*model) Kind() string { return "trainer/train" }
func (*model) Version() int { return 1 }

func (*model) Run(_ context.Context, t *pipeline.Task, _ pipeline.Part) error {
	var rows []score.Row
	for step := int64(20); step <= 1200; step += 20 {
		s := step
		wobble := 0.05 * math.Sin(float64(step)*1.7)
		rows = append(rows, score.Row{Metric: "loss", Step: &s, Value: 1.1 + 3.4*math.Exp(-float64(step)/260) + wobble, N: 20, Tags: map[string]string{}},
			score.Row{Metric: "rate", Step: &s, Value: 0.001, N: 1, Tags: map[string]string{}})
		if step%200 == 0 {
			rows = append(rows, score.Row{Metric: "cider", Step: &s, Value: 0.95*(1-math.Exp(-float64(step)/400)) + wobble, N: 100, Tags: map[string]string{}})
		}
	}
	if err := put(t, "curve.parquet", score.Schema, rows); err != nil {
		return err
	}
	size := int64(1000)
	rows = []score.Row{{Metric: "adapter-bytes", Step: &size, Value: 4938268, N: 1, Tags: map[string]string{"phase": "model"}}}
	if err := put(t, "sizes.parquet", score.Schema, rows); err != nil {
		return err
	}
	v := 0.871
	doc, err := json.Marshal(map[string]any{
		"model": "ort",
		"config": map[string]any{
			"parameters": 1234567, "features": map[string]any{"height": 7, "width": 7, "dim": 256},
			"model": map[string]any{"d_model": 128, "heads": 8, "encoder_map": []int{0, 0, 0, 1, 1, 1}, "share_kv": true, "dropout": 0.1},
		},
		"state": map[string]any{"step": 1000, "steps": 1200, "metric": "cider", "validation": v, "loss": 1.2},
	})
	if err != nil {
		return err
	}
	f, err := t.Out.Create("model.json", "")
	if err != nil {
		return err
	}
	if _, err := f.Write(doc); err != nil {
		return err
	}
	return f.Close(0)
}

func graph(images int, r *report.Report, prefix string) pipeline.Graph {
	seed := uint64(1)
	measured := func(name, pred string, m *evaluate.Measure) pipeline.Node {
		in := map[string]string{"examples": prefix + "examples"}
		if pred != "" {
			in["predictions"] = prefix + pred
		}
		none := 200
		m.Bootstrap = &none
		return pipeline.Node{Name: prefix + name, Stage: m, Inputs: in}
	}
	ex := map[string]string{"examples": prefix + "examples"}
	g := pipeline.Graph{Nodes: []pipeline.Node{
		{Name: prefix + "coco", Stage: &data.Sample{Images: images}},
		{Name: prefix + "examples", Stage: &preprocess.Ingest{Corpus: "coco/karpathy", Marks: []string{"unseen"}}, Inputs: map[string]string{"raw": prefix + "coco"}},
		{Name: prefix + "vocab", Stage: &tokenize.Train{Type: tokenize.Radix, Base: 24}, Inputs: ex},
		{Name: prefix + "train", Stage: &model{}, Inputs: map[string]string{"vocab": prefix + "vocab"}},
		{Name: prefix + "predict", Stage: &captioner{Beam: 3, Empty: true}, Inputs: ex},
		{Name: prefix + "mixed", Stage: &captioner{Beam: 1, Shuffle: &seed}, Inputs: ex},
		measured("ours", "predict", &evaluate.Measure{}),
		measured("shuffled", "mixed", &evaluate.Measure{}),
		measured("unseen", "predict", &evaluate.Measure{Only: "unseen"}),
		measured("ceiling", "", &evaluate.Measure{Candidate: evaluate.FromReferences}),
		measured("blind", "", &evaluate.Measure{Candidate: evaluate.FromConstant}),
		{Name: prefix + "report", Stage: r, Inputs: map[string]string{
			"examples": prefix + "examples", "predictions": prefix + "predict", "images": prefix + "coco", "vocab": prefix + "vocab", "model": prefix + "train",
			"ours": prefix + "ours", "shuffled": prefix + "shuffled", "unseen": prefix + "unseen", "ceiling": prefix + "ceiling", "blind": prefix + "blind",
		}},
	}}
	return g
}

func run(t *testing.T, g pipeline.Graph, threads int) (*pipeline.Result, *store.Store) {
	t.Helper()
	s, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := pipeline.Run(t.Context(), g, pipeline.Options{Store: s, Jobs: threads, Threads: threads})
	if err != nil {
		t.Fatal(err)
	}
	return res, s
}

func file(t *testing.T, s *store.Store, m *store.Manifest, name string) string {
	t.Helper()
	f, err := s.OpenFile(t.Context(), m, name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, f.Size())
	if _, err := f.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestReport(t *testing.T) {
	images, shown := 120, 4
	if os.Getenv("REPORT_DIR") != "" { // a page to look at
		images, shown = 900, 8
	}
	stage := func() *report.Report {
		return &report.Report{Pictures: &shown, Title: "Captions of a miniature COCO", Paper: "acort", Remarks: []string{"The weights of the image features come from a seed & nothing else."}}
	}
	res, s := run(t, graph(images, stage(), ""), 1)
	m := res.Node("report").Manifest
	page, md, table := file(t, s, m, report.PageFile), file(t, s, m, report.MarkdownFile), file(t, s, m, report.TableFile)
	if dir := os.Getenv("REPORT_DIR"); dir != "" {
		for name, text := range map[string]string{report.PageFile: page, report.MarkdownFile: md, report.TableFile: table} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		return
	}

	t.Run("the page stands alone", func(t *testing.T) {
		if regexp.MustCompile(`(?i)<script|https?://|url\(|@import|\bon[a-z]+=`).MatchString(page) {
			t.Error("the page has scripts or outside links")
		}
		count := map[string]int{}
		for _, m := range regexp.MustCompile(`<([a-z][a-z0-9]*)`).FindAllStringSubmatch(page, -1) {
			count[m[1]]++
		}
		for name, n := range count {
			if closed := strings.Count(page, "</"+name+">"); closed != n && name != "img" && name != "meta" && strings.Contains(page, "</"+name+">") {
				t.Errorf("%d %s elements, %d of them closed", n, name, closed)
			}
		}
		ids, hrefs := map[string]bool{}, []string{}
		for _, m := range regexp.MustCompile(` (id|href)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if m[1] == "id" {
				ids[m[2]] = true
			} else {
				hrefs = append(hrefs, m[2])
			}
		}
		if count["article"] != 12 || count["img"] != 12 || count["svg"] != 3 || count["h1"] != 1 {
			t.Errorf("elements %v", count)
		}
		for _, h := range hrefs {
			if !ids[strings.TrimPrefix(h, "#")] {
				t.Errorf("link %s leads nowhere", h)
			}
		}
	})
	t.Run("what it says", func(t *testing.T) {
		for _, text := range []string{page, md} {
			for _, want := range []string{
				"Captions of a miniature COCO", "CIDEr", "ACORT-base", "127.8", "With the images shuffled", "the model, beam 3", "only images marked unseen",
				"the same caption for every image", "1\u202f234\u202f567", "v = 24, d = 2", "of step 1\u202f000", "dangling last word", "preprocess/ingest", "data/sample", "seed &amp; nothing",
			} {
				if text == md {
					want = strings.ReplaceAll(want, "&amp;", "&")
				}
				if !strings.Contains(text, want) {
					t.Errorf("%.20q does not say %q", text, want)
				}
			}
		}
		text := regexp.MustCompile(`data:image/jpeg;base64,[^"]*`).ReplaceAllString(page, "")
		if strings.Contains(text, "NaN") || strings.Contains(text, "%!") {
			t.Error("the page has numbers that are none")
		}
	})
	t.Run("the table has every score", func(t *testing.T) {
		rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != 1+5*6 || strings.Join(rows[1][:2], " ") != "ours bleu-1" || rows[1][3] == "" {
			t.Errorf("%d rows, first %q", len(rows), rows[1])
		}
	})
	t.Run("the same bytes whatever the stages are called", func(t *testing.T) {
		again, _ := run(t, graph(images, stage(), "other "), 3)
		if a, b := m.Digest, again.Node("other report").Manifest.Digest; a != b {
			t.Errorf("digest %s, then %s", a, b)
		}
	})
	t.Run("scores alone are enough", func(t *testing.T) {
		g := graph(images, &report.Report{Title: "Few"}, "")
		last := &g.Nodes[len(g.Nodes)-1]
		last.Inputs = map[string]string{"a run": "ours", "scores[seed=1]": "shuffled"}
		res, s := run(t, g, 1)
		page := file(t, s, res.Node("report").Manifest, report.PageFile)
		if !strings.Contains(page, `<th scope="row">seed=1</th>`) || strings.Contains(page, "Pictures") || strings.Contains(page, "Training") {
			t.Error("a report of scores alone has other sections")
		}
	})
}

func TestFaults(t *testing.T) {
	n := -1
	err := (&report.Report{Paper: "x", Pictures: &n}).Check()
	for _, want := range []string{"acort or acort-xe", "pictures: -1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
	s, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	for want, r := range map[string]*report.Report{"no inputs with scores": {}, "no input named other": {Main: "other"}} {
		g := graph(60, r, "")
		last := &g.Nodes[len(g.Nodes)-1]
		last.Inputs = map[string]string{"examples": "examples"}
		if r.Main != "" {
			last.Inputs["ours"] = "ours"
		}
		if _, err := pipeline.Run(t.Context(), g, pipeline.Options{Store: s}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
