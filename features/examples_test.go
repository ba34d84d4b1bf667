package features

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/preprocess/example"
)

// named is a stage that writes examples: their keys and images.
type named struct {
	Keys   []string `yaml:"keys" json:"keys"`
	Images []string `yaml:"images" json:"images"`
}

func (*named) Kind() string { return "test/named" }
func (*named) Version() int { return 1 }

func (n *named) Run(ctx context.Context, t *pipeline.Task, _ pipeline.Part) error {
	f, err := t.Out.Create("train.parquet", example.Schema)
	if err != nil {
		return err
	}
	w, err := shard.NewWriter[example.Head](f, shard.Options{})
	if err != nil {
		return err
	}
	var rows []example.Head
	for i, k := range n.Keys {
		rows = append(rows, example.Head{ID: "toy/caption/train/" + k, Corpus: "toy", Task: "caption", Split: "train", Key: k, Image: &n.Images[i]})
	}
	if err := w.Write(rows); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return f.Close(w.Rows())
}

// Examples say which images are wanted and what they are called; one that has
// no file is a dead letter of their corpus.
func TestExtractOfExamples(t *testing.T) {
	dir := photos(t, 12)
	images := []string{"in/004.jpg", "in/000.jpg", "in/004.jpg", "elsewhere/missing.jpg"}
	g := pipeline.Graph{Nodes: []pipeline.Node{
		{Name: "images", Stage: &pipeline.Files{Path: dir}},
		{Name: "examples", Stage: &named{Keys: []string{"1", "2", "3", "4"}, Images: images}},
		{Name: "grids", Stage: tiny(), Inputs: map[string]string{"images": "images", "examples": "examples"}, MaxDead: &pipeline.NoLimit},
	}}
	res, err := pipeline.Run(t.Context(), g, pipeline.Options{Store: newStore(t), Jobs: 1, Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	n := res.Node("grids")
	rows := rowsOf(t, n)
	if len(rows) != 2 || rows["in/004.jpg"] == nil || rows["in/000.jpg"] == nil || n.Manifest.Dead != 1 || n.Manifest.RowsSeen != 3 {
		t.Errorf("%d rows, %d dead of %d", len(rows), n.Manifest.Dead, n.Manifest.RowsSeen)
	}
}

// Regions are named after the examples' images, found by key or by the number
// in the file's name, and limited to them.
func TestImportOfExamples(t *testing.T) {
	images := []string{"val2014/COCO_val2014_000000522418.jpg", "train2014/photo.jpg"}
	g := pipeline.Graph{Nodes: []pipeline.Node{
		{Name: "raw", Stage: &pipeline.Files{Path: filepath.Join("bottomup", "testdata", "bottomup", "plain.tsv")}},
		{Name: "examples", Stage: &named{Keys: []string{"another", "9"}, Images: images}},
		{Name: "regions", Stage: &Import{}, Inputs: map[string]string{"raw": "raw", "examples": "examples"}},
	}}
	res, err := pipeline.Run(t.Context(), g, pipeline.Options{Store: newStore(t), Jobs: 1, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	rows := regionsOf(t, res.Node("regions"))
	var got []string
	for id := range rows {
		got = append(got, id)
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{images[1], images[0]}) || rows[images[0]].Count != 3 || rows[images[1]].Count != 1 {
		t.Errorf("rows %v", got)
	}
}
