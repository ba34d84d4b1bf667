package trainer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"espalier/pipeline"
	"espalier/pipeline/score"
	"espalier/trainer/ckpt"
	"espalier/trainer/cpu"
	"espalier/trainer/decode"
	"espalier/trainer/prediction"
)

func TestTrainAndPredictLearn(t *testing.T) {
	ts := newToyStore(t)
	res := ts.mustRun(toyGraph(toyData{N: 40}, toyTrain(120)), 2, "")
	train := res.Node("train").Manifest
	curve := rows[score.Row](ts, train, "curve.parquet")
	var losses, scores []float64
	for _, r := range curve {
		switch r.Metric {
		case "loss":
			losses = append(losses, r.Value)
		case "cider":
			scores = append(scores, r.Value)
			if r.Variant != "cider/1" || r.Split != "val" || r.N != 40 || r.Corpus != "toy" || r.Task != "caption" {
				t.Errorf("row %+v", r)
			}
		}
	}
	if len(losses) != 24 || losses[23] > 0.3 || losses[0] < 1 {
		t.Errorf("losses %v, want 24 falling to the entropy of two ways to end, ln 2 / 3", losses)
	}
	if len(scores) != 18 || scores[17] != 1 {
		t.Errorf("validation %v, want 18 scores up to 1", scores)
	}
	correct := func(name string) (n int) {
		m := res.Node(name).Manifest
		for _, r := range rows[prediction.Row](ts, m, "test-00000-of-00001.parquet") {
			var i int
			fmt.Sscanf(r.ID, "toy/caption/test/%d", &i)
			want := toyText(toyCaption(toyThing(fmt.Sprintf("%d.jpg", 80+i)), 0)[1:])
			if strings.Fields(r.Text)[0] == strings.Fields(want)[0] {
				n++
			}
			if r.Rank != 0 || r.LogProb > 0 || r.LogProb < -5 || r.Split != "test" || r.Task != "caption" || len(r.Tokens) != 3 {
				t.Errorf("row %+v", r)
			}
		}
		return n
	}
	if n := correct("predict"); n != 40 {
		t.Errorf("%d of 40 captions name the thing", n)
	}
	if n := correct("shuffled"); n > 25 {
		t.Errorf("%d of 40 captions name the thing although the images are exchanged", n)
	}
	again := ts.mustRun(toyGraph(toyData{N: 40}, toyTrain(120)), 1, "")
	for _, n := range again.Nodes {
		if n.State != pipeline.Cached {
			t.Errorf("%s: %s, want cached", n.Name, n.State)
		}
	}
}

// TestCheckpointIsEnough captions an image with nothing but the checkpoint's
// folder and the features.
func TestCheckpointIsEnough(t *testing.T) {
	ts := newToyStore(t)
	res := ts.mustRun(toyGraph(toyData{N: 20}, toyTrain(60)), 1, "train")
	dir := ts.export(res.Node("train").Manifest)
	dev := cpu.New(1)
	defer dev.Close()
	l, err := Load(dev, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Model.Free()
	if l.Info.Parameters != l.Model.Params().Count() || l.Info.Features.Metadata["model"] != "toy" || l.Info.Vocab.Size != toyVocab || len(l.Info.Inputs) != 4 {
		t.Errorf("info %+v", l.Info)
	}
	if l.Result.Steps != 60 || l.Result.Metric != "cider/1" || l.Result.Validation == nil {
		t.Errorf("result %+v", l.Result)
	}
	toText, err := toyTools.Detokenizers["caption/1"](VocabOf(dir))
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCaptioner(l.Model, decode.Search{Beam: 2}, toText)
	if err != nil {
		t.Fatal(err)
	}
	c.features.N, c.features.Cells, c.features.Dim, c.features.Height, c.features.Width = 1, 4, toyThings, 2, 2
	c.features.Values = make([]float32, 4*toyThings)
	for cell := range 4 {
		c.features.Values[cell*toyThings+2] = 1 + float32(cell)/8
	}
	out, err := c.Decode(t.Context(), &c.features)
	if err != nil {
		t.Fatal(err)
	}
	if len(out) != 1 || len(out[0]) != 2 || strings.Fields(out[0][0].Text)[0] != fmt.Sprint("w", toyFirst+2) || out[0][0].LogProb < out[0][1].LogProb {
		t.Errorf("captions %+v", out)
	}
	if c, _, err := ckpt.Load(string(dir)); err != nil || c.Model != ModelKind {
		t.Errorf("the folder as a checkpoint: %v", err)
	}
	if strings.Contains(text(t, dir, "model.json"), t.TempDir()) {
		t.Error("model.json holds a path")
	}
}

func TestThreadsDecideNothing(t *testing.T) {
	var want string
	for _, threads := range []int{1, 2, 7} {
		ts := newToyStore(t)
		res := ts.mustRun(toyGraph(toyData{N: 12}, toyTrain(16)), threads, "")
		got := res.Node("train").Manifest.Digest + res.Node("predict").Manifest.Digest
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%d threads give another digest", threads)
		}
	}
}

func TestRegions(t *testing.T) {
	var want string
	for _, threads := range []int{1, 3} {
		ts := newToyStore(t)
		res := ts.mustRun(toyGraph(toyData{N: 24, Boxes: true}, toyTrain(90)), threads, "predict")
		m := res.Node("train").Manifest
		curve := rows[score.Row](ts, m, "curve.parquet")
		if last := curve[len(curve)-1]; last.Metric != "cider" || last.Value != 1 {
			t.Errorf("the last validation is %+v, want 1", last)
		}
		digest := m.Digest + res.Node("predict").Manifest.Digest
		if want == "" {
			want = digest
		}
		if digest != want {
			t.Errorf("%d threads give another digest", threads)
		}
	}
}

var errKilled = errors.New("killed")

// TestResumeAtEveryStep kills a run behind each step, with and without a state
// of that very step, and compares what comes out in the end.
func TestResumeAtEveryStep(t *testing.T) {
	const steps = 16
	ts := newToyStore(t)
	// Limits beyond the split's size change the key of a training and nothing
	// else: one store serves all of them.
	limit := 100
	train := func() *Train {
		s := toyTrain(steps)
		s.Validate.Limit = limit
		return s
	}
	data := toyData{N: 12}
	want := ts.mustRun(toyGraph(data, train()), 1, "train").Node("train").Manifest.Digest
	for kill := int64(1); kill <= steps; kill++ {
		for name, every := range map[string]time.Duration{"each step saved": time.Nanosecond, "cancelled": time.Hour, "nothing saved": time.Hour} {
			if name == "nothing saved" && kill%5 != 0 {
				continue
			}
			limit++
			ctx, cancel := context.WithCancel(t.Context())
			s := train()
			s.saveEvery = every
			s.stepped = func(step int64) error {
				switch {
				case step != kill:
				case name == "cancelled":
					cancel()
				default:
					return errKilled
				}
				return nil
			}
			_, err := ts.run(ctx, toyGraph(data, s), 1, "train")
			cancel()
			if err == nil && kill < steps {
				t.Fatalf("%s, step %d: the run went on", name, kill)
			}
			first := int64(0)
			s = train()
			s.stepped = func(step int64) error {
				if first == 0 {
					first = step
				}
				return nil
			}
			got := ts.mustRun(toyGraph(data, s), 2, "train").Node("train").Manifest.Digest
			if got != want {
				t.Fatalf("%s: killed behind step %d, the output differs", name, kill)
			}
			resumed := map[string]int64{"each step saved": kill, "cancelled": kill + 1, "nothing saved": 1}[name]
			if kill < steps && first != resumed {
				t.Errorf("%s: killed behind step %d, went on with step %d, want %d", name, kill, first, resumed)
			}
		}
	}
}

func TestInitialWeights(t *testing.T) {
	ts := newToyStore(t)
	g := toyGraph(toyData{N: 12}, toyTrain(30))
	more := toyTrain(5)
	more.Schedule.Rate = 1e-9
	g.Nodes = append(g.Nodes, pipeline.Node{Name: "more", Stage: more, Inputs: map[string]string{
		"tokens": "tokens", "vocab": "vocab", "features": "features", "examples": "examples", "init": "train",
	}})
	res := ts.mustRun(g, 1, "more")
	last := func(name string) (first, last float64) {
		for _, r := range rows[score.Row](ts, res.Node(name).Manifest, "curve.parquet") {
			if r.Metric == "loss" {
				if first == 0 {
					first = r.Value
				}
				last = r.Value
			}
		}
		return first, last
	}
	begin, end := last("train")
	if first, _ := last("more"); first > (begin+end)/2 {
		t.Errorf("training that starts from loss %g begins at %g", end, first)
	}
}

func TestBadLossNamesTheBatch(t *testing.T) {
	ts := newToyStore(t)
	_, err := ts.run(t.Context(), toyGraph(toyData{N: 12, NaN: true}, toyTrain(16)), 1, "train")
	if err == nil || !strings.Contains(err.Error(), "the loss is NaN; the batch is toy/caption/train/") || !strings.Contains(err.Error(), "toy/caption/train/6") {
		t.Errorf("error %v, want one that names the batch of example 6", err)
	}
}

func TestMissingFeatures(t *testing.T) {
	ts := newToyStore(t)
	res := ts.mustRun(toyGraph(toyData{N: 12, Gone: 3}, toyTrain(4)), 1, "train")
	if n := res.Node("train").Manifest.Notes["missing_features"]; n != "3" {
		t.Errorf("missing_features %q, want 3", n)
	}
	res = ts.mustRun(toyGraph(toyData{N: 12, From: 24, Gone: 6}, toyTrain(4)), 1, "predict")
	m := res.Node("predict").Manifest
	if m.Dead != 6 || m.RowsSeen != 12 || m.Rows != 6 {
		t.Errorf("%d dead of %d, %d rows; want 6 of 12, 6", m.Dead, m.RowsSeen, m.Rows)
	}
}

func TestPredictPartsFollowTheContent(t *testing.T) {
	ts := newToyStore(t)
	// The model's digest must not change with the examples: it validates not.
	train := func() *Train {
		s := toyTrain(3)
		s.Validate = Validate{Metric: NoMetric}
		return s
	}
	g := toyGraph(toyData{N: 1500}, train())
	res := ts.mustRun(g, 2, "predict")
	parts := res.Node("predict").Parts
	if parts < 3 {
		t.Fatalf("%d parts of 1500 examples, want some", parts)
	}
	for i := range g.Nodes {
		if d, ok := g.Nodes[i].Stage.(*toyData); ok && d.What == "examples" {
			d.Extra = 1
		}
	}
	res = ts.mustRun(g, 2, "predict")
	n := res.Node("predict")
	if n.PartsRun != 1 || n.Manifest.Dead != 1 {
		t.Errorf("%d of %d parts were made for one more example, %d dead; want 1 and 1 (it has no features)", n.PartsRun, n.Parts, n.Manifest.Dead)
	}
	var ids []string
	for _, e := range n.Manifest.Shards("test") {
		for _, r := range rows[prediction.Row](ts, n.Manifest, e.Name) {
			ids = append(ids, r.ID)
		}
	}
	for i, id := range ids {
		if id != fmt.Sprintf("toy/caption/test/%d", i) {
			t.Fatalf("row %d is %s", i, id)
		}
	}
}

func TestExchange(t *testing.T) {
	make5 := func(ids ...string) []target {
		var out []target
		for _, id := range ids {
			out = append(out, target{ID: id, Image: id + ".jpg"})
		}
		return out
	}
	x := make5("a", "b", "c", "d", "e")
	exchange(x, 3)
	seen := map[string]bool{}
	for _, e := range x {
		if e.Image == e.ID+".jpg" {
			t.Errorf("%s keeps its image", e.ID)
		}
		seen[e.Image] = true
	}
	if len(seen) != 5 {
		t.Errorf("images %v", x)
	}
	y := make5("e", "d", "c", "b", "a")
	exchange(y, 3)
	for i := range x {
		if x[i] != y[4-i] {
			t.Error("the exchange depends on the order of the examples")
		}
	}
}

func TestChecks(t *testing.T) {
	for _, c := range []struct {
		set  func(*Train)
		want []string
	}{
		{func(s *Train) {}, nil},
		{func(s *Train) { s.Model = Model{Preset: "acort-small"} }, nil},
		{func(s *Train) { s.Model = Model{Preset: "acort"} }, []string{`model.preset: "acort", want ort-base`}},
		{func(s *Train) { s.Model.Heads, s.Smoothing = 3, 2 }, []string{"model.heads: 3, want a divisor of width 16", "smoothing: 2"}},
		{func(s *Train) { s.Epochs = 2 }, []string{"steps, epochs: only one of them"}},
		{func(s *Train) { s.Batch.Images = -1; s.Optimizer.Beta1 = 1 }, []string{"batch.images: -1", "optimizer.beta1: 1"}},
		{func(s *Train) { s.Schedule.Kind = "fast" }, []string{`schedule: kind: "fast"`}},
		{func(s *Train) { s.Validate.Metric = "cidre/1" }, []string{`validate.metric: "cidre/1", want cider/1`}},
		{func(s *Train) { s.Validate = Validate{Metric: NoMetric, Every: 3} }, []string{"validate: metric is none"}},
	} {
		s := toyTrain(10)
		c.set(s)
		err := s.Check()
		if (err == nil) != (c.want == nil) {
			t.Errorf("error %v, want %q", err, c.want)
		}
		for _, w := range c.want {
			if err != nil && !strings.Contains(err.Error(), w) {
				t.Errorf("error %v, want one with %q", err, w)
			}
		}
	}
	s := NewTrain(Tools{})
	s.Model.Preset = "acort-small"
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	if s.Model.Width != 256 || len(s.Model.EncoderMap) != 6 || s.Model.DecoderShare != "kv" || s.Epochs != 15 || *s.Optimizer.ClipValue != 0.1 || s.Schedule.Kind != "noam" || s.Schedule.Warmup != 10000 {
		t.Errorf("defaults %+v", s)
	}
	for _, st := range []pipeline.Stage{new(Train), new(Predict)} {
		if err := pipeline.CheckFields(st); err != nil {
			t.Error(err)
		}
	}
	p := NewPredict(toyTools)
	p.Keep = 2
	if err := p.Check(); err == nil || !strings.Contains(err.Error(), "keep: 2, want 1 to the beam's 1") {
		t.Errorf("keep beyond the beam: %v", err)
	}
}
