package trainer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"espalier/pipeline"
	"espalier/pipeline/score"
	"espalier/pipeline/store"
	"espalier/preprocess/split"
	"espalier/tokenize/tokens"
	"espalier/trainer/cpu"
	"espalier/trainer/decode"
	"espalier/trainer/optim"
	"espalier/trainer/peft/full"
	"espalier/trainer/peft/hyper"
	"espalier/trainer/peft/lora"
	"espalier/trainer/peft/methods"
	"espalier/trainer/peft/vl"
	"espalier/trainer/prediction"
)

// A world of texts: a source is a question word and a thing, the target says a
// thing that is so many behind it.
const (
	wordEOS   = 1
	wordFirst = 2
	things    = 5
	words     = wordFirst + 2*things + 1
)

var textTools = Tools{
	Texts: map[string]func(Listing, tokens.Vocab) (Detokenizer, error){
		"text/1": func(files Listing, v tokens.Vocab) (Detokenizer, error) {
			if !slices.Equal(files.Names(), []string{"words.txt"}) || v.Size != words {
				return nil, fmt.Errorf("files %v, vocabulary %+v", files.Names(), v)
			}
			return func(ids []int32) string {
				if i := slices.Index(ids, wordEOS); i >= 0 {
					ids = ids[:i]
				}
				return fmt.Sprint(ids)
			}, nil
		},
	},
	Metrics: map[string]Metrics{
		"tasks/1": func(task string, texts []string, references [][]string) ([]Measured, error) {
			right := 0.0
			for i := range texts {
				if slices.Contains(references[i], texts[i]) {
					right++
				}
			}
			return []Measured{{"accuracy", right / float64(len(texts))}}, nil
		},
	},
}

// textData is a stage that makes token shards of a task, or a vocabulary.
type textData struct {
	Task  string `yaml:"task" json:"task"` // "" for the vocabulary
	By    int    `yaml:"by" json:"by"`     // how far the target lies behind
	N     int    `yaml:"n" json:"n"`
	NoVal bool   `yaml:"no_val" json:"no_val"`
	EOS   int32  `yaml:"eos" json:"eos"` // that vocab.json says
	Mixed bool   `yaml:"mixed" json:"mixed"`
	Image bool   `yaml:"image" json:"image"` // examples have images
}

func (*textData) Kind() string { return "test/texts" }
func (*textData) Version() int { return 1 }

func (d *textData) Run(ctx context.Context, t *pipeline.Task, _ pipeline.Part) error {
	if d.Task == "" {
		return writeFile(t.Out, "words.txt", []byte("words"))
	}
	v, err := json.Marshal(tokens.Vocab{Kind: "t5", Size: words, Pad: 0, BOS: -1, EOS: d.EOS, Unk: -1})
	if err != nil {
		return err
	}
	if err := writeFile(t.Out, "vocab.json", v); err != nil {
		return err
	}
	for _, name := range []string{"test", "train", "validation"} {
		var list []tokens.Row
		for i := range d.N {
			if name == "validation" && d.NoVal {
				break
			}
			thing := (i + len(name)) % things
			row := tokens.Row{
				ID: fmt.Sprintf("toy/%s/%s/%d", d.Task, name, i), Task: d.Task, Split: name,
				Input:  []int32{wordFirst + 2*things, int32(wordFirst + thing), wordEOS},
				Target: []int32{int32(wordFirst + things + (thing+d.By)%things), wordEOS},
			}
			if d.Image {
				row.Image = fmt.Sprintf("%d.jpg", i)
			}
			if i%3 == 0 { // another length
				row.Input = append([]int32{wordFirst + 2*things}, row.Input...)
			}
			if d.Mixed && i == 3 {
				row.Task = "another"
			}
			list = append(list, row)
		}
		if err := writeRows(t.Out, store.ShardName(name, 0, 1, ".parquet"), tokens.Schema, list); err != nil {
			return err
		}
	}
	return nil
}

func toyTune(steps int64) *Tune {
	s := NewTune(textTools)
	s.Model = TextModel{Random: &RandomText{Width: 24, Heads: 2, Layers: 1, Hidden: 48, Seed: 3}}
	drop := 0.05
	s.Model.Drop = &drop
	s.Batch = TextBatch{Examples: 10}
	s.Steps = steps
	s.Optimizer = optim.Settings{Kind: optim.AdamWKind}
	s.Schedule.Rate = 0.01
	s.Validate = TextValidate{Every: 20}
	s.CurveStep = 10
	return s
}

// textGraph is the graph of two tasks, training and predictions.
func textGraph(d textData, tune *Tune) pipeline.Graph {
	d.EOS = wordEOS
	task := func(name string, by int) pipeline.Node {
		x := d
		x.Task, x.By = name, by
		return pipeline.Node{Name: name, Stage: &x}
	}
	generate := NewGenerate(textTools)
	return pipeline.Graph{Nodes: []pipeline.Node{
		{Name: "words", Stage: &textData{}},
		task("next", 1), task("same", 0),
		{Name: "tune", Stage: tune, Inputs: map[string]string{"vocab": "words", "a": "next"}},
		{Name: "both", Stage: tune, Inputs: map[string]string{"vocab": "words", "a": "next", "b": "same"}},
		{Name: "generate", Stage: generate, Inputs: map[string]string{"model": "tune", "tokens": "next"}},
	}}
}

func TestTuneAndGenerateLearn(t *testing.T) {
	ts := newToyStore(t)
	res := ts.mustRun(textGraph(textData{N: 40}, toyTune(120)), 2, "generate")
	m := res.Node("tune").Manifest
	points := map[string][]score.Row{}
	for _, r := range rows[score.Row](ts, m, "curve.parquet") {
		points[r.Tags["phase"]+" "+r.Metric] = append(points[r.Tags["phase"]+" "+r.Metric], r)
	}
	losses, accuracy, mean := points["train loss"], points["validation accuracy"], points["validation mean"]
	if len(losses) != 12 || losses[0].Value < 1 || losses[11].Value > 0.3 || losses[11].Task != "next" || losses[11].Corpus != "toy" {
		t.Errorf("losses %+v", losses)
	}
	if len(accuracy) != 6 || accuracy[5].Value != 1 || accuracy[5].N != 40 || accuracy[5].Split != "validation" || len(mean) != 6 {
		t.Errorf("validation %+v", accuracy)
	}
	trained, percent := points["model trained-parameters"], points["model trained-percent"]
	if len(trained) != 1 || trained[0].Value < 5000 || percent[0].Value != 100 || points["model total-ratio"][0].Value != 1 {
		t.Errorf("sizes %+v %+v", trained, percent)
	}
	right := 0
	for _, r := range rows[prediction.Row](ts, res.Node("generate").Manifest, "test-00000-of-00001.parquet") {
		var i int
		fmt.Sscanf(r.ID, "toy/next/test/%d", &i)
		if r.Text == fmt.Sprint([]int32{int32(wordFirst + things + (i+4+1)%things)}) {
			right++
		}
		if r.Rank != 0 || r.LogProb > 0 || r.Task != "next" || r.Split != "test" {
			t.Errorf("row %+v", r)
		}
	}
	if right != 40 {
		t.Errorf("%d of 40 texts are right", right)
	}
	for _, n := range ts.mustRun(textGraph(textData{N: 40}, toyTune(120)), 1, "generate").Nodes {
		if n.Name == "generate" && n.State != pipeline.Cached {
			t.Errorf("%s: %s, want cached", n.Name, n.State)
		}
	}
}

// Two tasks alternate; nothing tells them apart, so half is what can be right.
func TestMixture(t *testing.T) {
	ts := newToyStore(t)
	s := toyTune(150)
	s.Batch.Micro = 4
	res := ts.mustRun(textGraph(textData{N: 40}, s), 1, "both")
	steps := map[string]int64{}
	last := map[string]float64{}
	for _, r := range rows[score.Row](ts, res.Node("both").Manifest, "curve.parquet") {
		if r.Metric == "loss" {
			steps[r.Task] += r.N
			last[r.Task] = r.Value
		}
		if r.Metric == "trained-percent-per-task" && r.Value != 50 {
			t.Errorf("%s is %g, want 50", r.Metric, r.Value)
		}
	}
	if steps["next"]+steps["same"] != 150 || steps["next"] < 50 || steps["same"] < 50 {
		t.Errorf("updates by task %v, want about half of 150 each", steps)
	}
	if last["next"] < 0.2 || last["same"] < 0.2 {
		t.Errorf("losses %v of tasks that nothing tells apart", last)
	}
}

// What comes out does not depend on threads, and with parts of a batch only in
// the last digits.
func TestTuneThreadsDecideNothing(t *testing.T) {
	var want string
	for _, threads := range []int{1, 2, 5} {
		ts := newToyStore(t)
		s := toyTune(12)
		s.Method = methods.Config{Name: "lora", LoRA: &lora.Method{Rank: 2}, Norms: true}
		res := ts.mustRun(textGraph(textData{N: 20}, s), threads, "generate")
		got := res.Node("tune").Manifest.Digest + res.Node("generate").Manifest.Digest
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%d threads give another digest", threads)
		}
	}
}

// A killed run goes on with the same bits, with every update rule.
func TestTuneResumes(t *testing.T) {
	const steps = 12
	for _, kind := range []string{optim.AdamWKind, optim.AdafactorKind, optim.SGDKind} {
		ts := newToyStore(t)
		limit := 100 // beyond the split's size: changes the key and nothing else
		tune := func() *Tune {
			s := toyTune(steps)
			s.Optimizer = optim.Settings{Kind: kind}
			if kind == optim.SGDKind {
				s.Optimizer.Momentum = 0.9
			}
			s.Validate.Every, s.Validate.Limit = 5, limit
			s.Batch.Micro = 7
			return s
		}
		want := ts.mustRun(textGraph(textData{N: 20}, tune()), 1, "both").Node("both").Manifest.Digest
		for kill := int64(1); kill < steps; kill += 2 {
			for name, every := range map[string]time.Duration{"each step saved": time.Nanosecond, "cancelled": time.Hour} {
				limit++
				ctx, cancel := context.WithCancel(t.Context())
				s := tune()
				s.saveEvery = every
				s.stepped = func(step int64) error {
					if step == kill && name == "cancelled" {
						cancel()
					} else if step == kill {
						return errKilled
					}
					return nil
				}
				_, err := ts.run(ctx, textGraph(textData{N: 20}, s), 1, "both")
				cancel()
				if err == nil {
					t.Fatalf("%s, step %d: the run went on", name, kill)
				}
				first := int64(0)
				s = tune()
				s.stepped = func(step int64) error {
					if first == 0 {
						first = step
					}
					return nil
				}
				got := ts.mustRun(textGraph(textData{N: 20}, s), 2, "both").Node("both").Manifest.Digest
				if got != want {
					t.Fatalf("%s, %s: killed behind step %d, the output differs", kind, name, kill)
				}
				if resumed := map[string]int64{"each step saved": kill, "cancelled": kill + 1}[name]; first != resumed {
					t.Errorf("%s, %s: killed behind step %d, went on with step %d, want %d", kind, name, kill, first, resumed)
				}
			}
		}
	}
}

// A run whose loss becomes no number keeps the last state whose weights gave one:
// the next run goes on with it, and comes to the same end.
func TestTuneKeepsTheLastGoodState(t *testing.T) {
	ts := newToyStore(t)
	run := func(every time.Duration) (first, last int64, err error) {
		s := toyTune(40)
		s.Optimizer = optim.Settings{Kind: optim.SGDKind}
		s.Schedule = optim.Schedule{Kind: optim.Linear, Rate: 1e25, Warmup: 20}
		s.saveEvery = every
		s.stepped = func(step int64) error {
			if first == 0 {
				first = step
			}
			last = step
			return nil
		}
		_, err = ts.run(t.Context(), textGraph(textData{N: 20}, s), 1, "tune")
		return first, last, err
	}
	_, broken, err := run(time.Nanosecond)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("step %d: the loss is not a number", broken)) || broken < 2 {
		t.Fatalf("error %v behind %d updates, want a loss that is no number behind some", err, broken)
	}
	first, last, again := run(time.Hour)
	if again == nil || again.Error() != err.Error() {
		t.Errorf("error %v, want %v", again, err)
	}
	// The weights behind the last update gave no loss, those before it did.
	if first != broken || last != broken {
		t.Errorf("went on with update %d to %d, want %d: the state before it was good", first, last, broken)
	}
}

func TestPatience(t *testing.T) {
	ts := newToyStore(t)
	s := toyTune(400)
	s.Validate.Every, s.Validate.Patience = 10, 3
	m := ts.mustRun(textGraph(textData{N: 40}, s), 1, "tune").Node("tune").Manifest
	last, best := int64(0), int64(0)
	for _, r := range rows[score.Row](ts, m, "curve.parquet") {
		if r.Metric == "mean" {
			last = *r.Step
			if r.Value == 1 && best == 0 {
				best = *r.Step
			}
		}
	}
	if last != best+30 || m.Notes["step"] != fmt.Sprint(best) || m.Notes["steps"] != fmt.Sprint(last) {
		t.Errorf("best at %d, stopped at %d, notes %v; want 30 steps of patience", best, last, m.Notes)
	}
}

// Training goes on from a checkpoint, and its trained tensors stand in for the
// backbone's also where they are frozen now.
func TestTuneInit(t *testing.T) {
	ts := newToyStore(t)
	g := textGraph(textData{N: 40}, toyTune(120))
	more := toyTune(1)
	more.Method = methods.Config{Name: "full", Full: &full.Method{Train: []string{"**layer_norm.weight"}}}
	more.Schedule.Rate = 1e-9
	more.Validate.Every = 1
	g.Nodes = append(g.Nodes,
		pipeline.Node{Name: "more", Stage: more, Inputs: map[string]string{"vocab": "words", "a": "next", "init": "tune"}},
		pipeline.Node{Name: "again", Stage: NewGenerate(textTools), Inputs: map[string]string{"model": "more", "tokens": "next"}})
	res := ts.mustRun(g, 1, "again")
	for _, r := range rows[score.Row](ts, res.Node("more").Manifest, "curve.parquet") {
		if r.Metric == "accuracy" && r.Value != 1 {
			t.Errorf("accuracy %g of the weights it started from", r.Value)
		}
	}
	if rows[prediction.Row](ts, res.Node("again").Manifest, "test-00000-of-00001.parquet")[3].Text == "[]" {
		t.Error("no text")
	}
}

// Tasks may have images: examples without features are left out of training and
// validation, and are dead letters where they are to be answered.
func TestTuneWithImages(t *testing.T) {
	var want string
	for range 2 {
		ts := newToyStore(t)
		s := toyTune(20)
		s.Batch.Micro = 3
		g := textGraph(textData{N: 30, Image: true}, s)
		g.Nodes = append(g.Nodes, pipeline.Node{Name: "features", Stage: &toyData{What: "features", N: 30, From: 5, Gone: 2}})
		tune, generate := &g.Nodes[3], &g.Nodes[5]
		tune.Inputs["features"], generate.Inputs["features"] = "features", "features"
		generate.MaxDead = &pipeline.NoLimit
		res := ts.mustRun(g, 2, "generate")
		m, answers := res.Node("tune").Manifest, res.Node("generate").Manifest
		if m.Notes["missing_features"] != "2" {
			t.Errorf("notes %v, want 2 examples without features", m.Notes)
		}
		for _, r := range rows[score.Row](ts, m, "curve.parquet") {
			if r.Metric == "accuracy" && r.N != 28 {
				t.Errorf("validated on %d examples, want 28", r.N)
			}
		}
		if answers.Dead != 2 || answers.Rows != 28 {
			t.Errorf("%d dead letters and %d answers, want 2 and 28", answers.Dead, answers.Rows)
		}
		if d := m.Digest + answers.Digest; want == "" {
			want = d
		} else if d != want {
			t.Error("another run gives another digest")
		}
		delete(generate.Inputs, "features")
		if _, err := ts.run(t.Context(), g, 1, "generate"); err == nil || !strings.Contains(err.Error(), "features is missing") {
			t.Errorf("without features: %v", err)
		}
	}
}

// Regions differ by image in their number: those that an image lacks are hidden.
func TestTuneWithRegions(t *testing.T) {
	ts := newToyStore(t)
	s := toyTune(20)
	s.Method = methods.Config{Name: "vl-t5", VLT5: &vl.Tokens{}}
	s.Batch.Micro = 3
	g := textGraph(textData{N: 30, Image: true}, s)
	g.Nodes = append(g.Nodes, pipeline.Node{Name: "features", Stage: &toyData{What: "features", N: 30, Boxes: true}})
	tune, generate := &g.Nodes[3], &g.Nodes[5]
	tune.Inputs["features"], generate.Inputs["features"] = "features", "features"
	res := ts.mustRun(g, 2, "generate")
	want := res.Node("tune").Manifest.Digest + res.Node("generate").Manifest.Digest
	if m := res.Node("generate").Manifest; m.Rows != 30 || m.Dead != 0 {
		t.Errorf("%d answers, %d dead letters, want 30 and none", m.Rows, m.Dead)
	}
	ts = newToyStore(t)
	res = ts.mustRun(g, 1, "generate")
	if res.Node("tune").Manifest.Digest+res.Node("generate").Manifest.Digest != want {
		t.Error("another number of threads gives another digest")
	}
	s = toyTune(20)
	s.Method = methods.Config{Name: "vl-hyperpelt", VLHyperPELT: &vl.HyperPELT{Settings: hyper.Settings{Rows: 4, Hidden: 4, Width: 4, Bottleneck: 2}}}
	g.Nodes[3].Stage = s
	if _, err := ts.run(t.Context(), g, 1, "tune"); err == nil || !strings.Contains(err.Error(), "the method needs as many of every image") {
		t.Errorf("weights made of regions: error %v", err)
	}
}

// A draw says which rows a split has, wherever they were published.
func TestTuneMembers(t *testing.T) {
	ts := newToyStore(t)
	s := toyTune(20)
	s.Validate.Every = 20
	g := textGraph(textData{N: 40}, s)
	draw := &textDraw{Members: map[string]string{}}
	for i := range 4 {
		draw.Members[fmt.Sprintf("toy/next/train/%d", 3*i)] = "train"
		draw.Members[fmt.Sprintf("toy/next/train/%d", 3*i+1)] = "validation"
		draw.Members[fmt.Sprintf("toy/next/validation/%d", i)] = "test"
	}
	tune, generate := &g.Nodes[3], &g.Nodes[5]
	tune.Inputs["few"], generate.Inputs["few"] = "draw", "draw"
	g.Nodes = append(g.Nodes, pipeline.Node{Name: "draw", Stage: draw})
	res := ts.mustRun(g, 1, "generate")
	for _, r := range rows[score.Row](ts, res.Node("tune").Manifest, "curve.parquet") {
		if r.Metric == "accuracy" && r.N != 4 {
			t.Errorf("validated on %d rows, want 4", r.N)
		}
	}
	var ids []string
	for _, r := range rows[prediction.Row](ts, res.Node("generate").Manifest, "validation-00000-of-00001.parquet") {
		ids = append(ids, r.ID)
	}
	if want := "[toy/next/validation/0 toy/next/validation/1 toy/next/validation/2 toy/next/validation/3]"; fmt.Sprint(ids) != want {
		t.Errorf("answered %v, want %s", ids, want)
	}
}

// textDraw is a stage that writes memberships.
type textDraw struct {
	Members map[string]string `yaml:"members" json:"members"`
}

func (*textDraw) Kind() string { return "test/draw" }
func (*textDraw) Version() int { return 1 }

func (d *textDraw) Run(_ context.Context, t *pipeline.Task, _ pipeline.Part) error {
	var list []split.Member
	for _, id := range slices.Sorted(maps.Keys(d.Members)) {
		list = append(list, split.Member{ID: id, Split: d.Members[id]})
	}
	return writeRows(t.Out, store.ShardName("split", 0, 1, ".parquet"), split.Schema, list)
}

func TestTuneErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		data   textData
		change func(s *Tune)
		want   string
	}{
		{"no rows to validate on", textData{N: 20, NoVal: true}, func(*Tune) {}, "task next: split validation has no rows"},
		{"several tasks in one input", textData{N: 20, Mixed: true}, func(*Tune) {}, "input a: rows of several tasks"},
		{"vocabulary", textData{N: 20}, func(s *Tune) { s.Model.Random.Vocab = 5 }, "the vocabulary has 13 ids, the model's token table 5 rows"},
		{"no method", textData{N: 20}, func(s *Tune) { s.Method.Name = "frozen" }, "trains nothing"},
		{"no backbone", textData{N: 20}, func(s *Tune) { s.Model.Random = nil }, "backbone is missing"},
		{"loss", textData{N: 20}, func(s *Tune) {
			s.Optimizer = optim.Settings{Kind: optim.SGDKind}
			s.Schedule.Rate = 1e30
		}, "the loss is not a number: NaN; the batch is of task next: toy/next/train/"},
	} {
		ts := newToyStore(t)
		s := toyTune(30)
		c.change(s)
		_, err := ts.run(t.Context(), textGraph(c.data, s), 1, "tune")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	s := NewTune(textTools)
	s.Method.Name, s.Batch.Micro, s.Smoothing, s.Schedule.Kind, s.Validate.Patience, s.Optimizer.Kind = "lara", 99, 2, "curve", -1, "adamant"
	err := s.Check()
	for _, want := range []string{"method.name", "batch.micro", "smoothing", "schedule.kind", "patience -1", "optimizer.kind"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("faults %v, want one of %s", err, want)
		}
	}
}

// A checkpoint and its backbone are enough to answer a text; another backbone is
// refused.
func TestLoadText(t *testing.T) {
	ts := newToyStore(t)
	dir := ts.export(ts.mustRun(textGraph(textData{N: 40}, toyTune(120)), 1, "tune").Node("tune").Manifest)
	dev := cpu.New(1)
	defer dev.Close()
	l, err := LoadText(dev, dir, "")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if l.Info.Trained != l.Model.Params().Count() || l.Info.Vocab.Size != words || l.Result.Validation == nil || len(l.Info.Inputs) != 2 {
		t.Errorf("info %+v, result %+v", l.Info, l.Result)
	}
	g, err := NewGenerator(l.Model, decode.Generation{MaxNew: 2, Beams: 2, Return: 2}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	answers, err := g.Answer(t.Context(), 0, []int32{wordFirst + 2*things, wordFirst + 3, wordEOS}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(answers) != 2 || answers[0].Tokens[0] != wordFirst+things+4 || answers[0].LogProb < answers[1].LogProb {
		t.Errorf("answers %+v, want %d first", answers, wordFirst+things+4)
	}
	name := filepath.Join(string(dir), "model.json")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), t.TempDir()) {
		t.Error("model.json holds a path")
	}
	if err := os.Chmod(name, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, bytes.Replace(text, []byte(`"seed": 3`), []byte(`"seed": 4`), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadText(dev, dir, ""); err == nil || !strings.Contains(err.Error(), "the backbone's weights are") {
		t.Errorf("another backbone: %v", err)
	}
}
