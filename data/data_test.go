package data_test

import (
	"path/filepath"
	"strings"
	"testing"

	"espalier/data"
	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
	"espalier/preprocess"
	"espalier/preprocess/corpus/coco"
	"espalier/preprocess/example"
	"espalier/tokenize"
	"espalier/tokenize/tokens"
)

func run(t *testing.T, g pipeline.Graph, jobs int) (*store.Store, *pipeline.Result) {
	t.Helper()
	s, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := pipeline.Run(t.Context(), g, pipeline.Options{Store: s, Jobs: jobs})
	if err != nil {
		t.Fatal(err)
	}
	return s, res
}

func rows[R any](t *testing.T, s *store.Store, m *store.Manifest, split string) (out []R) {
	t.Helper()
	for _, e := range m.Shards(split) {
		f, err := s.OpenFile(t.Context(), m, e.Name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := shard.Open[R](f, f.Size())
		if err != nil {
			t.Fatal(err)
		}
		for row, err := range r.All() {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, row)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// graph makes a sample, reads it in both layouts and encodes its captions.
func graph() pipeline.Graph {
	return pipeline.Graph{Nodes: []pipeline.Node{
		{Name: "coco", Stage: &data.Sample{Images: 120}},
		{Name: "examples", Stage: &preprocess.Ingest{Corpus: "coco/karpathy", Marks: []string{"unseen"}, Part: 30}, Inputs: map[string]string{"raw": "coco"}},
		{Name: "official", Stage: &preprocess.Ingest{Corpus: "coco/captions", Part: 25}, Inputs: map[string]string{"raw": "coco"}},
		{Name: "vocab", Stage: &tokenize.Train{Size: 90, Base: 10}, Inputs: map[string]string{"examples": "examples"}},
		{Name: "tokens", Stage: &tokenize.Encode{}, Inputs: map[string]string{"examples": "examples", "vocab": "vocab"}},
	}}
}

func TestSampleIngestEncode(t *testing.T) {
	s, res := run(t, graph(), 2)

	m := res.Node("coco").Manifest
	jpegs := 0
	for _, e := range m.Files {
		if strings.HasSuffix(e.Name, ".jpg") {
			jpegs++
			if !strings.HasPrefix(e.Name, "train2014/COCO_train2014_") && !strings.HasPrefix(e.Name, "val2014/COCO_val2014_") {
				t.Errorf("image named %s", e.Name)
			}
		}
	}
	if jpegs != 120 || len(m.Files) != 125 {
		t.Errorf("%d images, %d files", jpegs, len(m.Files))
	}

	m = res.Node("examples").Manifest
	if m.Rows != 120 || m.RowsSeen != 120 || m.Dead != 0 || len(m.Shards("train")) < 2 {
		t.Errorf("examples: %d rows of %d, %d dead letters, %d shards of train", m.Rows, m.RowsSeen, m.Dead, len(m.Shards("train")))
	}
	captions := map[string][]string{} // by key
	unseen := map[string]int{}
	last := int64(-1)
	for _, split := range []string{"train", "val", "test"} {
		last = -1
		for _, r := range rows[coco.MarkedRow](t, s, m, split) {
			if r.N <= last {
				t.Errorf("%s: row %d after %d", split, r.N, last)
			}
			last = r.N
			captions[r.Key] = r.References
			unseen[split] += len(r.Meta.Marks)
			if len(r.References) != 5 || len(r.Fields.Tokens) != 5 || r.Split != split {
				t.Errorf("row %s: %d references", r.ID, len(r.References))
			}
		}
	}
	if unseen["train"] != 0 || unseen["test"] == 0 || unseen["val"] == 0 {
		t.Errorf("images marked unseen: %v", unseen)
	}

	// The official layout tells the same captions of the same images.
	m = res.Node("official").Manifest
	n := 0
	for _, split := range []string{"train2014", "val2014"} {
		for _, r := range rows[coco.CaptionsRow](t, s, m, split) {
			n++
			if strings.Join(r.References, "|") != strings.Join(captions[r.Key], "|") {
				t.Errorf("image %s: %q, want %q", r.Key, r.References, captions[r.Key])
			}
		}
	}
	if n != 120 {
		t.Errorf("%d images in the official layout", n)
	}

	m = res.Node("vocab").Manifest
	if m.Notes["vocabulary_words"] != "86" || m.Notes["digits"] != "2" {
		t.Errorf("vocabulary: %v", m.Notes)
	}
	marked := 0
	for _, r := range rows[example.Marked](t, s, res.Node("examples").Manifest, "test") {
		marked += len(r.Meta.Marks)
	}
	if marked != unseen["test"] {
		t.Errorf("%d marks, want %d", marked, unseen["test"])
	}
	m = res.Node("tokens").Manifest
	if m.Rows != 600 || m.Notes["captions"] != "600" || !strings.Contains(m.Notes["unknown_words"], "%") || !strings.HasPrefix(m.Notes["lengths"], "{") {
		t.Errorf("tokens: %d rows, %v", m.Rows, m.Notes)
	}
	before, at := "", int32(0)
	for _, r := range rows[tokens.Row](t, s, m, "test") {
		if r.ID != before {
			before, at = r.ID, 0
		}
		if r.N != at || r.Split != "test" || !strings.HasPrefix(r.Image, "COCO_val2014_") || r.Target[0] != 11 || len(r.Target) > 27 {
			t.Fatalf("row %+v", r)
		}
		at++
	}
}

func TestSameBytesForAnyNumberOfWorkers(t *testing.T) {
	_, one := run(t, graph(), 1)
	_, seven := run(t, graph(), 7)
	for i, n := range one.Nodes {
		if n.Manifest.Digest != seven.Nodes[i].Manifest.Digest {
			t.Errorf("%s: another digest with 7 workers", n.Name)
		}
	}
}
