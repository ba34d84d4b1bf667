package features

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"espalier/features/vectors"
	"espalier/pipeline"
	"espalier/trainer/ckpt"
)

func importFiles(t *testing.T, files *pipeline.Files, m *Import) *pipeline.NodeResult {
	t.Helper()
	g := pipeline.Graph{Nodes: []pipeline.Node{
		{Name: "raw", Stage: files},
		{Name: "regions", Stage: m, Inputs: map[string]string{"raw": "raw"}, MaxDead: &pipeline.NoLimit},
	}}
	res, err := pipeline.Run(t.Context(), g, pipeline.Options{Store: newStore(t), Jobs: 1, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	return res.Node("regions")
}

func regionsOf(t *testing.T, n *pipeline.NodeResult) map[string]*vectors.Row {
	t.Helper()
	rows := map[string]*vectors.Row{}
	for _, e := range n.Manifest.Files {
		if e.Schema != vectors.RegionSchema {
			continue
		}
		b, err := os.ReadFile(filepath.Join(n.Dir, e.Name))
		if err != nil {
			t.Fatal(err)
		}
		f, err := vectors.Open(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		for i := range f.Len() {
			var r vectors.Row
			if err := f.Read(i, &r); err != nil {
				t.Fatal(err)
			}
			rows[r.ID] = &r
		}
	}
	return rows
}

// The regions of image 522418 are the same from a TSV and from arrays.
func TestImport(t *testing.T) {
	want, err := ckpt.OpenWeights("bottomup/testdata/expected.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	features, err := ckpt.AsFloats(want, "bottomup.522418.features")
	if err != nil {
		t.Fatal(err)
	}
	boxes, err := ckpt.AsFloats(want, "bottomup.522418.boxes_relative_f64")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		files *pipeline.Files
		stage *Import
		rows  int
		dead  int64
	}{
		"tsv":     {&pipeline.Files{Path: "bottomup/testdata/bottomup/plain.tsv"}, &Import{}, 3, 0},
		"damaged": {&pipeline.Files{Path: "bottomup/testdata/bottomup/damaged_then_good.tsv"}, &Import{}, 3, 5},
		"npy":     {&pipeline.Files{Path: "bottomup/testdata/perimage", Exclude: []string{"odd/*", "refuse/*"}}, &Import{Format: Arrays}, 1, 0},
		"npz":     {&pipeline.Files{Path: "bottomup/testdata/perimage", Exclude: []string{"odd/*", "refuse/*"}}, &Import{Format: Arrays, Features: "att_npz"}, 1, 0},
	} {
		n := importFiles(t, c.files, c.stage)
		rows := regionsOf(t, n)
		if len(rows) != c.rows || n.Manifest.Dead != c.dead {
			t.Errorf("%s: %d rows and %d dead, want %d and %d", name, len(rows), n.Manifest.Dead, c.rows, c.dead)
			continue
		}
		r := rows["522418"]
		if r == nil || r.Count != 3 || r.Dim != 16 || !slices.Equal(r.Values, features) || !slices.Equal(r.Boxes, boxes) {
			t.Errorf("%s: image 522418 has other regions", name)
		}
	}
}

// Boxes in pixels are a dead letter: an array does not say how large its image
// is. Here that is every row, so the output is rejected.
func TestImportPixelBoxes(t *testing.T) {
	g := pipeline.Graph{Nodes: []pipeline.Node{
		{Name: "raw", Stage: &pipeline.Files{Path: "bottomup/testdata/perimage", Exclude: []string{"odd/*", "refuse/*"}}},
		{Name: "regions", Stage: &Import{Format: Arrays, Boxes: "box"}, Inputs: map[string]string{"raw": "raw"}, MaxDead: &pipeline.NoLimit},
	}}
	res, err := pipeline.Run(t.Context(), g, pipeline.Options{Store: newStore(t), Jobs: 1, Threads: 1})
	if err == nil || !strings.Contains(err.Error(), "dead letters") {
		t.Fatalf("error %v, want all rows dead", err)
	}
	if n := res.Node("regions"); n.State != pipeline.Rejected || n.Manifest.Dead != 1 {
		t.Errorf("state %s", n.State)
	}
}

func TestImportRefusesHDF5(t *testing.T) {
	g := pipeline.Graph{Nodes: []pipeline.Node{
		{Name: "raw", Stage: &pipeline.Files{Path: "bottomup/testdata/COCO_val2014_000000522418.h5"}},
		{Name: "regions", Stage: &Import{}, Inputs: map[string]string{"raw": "raw"}},
	}}
	res, err := pipeline.Run(t.Context(), g, pipeline.Options{Store: newStore(t), Jobs: 1, Threads: 1})
	if err == nil && res != nil && res.Node("regions").Err != nil {
		err = res.Node("regions").Err
	}
	if err == nil || !strings.Contains(err.Error(), "HDF5 is not read") {
		t.Errorf("error %v", err)
	}
}

func TestTrailingNumber(t *testing.T) {
	for s, want := range map[string]string{"COCO_val2014_000000522418": "522418", "000": "0", "photo": "", "a1b": ""} {
		if got := trailingNumber(s); got != want {
			t.Errorf("trailingNumber(%s) = %q, want %q", s, got, want)
		}
	}
}
