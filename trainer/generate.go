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
	"espalier/tokenize/tokens"
	"espalier/trainer/cpu"
	"espalier/trainer/decode"
	"espalier/trainer/prediction"
)

// Generate is the stage that answers the sources of a split with a text model.
//
// Inputs: model (a checkpoint of Tune), backbone (what it was trained on, unless
// that is random), tokens (token shards of a task that the model knows), vocab
// (the vocabulary's file, unless the checkpoint has it), features (if the task
// has images). Output: prediction shards of the split, in the order of the
// sources; rows of one id are one source. Those whose image has no features are
// dead letters. An output of preprocess/split under any other name says which
// rows the split has.
type Generate struct {
	Split  string            `yaml:"split" json:"split" doc:"by default test"`
	Search decode.Generation `yaml:",inline"`
	Text   string            `yaml:"text" json:"text" doc:"detokenizer; by default text/1"`
	Task   string            `yaml:"task" json:"task,omitempty" doc:"the model's task; by default that of the rows, or the only one"`
	// ShuffleImages gives every source the image of another one.
	ShuffleImages *uint64 `yaml:"shuffle_images" json:"shuffle_images,omitempty" doc:"seed: every source gets the image of another one, as a check that images matter"`

	tools Tools
}

// NewGenerate returns a Generate stage that uses the tools.
func NewGenerate(tools Tools) *Generate { return &Generate{tools: tools} }

// Kind returns the stage's kind.
func (*Generate) Kind() string { return "trainer/generate" }

// Version returns the stage's version.
func (*Generate) Version() int { return 2 }

// Numeric reports that the numerics class of the machine enters the key.
func (*Generate) Numeric() bool { return true }

// Check fills in defaults and reports every fault at once.
func (s *Generate) Check() error {
	s.Split, s.Text = cmp.Or(s.Split, "test"), cmp.Or(s.Text, "text/1")
	g := s.Search
	g.MaxNew = cmp.Or(g.MaxNew, 1) // by default what the model was trained on
	err := g.Check()
	g.MaxNew = s.Search.MaxNew
	s.Search = g
	return errors.Join(err, check(s.tools.Texts, "text", s.Text))
}

// A query is one source to be answered. Plan leaves the queries of a split
// beside the parts.
type query struct {
	ID    string  `parquet:"id"`
	Task  string  `parquet:"task,dict"`
	Split string  `parquet:"split,dict"`
	Image string  `parquet:"image"` // after shuffling; "" if the source has none
	Input []int32 `parquet:"input,list"`
}

const queriesFile = "queries"

func (q query) about() target { return target{q.ID, q.Task, q.Split, q.Image} }

// Plan cuts the split into parts.
func (s *Generate) Plan(ctx context.Context, t *pipeline.Task) ([]pipeline.Part, error) {
	model, err := input(t, "model")
	if err != nil {
		return nil, err
	}
	queries, err := s.queries(t)
	if err != nil {
		return nil, err
	}
	id, err := s.modelID(t, model)
	if err != nil {
		return nil, err
	}
	var files closer
	defer files.Close()
	where := shardOf{}
	var features *store.Manifest
	if in := t.In["features"]; in != nil {
		if _, err := openVectors(in, &files, where); err != nil {
			return nil, err
		}
		features = in.Manifest
	}
	return planParts(t, queriesFile, queries, func(some []query) string { return queriesID(id, some, features, where) })
}

// modelID is the digest of what decides a model's answers: its tensors, its
// configuration, its backbone and the vocabulary.
func (s *Generate) modelID(t *pipeline.Task, in *pipeline.Input) (string, error) {
	info, c, err := readTextInfo(in)
	if err != nil {
		return "", fmt.Errorf("input model: %w", err)
	}
	info.Inputs = nil
	config, err := json.Marshal(info)
	if err != nil {
		return "", err
	}
	h := lines{sha256.New()}
	h.put("config", string(config))
	h.put("weights", c.Weights.SHA256)
	for _, e := range in.Manifest.Files {
		if strings.HasPrefix(e.Name, vocabFolder+"/") {
			h.put(e.Name, e.SHA256)
		}
	}
	if v := t.In["vocab"]; v != nil {
		h.put("vocab", v.Manifest.Digest)
	}
	return h.sum(), nil
}

// queriesID is the digest of all that decides a part.
func queriesID(model string, queries []query, features *store.Manifest, where shardOf) string {
	h := lines{sha256.New()}
	h.put("model", model)
	for _, q := range queries {
		_, ok := where[q.Image]
		h.put("query", q.ID, q.Task, q.Split, q.Image, fmt.Sprint(ok), fmt.Sprint(q.Input))
	}
	putFeatures(h, queries, features, where)
	return h.sum()
}

// queries reads the split's sources.
func (s *Generate) queries(t *pipeline.Task) ([]query, error) {
	in, err := input(t, "tokens")
	if err != nil {
		return nil, err
	}
	members, err := readMembers(t)
	if err != nil {
		return nil, err
	}
	chosen, err := members.choose(in, s.Split)
	if err != nil {
		return nil, err
	}
	var files closer
	defer files.Close()
	shards, err := openShards[tokens.Row](in, chosen.files, &files)
	if err != nil {
		return nil, err
	}
	var out []query
	for _, sh := range shards {
		for row, err := range sh.All() {
			if err != nil {
				return nil, fmt.Errorf("input tokens: %w", err)
			}
			if n := len(out); n > 0 && out[n-1].ID == row.ID || chosen.keep != nil && !chosen.keep(row.ID) {
				continue
			}
			out = append(out, query{ID: row.ID, Task: row.Task, Split: row.Split, Image: row.Image, Input: row.Input})
		}
	}
	if s.ShuffleImages != nil {
		list := make([]target, len(out))
		for i, q := range out {
			list[i] = target{ID: q.ID, Image: q.Image}
		}
		exchange(list, *s.ShuffleImages)
		for i := range out {
			out[i].Image = list[i].Image
		}
	}
	return out, nil
}

// Run answers one part.
func (s *Generate) Run(ctx context.Context, t *pipeline.Task, p pipeline.Part) (err error) {
	queries, err := sliceOf[query](t, p, queriesFile)
	if err != nil {
		return err
	}
	model, err := input(t, "model")
	if err != nil {
		return err
	}
	dev := cpu.New(t.Env.Threads)
	defer func() { err = errors.Join(err, dev.Close()) }()
	l, err := loadText(ctx, t, dev, model)
	if err != nil {
		return err
	}
	defer l.Close()
	var files closer
	defer func() { err = errors.Join(err, files.Close()) }()
	var x *vectors.Index
	if in := t.In["features"]; in != nil {
		if x, err = openVectors(in, &files, nil); err != nil {
			return err
		}
	}
	if err := l.fitsFeatures(x); err != nil {
		return err
	}
	text, err := s.detokenizer(t, model, l.Info.Vocab)
	if err != nil {
		return err
	}
	search := s.Search
	search.MaxNew = cmp.Or(search.MaxNew, l.Info.MaxTarget)
	g, err := NewGenerator(l.Model, search, text, x)
	if err != nil {
		return err
	}
	g.Pool, g.Cells = l.Info.Pool, l.Info.Cells
	found, err := having(t, queries, x)
	if err != nil || len(found) == 0 {
		return err
	}
	task, err := s.taskOf(l.Info.Tasks, found[0].Task)
	if err != nil {
		return err
	}
	t.Meter.Expect(int64(len(found)), "texts")
	for len(found) > 0 { // a file for each published split
		n := slices.IndexFunc(found, func(q query) bool { return q.Split != found[0].Split })
		if n < 0 {
			n = len(found)
		}
		if err := s.write(ctx, t, g, task, found[:n]); err != nil {
			return err
		}
		found = found[n:]
	}
	return nil
}

// fitsFeatures reports features that a model was not made for.
func (l *TextLoaded) fitsFeatures(x *vectors.Index) error {
	switch f := l.Info.Features; {
	case f == nil && x == nil:
		return nil
	case f == nil:
		return errors.New("input features: the model was trained without images")
	case x == nil:
		return errors.New("inputs: features is missing, the model was trained with images")
	default:
		if err := f.fits(x.Options()); err != nil {
			return fmt.Errorf("input features: %w", err)
		}
		return nil
	}
}

// detokenizer opens the vocabulary: that of the input, or the checkpoint's.
func (s *Generate) detokenizer(t *pipeline.Task, model *pipeline.Input, v tokens.Vocab) (Detokenizer, error) {
	open := s.tools.Texts[s.Text]
	if open == nil {
		return nil, fmt.Errorf("no detokenizer %q", s.Text)
	}
	files := listed{model, vocabFolder + "/"}
	if in := t.In["vocab"]; in != nil {
		files = listed{in, ""}
	} else if len(files.Names()) == 0 {
		return nil, errors.New("inputs: vocab is missing, and the checkpoint has none")
	}
	text, err := open(files, v)
	if err != nil {
		return nil, fmt.Errorf("vocabulary: %w", err)
	}
	return text, nil
}

// taskOf returns the model's task for rows of a task.
func (s *Generate) taskOf(tasks []string, rows string) (int, error) {
	name := cmp.Or(s.Task, rows)
	if i := slices.Index(tasks, name); i >= 0 {
		return i, nil
	}
	if s.Task == "" && len(tasks) == 1 {
		return 0, nil
	}
	return 0, fmt.Errorf("task %s: the model knows %s", name, strings.Join(tasks, ", "))
}

// write answers the queries and writes their predictions.
func (s *Generate) write(ctx context.Context, t *pipeline.Task, g *Generator, task int, queries []query) error {
	out, err := t.Out.Create(queries[0].Split+".parquet", prediction.Schema)
	if err != nil {
		return err
	}
	w, err := shard.NewWriter[prediction.Row](out, shard.Options{})
	if err != nil {
		return err
	}
	sources := make([]source, len(queries))
	for i, q := range queries {
		sum := sha256.Sum256([]byte(q.ID))
		sources[i] = source{id: q.ID, image: q.Image, input: q.Input, key: keyOf(sum[:])}
	}
	err = g.Run(ctx, task, sources, func(i int, texts []Generated) error {
		rows := make([]prediction.Row, 0, len(texts))
		for rank, x := range texts {
			rows = append(rows, prediction.Row{
				ID: queries[i].ID, Task: queries[i].Task, Split: queries[i].Split,
				Text: x.Text, LogProb: x.LogProb, Rank: int32(rank), Tokens: x.Tokens,
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

// keyOf makes a number of a hash's first bytes.
func keyOf(b []byte) (k uint64) {
	for _, c := range b[:8] {
		k = k<<8 | uint64(c)
	}
	return k
}

// Finish has nothing to add to the parts.
func (s *Generate) Finish(context.Context, *pipeline.Task, []pipeline.Part) error { return nil }
