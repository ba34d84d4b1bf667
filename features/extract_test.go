package features

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"espalier/features/vectors"
	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
	"espalier/trainer/ckpt"
	"espalier/trainer/cpu"
	"espalier/trainer/model/clip"
)

// TestFileToGrid is the whole chain, from an image file to a grid, against the
// goldens.
func TestFileToGrid(t *testing.T) {
	dev := cpu.New(2)
	defer dev.Close()
	w, err := ckpt.OpenWeights("testdata/rn_b.weights.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	want, err := ckpt.OpenWeights("testdata/rn_b.grid.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	file, err := os.ReadFile("raster/testdata/img/png_rgb_13x11.png")
	if err != nil {
		t.Fatal(err)
	}
	for _, transform := range []string{"clip", "stretch"} {
		x, err := NewExtractor(dev, Spec{Transform: "", DType: Float32, Heads: 2, Weights: "w"}, w)
		if err != nil {
			t.Fatal(err)
		}
		x.spec.Transform = map[string]Spec{"clip": x.spec, "stretch": {Transform: "stretch"}}[transform].Transform
		row, err := x.Image(file)
		if err != nil {
			t.Fatal(err)
		}
		wants, err := ckpt.AsFloats(want, "grid."+transform)
		if err != nil {
			t.Fatal(err)
		}
		if row.Height != 7 || row.Width != 7 || row.Dim != 128 || len(row.Values) != len(wants) {
			t.Fatalf("grid of %dx%dx%d", row.Height, row.Width, row.Dim)
		}
		largest := 0.0
		for _, v := range wants {
			largest = max(largest, math.Abs(float64(v)))
		}
		for i, v := range wants {
			if d := math.Abs(float64(row.Values[i] - v)); !(d <= 1e-5*largest) {
				t.Fatalf("%s: value %d is %g, want %g", transform, i, row.Values[i], v)
			}
		}
		x.Close()
	}
}

func TestSpecTravels(t *testing.T) {
	s := Spec{Transform: "stretch", Network: clip.RandomConfig{Layers: [4]int{1, 1, 1, 1}, Width: 4, Seed: 9}}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	meta, err := s.Metadata()
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseSpec(meta)
	if err != nil || got != s {
		t.Errorf("ParseSpec = %+v, %v, want %+v", got, err, s)
	}
	if _, err := ParseSpec(nil); !errors.Is(err, ErrNoSpec) {
		t.Errorf("no metadata: %v", err)
	}
	dev := cpu.New(1)
	defer dev.Close()
	file, err := os.ReadFile("raster/testdata/img/jpg_420_31x33.jpg")
	if err != nil {
		t.Fatal(err)
	}
	x, err := OpenExtractor(dev, meta, "")
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	a, err := x.Image(file)
	if err != nil {
		t.Fatal(err)
	}
	y, err := NewExtractor(dev, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	b, err := y.Image(file)
	if err != nil || !slices.Equal(a.Values, b.Values) {
		t.Errorf("features differ, %v", err)
	}
	if _, err := OpenExtractor(dev, meta, "testdata/rn_b.weights.safetensors"); err == nil || !strings.Contains(err.Error(), "without weights") {
		t.Errorf("weights for a random network: %v", err)
	}
	s.Weights = "0123"
	if meta, err = s.Metadata(); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenExtractor(dev, meta, ""); err == nil || !strings.Contains(err.Error(), "must be given") {
		t.Errorf("weights missing: %v", err)
	}
	if _, err := OpenExtractor(dev, meta, "testdata/rn_b.weights.safetensors"); err == nil || !strings.Contains(err.Error(), "digest") {
		t.Errorf("other weights: %v", err)
	}
}

func TestSpecFaults(t *testing.T) {
	s := Spec{Tap: "x", Transform: "none", Size: -1, DType: "int", Heads: -1, Network: clip.RandomConfig{Width: 5}}
	err := s.Check()
	for _, want := range []string{"tap: ", "transform: ", "size: ", "dtype: ", "heads: ", "network: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no fault of %s in %v", want, err)
		}
	}
}

// good are images that decode, damaged ones that do not, with part of the
// reason.
var (
	good    = []string{"jpg_420_31x33.jpg", "png_p8_trns.png", "jpg_prog_420.jpg", "gif_p.gif", "jpg_cmyk_adobe.jpg", "webp_lossy.webp"}
	damaged = map[string]string{"jpg_cut_two_thirds.jpg": "JPEG: truncated", "jpg_html.jpg": "not an image", "png_bomb_header.png": "PNG: declared size"}
)

// photos fills a folder with n good images under names of their own.
func photos(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		link(t, good[i%len(good)], filepath.Join(dir, fmt.Sprintf("in/%03d%s", i, filepath.Ext(good[i%len(good)]))))
	}
	return dir
}

func link(t *testing.T, name, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join("raster/testdata/img", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func newStore(t *testing.T) *store.Store {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	s, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func tiny() *Extract {
	return &Extract{
		Spec:       Spec{Size: 32, Transform: "stretch", DType: Float32, Network: clip.RandomConfig{Layers: [4]int{1, 1, 1, 1}, Width: 2, Seed: 5}},
		PartImages: 5,
	}
}

// extract runs the stage over a folder.
func extract(t *testing.T, s *store.Store, files *pipeline.Files, e *Extract, threads int) *pipeline.NodeResult {
	t.Helper()
	g := pipeline.Graph{Nodes: []pipeline.Node{
		{Name: "images", Stage: files},
		{Name: "grids", Stage: e, Inputs: map[string]string{"images": "images"}, MaxDead: &pipeline.NoLimit},
	}}
	res, err := pipeline.Run(t.Context(), g, pipeline.Options{Store: s, Threads: threads, Jobs: 1})
	if err != nil {
		t.Fatal(err)
	}
	return res.Node("grids")
}

// rowsOf reads all rows of an output.
func rowsOf(t *testing.T, n *pipeline.NodeResult) map[string]*vectors.Row {
	t.Helper()
	rows := map[string]*vectors.Row{}
	for _, e := range n.Manifest.Files {
		if e.Schema != vectors.GridSchema {
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

func TestExtract(t *testing.T) {
	dir := photos(t, 40)
	n := extract(t, newStore(t), &pipeline.Files{Path: dir}, tiny(), 1)
	rows := rowsOf(t, n)
	if len(rows) != 40 || n.Manifest.Rows != 40 || n.Manifest.Dead != 0 || n.Parts < 3 {
		t.Fatalf("%d rows, manifest %d and %d dead, %d parts", len(rows), n.Manifest.Rows, n.Manifest.Dead, n.Parts)
	}
	if note := n.Manifest.Notes["network"]; !strings.HasPrefix(note, "random ModifiedResNet, layers [1 1 1 1], width 2, seed 5") {
		t.Errorf("note of the network: %q", note)
	}
	// Each row is what the image gives alone, whatever batch it was in.
	dev := cpu.New(2)
	defer dev.Close()
	spec, err := ParseSpec(map[string]string{MetadataKey: n.Manifest.Notes["features"]})
	if err != nil {
		t.Fatal(err)
	}
	x, err := NewExtractor(dev, spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for i := range 40 {
		id := fmt.Sprintf("in/%03d%s", i, filepath.Ext(good[i%len(good)]))
		file, err := os.ReadFile(filepath.Join(dir, id))
		if err != nil {
			t.Fatal(err)
		}
		want, err := x.Image(file)
		if err != nil {
			t.Fatal(err)
		}
		if r := rows[id]; r == nil || !slices.Equal(r.Values, want.Values) || r.Height != 1 || r.Dim != 64 {
			t.Errorf("%s: other features", id)
		}
	}
	// Threads, and the folder's place, change nothing.
	for _, threads := range []int{2, 7} {
		if m := extract(t, newStore(t), &pipeline.Files{Path: photos(t, 40)}, tiny(), threads); m.Key != n.Key || m.Manifest.Digest != n.Manifest.Digest {
			t.Errorf("%d threads: digest %.8s, want %.8s", threads, m.Manifest.Digest, n.Manifest.Digest)
		}
	}
}

func TestOneImageRedoesOnePart(t *testing.T) {
	dir, s := photos(t, 60), newStore(t)
	first := extract(t, s, &pipeline.Files{Path: dir}, tiny(), 2)
	if first.PartsRun != first.Parts || first.Parts < 4 {
		t.Fatalf("%d of %d parts made", first.PartsRun, first.Parts)
	}
	link(t, good[0], filepath.Join(dir, "in/0305.jpg"))
	if n := extract(t, s, &pipeline.Files{Path: dir}, tiny(), 2); n.PartsRun < 1 || n.PartsRun > 2 || n.PartsRun > n.Parts-first.Parts+1 || n.Manifest.Rows != 61 {
		t.Errorf("one image added: %d of %d parts made, %d rows", n.PartsRun, n.Parts, n.Manifest.Rows)
	}
	link(t, good[2], filepath.Join(dir, "in/006.jpg")) // was good[0]
	if n := extract(t, s, &pipeline.Files{Path: dir}, tiny(), 2); n.PartsRun != 1 {
		t.Errorf("one image changed: %d parts made", n.PartsRun)
	}
	if err := os.Chtimes(filepath.Join(dir, "in/006.jpg"), time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if n := extract(t, s, &pipeline.Files{Path: dir}, tiny(), 2); n.State != pipeline.Cached {
		t.Errorf("touched: state %s", n.State)
	}
	if err := os.Remove(filepath.Join(dir, "in/006.jpg")); err != nil {
		t.Fatal(err)
	}
	if n := extract(t, s, &pipeline.Files{Path: dir}, tiny(), 2); n.PartsRun != 1 || n.Manifest.Rows != 60 {
		t.Errorf("one image removed: %d parts made, %d rows", n.PartsRun, n.Manifest.Rows)
	}
}

// Another job on the same store that wants part of the images, from a folder
// of its own, makes only the parts at the edge of what it wants.
func TestJobsShareParts(t *testing.T) {
	s := newStore(t)
	all := extract(t, s, &pipeline.Files{Path: photos(t, 80)}, tiny(), 2)
	some := photos(t, 80)
	for i := range 20 {
		if err := os.Remove(filepath.Join(some, fmt.Sprintf("in/%03d%s", i, filepath.Ext(good[i%len(good)])))); err != nil {
			t.Fatal(err)
		}
	}
	n := extract(t, s, &pipeline.Files{Path: some}, tiny(), 2)
	if n.Manifest.Rows != 60 || n.Parts < 5 || n.PartsRun > 1 {
		t.Errorf("%d rows; %d of %d parts made, %d of the first job's %d", n.Manifest.Rows, n.PartsRun, n.Parts, all.PartsRun, all.Parts)
	}
}

func TestDamagedImages(t *testing.T) {
	dir := photos(t, 20)
	for name := range damaged {
		link(t, name, filepath.Join(dir, "in", "0"+name))
	}
	n := extract(t, newStore(t), &pipeline.Files{Path: dir}, tiny(), 2)
	if len(rowsOf(t, n)) != 20 || n.Manifest.Dead != int64(len(damaged)) || n.Manifest.RowsSeen != 20+int64(len(damaged)) {
		t.Fatalf("%d rows, %d dead of %d", n.Manifest.Rows, n.Manifest.Dead, n.Manifest.RowsSeen)
	}
	b, err := os.ReadFile(filepath.Join(n.Dir, "deadletter.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := shard.Open[pipeline.DeadLetter](bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for d, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		want, ok := damaged[strings.TrimPrefix(d.File, "in/0")]
		if !ok || !strings.HasPrefix(d.Reason, want) || d.Field != "image" {
			t.Errorf("dead letter %s: %s, want %q", d.File, d.Reason, want)
		}
		seen++
	}
	if seen != len(damaged) {
		t.Errorf("%d dead letters, want %d", seen, len(damaged))
	}
}

// A list names images as the user wrote them; what it names twice is taken
// once, what does not exist is a dead letter.
func TestExtractList(t *testing.T) {
	dir := photos(t, 6)
	lines := []string{filepath.Join(dir, "in/004.jpg"), filepath.Join(dir, "in/000.jpg"), filepath.Join(dir, "in/missing.jpg"), filepath.Join(dir, "in/004.jpg")}
	files, err := FromList(lines)
	if err != nil {
		t.Fatal(err)
	}
	e := tiny()
	e.List = lines
	n := extract(t, newStore(t), files, e, 2)
	rows := rowsOf(t, n)
	if len(rows) != 2 || rows[lines[0]] == nil || rows[lines[1]] == nil || n.Manifest.Dead != 1 {
		t.Errorf("rows %v, %d dead", slices.Sorted(maps.Keys(rows)), n.Manifest.Dead)
	}
	if _, err := FromList([]string{filepath.Join(dir, "nothing.jpg")}); err == nil {
		t.Error("no error for a list of which no file exists")
	}
}

func TestFinder(t *testing.T) {
	f := newFinder([]store.FileEntry{{Name: "a/x.jpg"}, {Name: "b/x.jpg"}, {Name: "b/y.jpg"}, {Name: "z.jpg"}, {Name: "c/d/y2.jpg"}})
	for id, want := range map[string]string{
		"a/x.jpg": "a/x.jpg", "./b/x.jpg": "b/x.jpg", "d/y2.jpg": "c/d/y2.jpg", "root/b/y.jpg": "b/y.jpg",
		"/abs/z.jpg": "z.jpg", "y.jpg": "b/y.jpg", "y": "b/y.jpg", "z": "z.jpg", "c/y2": "c/d/y2.jpg", "x": "2 files fit", "x.jpg": "2 files fit", "other/x.jpg": "2 files fit", "w.jpg": "no such image",
	} {
		name, reason := f.find(id)
		if name != want && !strings.HasPrefix(reason, want) {
			t.Errorf("find(%s) = %q, %q, want %q", id, name, reason, want)
		}
	}
}

func TestWeightsDigest(t *testing.T) {
	file, err := WeightsDigest("testdata/rn_b.weights.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	folder, err := WeightsDigest("testdata")
	if err != nil {
		t.Fatal(err)
	}
	if file == folder || len(file) != 64 || len(folder) != 64 {
		t.Errorf("digests %s and %s", file, folder)
	}
	if one := joinDigests(map[string]string{"w": file}); one != file {
		t.Errorf("digest of one file %s, want its own", one)
	}
}
