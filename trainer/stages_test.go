package trainer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"espalier/features/vectors"
	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
	"espalier/preprocess/example"
	"espalier/tokenize/tokens"
)

// A toy world: an image shows one of four things; its captions name the thing
// and end in one of two ways.
const (
	toyThings = 4
	toyFirst  = 3 // id of the first thing
	toyVocab  = toyFirst + toyThings + 2
)

func toyCaption(thing, variant int) []int32 {
	return []int32{1, int32(toyFirst + thing), int32(toyFirst + toyThings + variant%2), 2}
}

func toyText(ids []int32) string {
	var words []string
	for _, id := range ids {
		if id == 2 {
			break
		}
		words = append(words, fmt.Sprint("w", id))
	}
	return strings.Join(words, " ")
}

func toyThing(image string) int {
	var n int
	fmt.Sscanf(image, "%d.jpg", &n)
	return n * n % 7 % toyThings
}

var toyTools = Tools{
	Detokenizers: map[string]func(Files) (Detokenizer, error){
		"caption/1": func(vocab Files) (Detokenizer, error) {
			if _, err := readVocab(vocab); err != nil {
				return nil, err
			}
			return toyText, nil
		},
	},
	Validators: map[string]Validator{
		"cider/1": func(texts []string, references [][]string) (float64, error) {
			right := 0
			for i, t := range texts {
				for _, r := range references[i] {
					if r == t {
						right++
						break
					}
				}
			}
			return float64(right) / float64(len(texts)), nil
		},
	},
}

// toyData is a stage that makes what the trainer's stages read.
type toyData struct {
	What  string `yaml:"what" json:"what"`
	N     int    `yaml:"n" json:"n"`       // examples of each split
	Gone  int    `yaml:"gone" json:"gone"` // images without features,
	From  int    `yaml:"from" json:"from"` // from this one on
	NaN   bool   `yaml:"nan" json:"nan"`
	Boxes bool   `yaml:"boxes" json:"boxes"` // regions instead of grids
	Extra int    `yaml:"extra" json:"extra"` // more examples of test
}

func (*toyData) Kind() string { return "test/data" }
func (*toyData) Version() int { return 1 }

func (d *toyData) each(f func(split, id, image string)) {
	n := 0
	for _, split := range []string{"train", "val", "test"} {
		more := 0
		if split == "test" {
			more = d.Extra
		}
		for i := range d.N + more {
			f(split, fmt.Sprintf("toy/caption/%s/%d", split, i), fmt.Sprintf("%d.jpg", n))
			n++
		}
	}
}

func (d *toyData) Run(ctx context.Context, t *pipeline.Task, _ pipeline.Part) error {
	var err error
	switch d.What {
	case "vocab":
		text, _ := json.Marshal(tokens.Vocab{Kind: "word", Size: toyVocab, Pad: 0, BOS: 1, EOS: 2, Unk: -1, MaxLen: 5})
		return writeFile(t.Out, "vocab.json", text)
	case "tokens":
		err = eachSplit(d, t, tokens.Schema, func(split, id, image string) (rows []tokens.Row) {
			for v := range 5 {
				rows = append(rows, tokens.Row{ID: id, Task: "caption", Split: split, N: int32(v), Image: image, Target: toyCaption(toyThing(image), v)})
			}
			return rows
		})
	case "examples":
		err = eachSplit(d, t, example.Schema, func(split, id, image string) []example.Head {
			refs := []string{toyText(toyCaption(toyThing(image), 0)[1:]), toyText(toyCaption(toyThing(image), 1)[1:])}
			return []example.Head{{ID: id, Corpus: "toy", Task: "caption", Split: split, Key: id, References: refs, Image: &image}}
		})
	case "features":
		err = d.features(t)
	}
	return err
}

func eachSplit[T any](d *toyData, t *pipeline.Task, schema string, rows func(split, id, image string) []T) error {
	lists := map[string][]T{}
	d.each(func(split, id, image string) { lists[split] = append(lists[split], rows(split, id, image)...) })
	for _, s := range []string{"test", "train", "val"} {
		if err := writeRows(t.Out, store.ShardName(s, 0, 1, ".parquet"), schema, lists[s]); err != nil {
			return err
		}
	}
	return nil
}

func (d *toyData) features(t *pipeline.Task) error {
	o := vectors.Options{Height: 2, Width: 2, Dim: toyThings, Metadata: map[string]string{"model": "toy"}}
	if d.Boxes {
		o.Height, o.Width = 0, 0
	}
	out, err := t.Out.Create("features-00000-of-00001.arrow", o.Schema())
	if err != nil {
		return err
	}
	w, err := vectors.NewWriter(out, o)
	if err != nil {
		return err
	}
	n := 0
	d.each(func(_, _, image string) {
		if n++; n > d.From && n <= d.From+d.Gone {
			return
		}
		row := vectors.Row{ID: image, Height: 2, Width: 2, Count: 4, Dim: toyThings, Values: make([]float32, 4*toyThings)}
		for cell := range 4 {
			row.Values[cell*toyThings+toyThing(image)] = 1 + float32(cell)/8
		}
		if d.Boxes {
			row.Height, row.Width, row.Count = 0, 0, 2+n%3
			row.Values = row.Values[:row.Count*toyThings]
			for i := range row.Count {
				x := float32(i) / 4
				row.Boxes = append(row.Boxes, x, x/2, x+0.25, 1)
			}
		}
		if d.NaN && n == 7 {
			row.Values[0] = float32(math.NaN())
		}
		err = errors.Join(err, w.Write(&row))
	})
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	return out.Close(w.Rows())
}

func toyTrain(steps int64) *Train {
	s := NewTrain(toyTools)
	drop := 0.1
	s.Model = Model{Width: 16, Heads: 2, EncoderMap: []int{0, 0}, DecoderMap: []int{0, 0}, EncoderShare: "kv", DecoderShare: "kv", DropSource: &drop}
	s.Batch = Batch{Images: 4, Captions: 3, Window: 1}
	s.Steps = steps
	s.Schedule.Kind, s.Schedule.Rate = "constant", 0.01
	s.Validate = Validate{Every: 7}
	s.CurveStep = 5
	return s
}

// toyGraph is the graph of data, training and two predictions.
func toyGraph(d toyData, train *Train) pipeline.Graph {
	data := func(what string) pipeline.Node {
		x := d
		x.What = what
		return pipeline.Node{Name: what, Stage: &x}
	}
	predict := func(name string, shuffle *uint64) pipeline.Node {
		p := NewPredict(toyTools)
		p.ShuffleImages = shuffle
		return pipeline.Node{Name: name, Stage: p, Inputs: map[string]string{"model": "train", "features": "features", "examples": "examples"}, MaxDead: &pipeline.NoLimit}
	}
	seed := uint64(1)
	return pipeline.Graph{Nodes: []pipeline.Node{
		data("vocab"), data("tokens"), data("examples"), data("features"),
		{Name: "train", Stage: train, Inputs: map[string]string{"tokens": "tokens", "vocab": "vocab", "features": "features", "examples": "examples"}},
		predict("predict", nil), predict("shuffled", &seed),
	}}
}

// A toyStore is a store that graphs run in.
type toyStore struct {
	t *testing.T
	s *store.Store
}

func newToyStore(t *testing.T) *toyStore {
	t.Helper()
	s, err := store.Open(filepath.Join(t.TempDir(), "a store"))
	if err != nil {
		t.Fatal(err)
	}
	return &toyStore{t, s}
}

func (ts *toyStore) run(ctx context.Context, g pipeline.Graph, threads int, stage string) (*pipeline.Result, error) {
	return pipeline.Run(ctx, g, pipeline.Options{Store: ts.s, Threads: threads, Jobs: 2, Stage: stage, Scratch: ts.t.TempDir()})
}

func (ts *toyStore) mustRun(g pipeline.Graph, threads int, stage string) *pipeline.Result {
	ts.t.Helper()
	res, err := ts.run(ts.t.Context(), g, threads, stage)
	if err != nil {
		ts.t.Fatal(err)
	}
	return res
}

// rows reads a table of an output.
func rows[T any](ts *toyStore, m *store.Manifest, name string) []T {
	ts.t.Helper()
	f, err := ts.s.OpenFile(ts.t.Context(), m, name)
	if err != nil {
		ts.t.Fatal(err)
	}
	defer f.Close()
	r, err := shard.Open[T](f, f.Size())
	if err != nil {
		ts.t.Fatal(err)
	}
	var out []T
	for row, err := range r.All() {
		if err != nil {
			ts.t.Fatal(err)
		}
		out = append(out, row)
	}
	return out
}

// export lays an output out as a folder.
func (ts *toyStore) export(m *store.Manifest) Folder {
	ts.t.Helper()
	dir := filepath.Join(ts.t.TempDir(), "out")
	if err := ts.s.Export(ts.t.Context(), m.Key, dir, false); err != nil {
		ts.t.Fatal(err)
	}
	return Folder(dir)
}

func text(t *testing.T, d Folder, name string) string {
	t.Helper()
	f, err := os.Open(filepath.Join(string(d), name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
