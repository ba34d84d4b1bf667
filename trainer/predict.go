package trainer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"espalier/features/vectors"
	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
	"espalier/preprocess/example"
	"espalier/trainer/ckpt"
	"espalier/trainer/cpu"
	"espalier/trainer/decode"
	"espalier/trainer/prediction"
)

// Predict is the stage that captions the images of a split.
//
// Inputs: model (a checkpoint of Train), features (vector shards), examples.
// Output: prediction shards of the split, in the order of the examples. Examples
// whose image has no features are dead letters.
type Predict struct {
	Split       string         `yaml:"split" json:"split" doc:"by default test"`
	Beam        int            `yaml:"beam" json:"beam" doc:"width of the beam; by default 1, greedy"`
	Keep        int            `yaml:"keep" json:"keep" doc:"captions kept of each image, best first; by default 1"`
	MaxLen      int            `yaml:"max_len" json:"max_len" doc:"tokens at most; by default what the model was made for"`
	Penalty     decode.Penalty `yaml:"penalty" json:"penalty" doc:"length penalty: avg, wu or none, the default"`
	Alpha       float64        `yaml:"alpha" json:"alpha" doc:"of penalty wu"`
	Detokenizer string         `yaml:"detokenizer" json:"detokenizer" doc:"by default caption/1"`
	// ShuffleImages gives every example the image of another one.
	ShuffleImages *uint64 `yaml:"shuffle_images" json:"shuffle_images" doc:"seed: every example gets the image of another one, as a check that images matter"`
	LegacyCache   bool    `yaml:"legacy_cache" json:"legacy_cache" doc:"decode with the cache of the public code, shared by layers"`

	tools Tools
}

// NewPredict returns a Predict stage that uses the tools.
func NewPredict(tools Tools) *Predict { return &Predict{tools: tools} }

// Kind returns the stage's kind.
func (*Predict) Kind() string { return "trainer/predict" }

// Version returns the stage's version.
func (*Predict) Version() int { return 3 }

// Numeric reports that the numerics class of the machine enters the key.
func (*Predict) Numeric() bool { return true }

// Check fills in defaults and reports every fault at once.
func (s *Predict) Check() error {
	s.Split, s.Beam, s.Keep = cmp.Or(s.Split, "test"), cmp.Or(s.Beam, 1), cmp.Or(s.Keep, 1)
	s.Detokenizer = cmp.Or(s.Detokenizer, "caption/1")
	var errs []error
	if s.Keep < 1 || s.Keep > s.Beam {
		errs = append(errs, fmt.Errorf("keep: %d, want 1 to the beam's %d", s.Keep, s.Beam))
	}
	if s.MaxLen < 0 {
		errs = append(errs, fmt.Errorf("max_len: %d, want at least 1", s.MaxLen))
	}
	search := s.search()
	search.MaxLen = max(search.MaxLen, 1)
	return errors.Join(append(errs, search.Check(), check(s.tools.Detokenizers, "detokenizer", s.Detokenizer))...)
}

func (s *Predict) search() decode.Search {
	return decode.Search{Beam: s.Beam, MaxLen: s.MaxLen, Penalty: s.Penalty, Alpha: s.Alpha}
}

// A target is one example to be captioned. Plan leaves the targets of a split
// beside the parts.
type target struct {
	ID    string `parquet:"id"`
	Task  string `parquet:"task,dict"`
	Split string `parquet:"split,dict"`
	Image string `parquet:"image"` // after shuffling; "" if the example has none
}

const targetsFile = "targets"

func (x target) about() target { return x }

// Plan cuts the split into parts.
func (s *Predict) Plan(ctx context.Context, t *pipeline.Task) ([]pipeline.Part, error) {
	model, err := input(t, "model")
	if err != nil {
		return nil, err
	}
	features, err := input(t, "features")
	if err != nil {
		return nil, err
	}
	targets, err := s.targets(t)
	if err != nil {
		return nil, err
	}
	modelID, err := weightsID(model)
	if err != nil {
		return nil, fmt.Errorf("input model: %w", err)
	}
	var files closer
	defer files.Close()
	where := shardOf{}
	if _, err := openVectors(features, &files, where); err != nil {
		return nil, err
	}
	return planParts(t, targetsFile, targets, func(some []target) string { return partID(modelID, some, features.Manifest, where) })
}

// weightsID is the digest of what decides a model's captions: its weights, its
// configuration and the vocabulary, but not how it was trained.
func weightsID(in *pipeline.Input) (string, error) {
	info, _, err := readInfo(in)
	if err != nil {
		return "", err
	}
	config, err := json.Marshal(info.Model)
	if err != nil {
		return "", err
	}
	h := lines{sha256.New()}
	h.put("config", string(config))
	for _, e := range in.Manifest.Files {
		if e.Name == ckpt.WeightsFile || strings.HasPrefix(e.Name, vocabFolder+"/") {
			h.put(e.Name, e.SHA256)
		}
	}
	return h.sum(), nil
}

// partID is the digest of all that decides a part: the model, its examples and
// images, and the shards that hold their features.
func partID(model string, targets []target, features *store.Manifest, where shardOf) string {
	h := lines{sha256.New()}
	h.put("model", model)
	for _, x := range targets {
		_, ok := where[x.Image]
		h.put("target", x.ID, x.Task, x.Split, x.Image, fmt.Sprint(ok))
	}
	putFeatures(h, targets, features, where)
	return h.sum()
}

// targets reads the split's examples.
func (s *Predict) targets(t *pipeline.Task) ([]target, error) {
	in, err := input(t, "examples")
	if err != nil {
		return nil, err
	}
	_, entries, err := splitShards(in, s.Split)
	if err != nil {
		return nil, err
	}
	var files closer
	defer files.Close()
	shards, err := openShards[example.Head](in, entries, &files)
	if err != nil {
		return nil, err
	}
	var targets []target
	for _, sh := range shards {
		for h, err := range sh.All() {
			if err != nil {
				return nil, fmt.Errorf("input examples: %w", err)
			}
			x := target{ID: h.ID, Task: h.Task, Split: h.Split}
			if h.Image != nil {
				x.Image = *h.Image
			}
			targets = append(targets, x)
		}
	}
	if s.ShuffleImages != nil {
		exchange(targets, *s.ShuffleImages)
	}
	return targets, nil
}

// exchange gives every example the image of the one behind it in an order
// keyed by the ids, so that no example keeps its own.
func exchange(targets []target, seed uint64) {
	keys := make([][sha256.Size]byte, len(targets))
	order := make([]int, len(targets))
	for i := range targets {
		keys[i] = sha256.Sum256(fmt.Appendf(nil, "images %d %s", seed, targets[i].ID))
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(slices.Compare(keys[a][:], keys[b][:]), strings.Compare(targets[a].ID, targets[b].ID))
	})
	images := make([]string, len(targets))
	for i, at := range order {
		images[at] = targets[order[(i+1)%len(order)]].Image
	}
	for i := range targets {
		targets[i].Image = images[i]
	}
}

// Run captions one part.
func (s *Predict) Run(ctx context.Context, t *pipeline.Task, p pipeline.Part) (err error) {
	targets, err := sliceOf[target](t, p, targetsFile)
	if err != nil {
		return err
	}
	model, err := input(t, "model")
	if err != nil {
		return err
	}
	features, err := input(t, "features")
	if err != nil {
		return err
	}
	var files closer
	defer func() { err = errors.Join(err, files.Close()) }()
	x, err := openVectors(features, &files, nil)
	if err != nil {
		return err
	}
	dev := cpu.New(t.Env.Threads)
	defer func() { err = errors.Join(err, dev.Close()) }()
	l, err := Load(dev, model)
	if err != nil {
		return fmt.Errorf("input model: %w", err)
	}
	defer l.Model.Free()
	if err := l.Info.Features.fits(x.Options()); err != nil {
		return fmt.Errorf("input features: %w", err)
	}
	c, err := s.captioner(l, model)
	if err != nil {
		return err
	}
	found, err := having(t, targets, x)
	if err != nil || len(found) == 0 {
		return err
	}
	l.Model.Pack()
	return s.write(ctx, t, c, x, found)
}

func (s *Predict) captioner(l *Loaded, model Files) (*Captioner, error) {
	open := s.tools.Detokenizers[s.Detokenizer]
	if open == nil {
		return nil, fmt.Errorf("no detokenizer %q", s.Detokenizer)
	}
	text, err := open(VocabOf(model))
	if err != nil {
		return nil, fmt.Errorf("input model: vocabulary: %w", err)
	}
	c, err := NewCaptioner(l.Model, s.search(), text)
	if err != nil {
		return nil, err
	}
	c.Legacy = s.LegacyCache
	return c, nil
}

// write decodes the targets and writes their predictions.
func (s *Predict) write(ctx context.Context, t *pipeline.Task, c *Captioner, x *vectors.Index, targets []target) error {
	out, err := t.Out.Create(targets[0].Split+".parquet", prediction.Schema)
	if err != nil {
		return err
	}
	w, err := shard.NewWriter[prediction.Row](out, shard.Options{})
	if err != nil {
		return err
	}
	t.Meter.Expect(int64(len(targets)), "images")
	names := make([]string, len(targets))
	for i := range targets {
		names[i] = targets[i].Image
	}
	rows := make([]prediction.Row, 0, s.Keep)
	err = c.Run(ctx, x, names, func(i int, captions []Caption) error {
		rows = rows[:0]
		for rank, caption := range captions[:min(s.Keep, len(captions))] {
			rows = append(rows, prediction.Row{
				ID: targets[i].ID, Task: targets[i].Task, Split: targets[i].Split,
				Text: caption.Text, LogProb: caption.LogProb, Rank: int32(rank), Tokens: caption.Tokens,
			})
		}
		t.Meter.Add(1)
		return w.Write(rows)
	})
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return out.Close(w.Rows())
}

// Finish has nothing to add to the parts.
func (s *Predict) Finish(context.Context, *pipeline.Task, []pipeline.Part) error { return nil }
