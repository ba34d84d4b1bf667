package preprocess

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"espalier/internal/shared"
	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
	"espalier/preprocess/corpus/coco"
)

// A bench is a store and a folder of raw files.
type bench struct {
	t     *testing.T
	store *store.Store
	raw   string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir := t.TempDir()
	s, err := store.Open(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	raw := filepath.Join(dir, "raw")
	if err := os.Mkdir(raw, 0o777); err != nil {
		t.Fatal(err)
	}
	return &bench{t, s, raw}
}

func (b *bench) write(name, text string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.raw, name), []byte(text), 0o666); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) ingest(g *Ingest) (*pipeline.NodeResult, error) {
	b.t.Helper()
	return b.run(pipeline.Graph{Nodes: []pipeline.Node{
		{Name: "raw", Stage: &pipeline.Files{Path: b.raw}},
		{Name: "examples", Stage: g, Inputs: map[string]string{"raw": "raw"}, MaxDead: &pipeline.NoLimit},
	}}, "examples")
}

func (b *bench) run(g pipeline.Graph, node string) (*pipeline.NodeResult, error) {
	b.t.Helper()
	res, err := pipeline.Run(b.t.Context(), g, pipeline.Options{Store: b.store, Jobs: 2})
	if err != nil {
		return nil, err
	}
	return res.Node(node), nil
}

func rows[R any](b *bench, n *pipeline.NodeResult, name string) (out []R) {
	b.t.Helper()
	entries := n.Manifest.Shards(name)
	if e, ok := n.Manifest.File(name); ok {
		entries = []store.FileEntry{e}
	}
	for _, e := range entries {
		f, err := b.store.OpenFile(b.t.Context(), n.Manifest, e.Name)
		if err != nil {
			b.t.Fatal(err)
		}
		r, err := shard.Open[R](f, f.Size())
		if err != nil {
			b.t.Fatal(err)
		}
		for row, err := range r.All() {
			if err != nil {
				b.t.Fatal(err)
			}
			out = append(out, row)
		}
		if err := f.Close(); err != nil {
			b.t.Fatal(err)
		}
	}
	return out
}

func image(id int, split, raw string) string {
	return fmt.Sprintf(`{"filepath":"val2014","sentids":[%d],"filename":"x%d.jpg","imgid":%d,"split":%q,"sentences":[{"tokens":["a"],"raw":%q,"imgid":0,"sentid":1}],"cocoid":%d}`, id, id, id, split, raw, id)
}

func karpathyDoc(n int, edit func(i int, image string) string) string {
	var list []string
	for i := range n {
		im := image(i, []string{"train", "restval", "val", "test"}[i%4], fmt.Sprintf("Caption %05d.", i))
		if edit != nil {
			im = edit(i, im)
		}
		if im != "" {
			list = append(list, im)
		}
	}
	return `{"images": [` + strings.Join(list, ", ") + `], "dataset": "coco"}`
}

func TestIngestCountsPartsRedone(t *testing.T) {
	b := newBench(t)
	b.write("dataset_coco.json", karpathyDoc(600, nil))
	first, err := b.ingest(&Ingest{Corpus: "coco/karpathy", Part: 60})
	if err != nil {
		t.Fatal(err)
	}
	if first.Manifest.Rows != 600 || first.Parts < 5 || first.PartsRun != first.Parts {
		t.Fatalf("%d rows, %d of %d parts run", first.Manifest.Rows, first.PartsRun, first.Parts)
	}
	var n []int64
	for _, split := range []string{"train", "val", "test"} {
		for _, r := range rows[coco.KarpathyRow](b, first, split) {
			n = append(n, r.N)
		}
	}
	slices.Sort(n)
	for i := range n {
		if n[i] != int64(i) {
			t.Fatalf("row %d is missing", i)
		}
	}
	for _, c := range []struct {
		what string
		doc  string
		want int
	}{
		{"one caption corrected in place", karpathyDoc(600, func(i int, im string) string { return strings.Replace(im, "Caption 00300.", "Kaption 00300.", 1) }), 1},
		{"one image added at the end", strings.Replace(karpathyDoc(600, nil), `], "dataset"`, ", "+image(9999, "val", "New.")+`], "dataset"`, 1), 1},
		{"nothing", karpathyDoc(600, nil), 0},
	} {
		b.write("dataset_coco.json", c.doc)
		n, err := b.ingest(&Ingest{Corpus: "coco/karpathy", Part: 60})
		if err != nil {
			t.Fatal(err)
		}
		if n.PartsRun != c.want {
			t.Errorf("%s: %d parts run, want %d", c.what, n.PartsRun, c.want)
		}
	}
}

func TestIngestKeepsMarksOnRequest(t *testing.T) {
	b := newBench(t)
	b.write("any-name.json", karpathyDoc(8, func(i int, im string) string {
		return strings.Replace(im, `"imgid"`, `"unseen":true,"imgid"`, 1)
	}))
	n, err := b.ingest(&Ingest{Corpus: "coco/karpathy", Marks: []string{"unseen"}})
	if err != nil {
		t.Fatal(err)
	}
	got := rows[coco.MarkedRow](b, n, "val")
	if len(got) != 2 || !reflect.DeepEqual(got[0].Meta.Marks, []string{"unseen"}) {
		t.Errorf("rows %+v", got)
	}
	if n, err = b.ingest(&Ingest{Corpus: "coco/karpathy", Split: "validation"}); err != nil {
		t.Fatal(err)
	}
	if n.Manifest.Rows != 2 || len(rows[coco.KarpathyRow](b, n, "val")) != 2 {
		t.Errorf("%d rows of one split", n.Manifest.Rows)
	}
	e := n.Manifest.Shards("val")[0]
	f, err := b.store.OpenFile(t.Context(), n.Manifest, e.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := shard.Open[coco.MarkedRow](f, f.Size()); err == nil {
		t.Error("a column of marks that nobody asked for")
	}
}

func TestIngestDeadLetters(t *testing.T) {
	b := newBench(t)
	bad := `{"cocoid": NaN}`
	doc := karpathyDoc(200, func(i int, im string) string {
		switch i {
		case 40:
			return bad
		case 150:
			return image(20, "val", "Again.") // the key of an image in another part
		}
		return im
	})
	b.write("dataset_coco.json", doc)
	n, err := b.ingest(&Ingest{Corpus: "coco/karpathy", Part: 20})
	if err != nil {
		t.Fatal(err)
	}
	dead := rows[pipeline.DeadLetter](b, n, store.DeadLetters)
	if len(dead) != 2 || n.Manifest.Dead != 2 || n.Manifest.Rows != 198 || n.Manifest.RowsSeen != 200 {
		t.Fatalf("%d dead letters, %d rows of %d", len(dead), n.Manifest.Rows, n.Manifest.RowsSeen)
	}
	d := dead[0]
	if d.Corpus != "coco" || d.Task != "caption" || d.File != "dataset_coco.json" || d.Where != "images[40]" || d.Field != "cocoid" || string(d.Raw) != bad || *d.N != 40 || *d.Offset != int64(strings.Index(doc, bad)) {
		t.Errorf("first dead letter: %+v", d)
	}
	if d = dead[1]; d.Where != "images[150]" || d.Reason != "duplicate key" {
		t.Errorf("second dead letter: %+v", d)
	}
}

func TestIngestRefusesAllFilesAtOnce(t *testing.T) {
	b := newBench(t)
	b.write("captions_train2014.json", `{"images": [{"id": 1}], "annotations": [{"id"`)
	b.write("captions_val2014.json", `{"images": []}`)
	b.write("captions_val2014_results.json", `[]`) // not one of the corpus's files
	_, err := b.ingest(&Ingest{Corpus: "coco/captions"})
	if code := pipeline.ExitCode(err); code != pipeline.ExitBadInput {
		t.Fatalf("exit code %d: %v", code, err)
	}
	for _, want := range []string{"captions_train2014.json:1", "captions_val2014.json:1: annotations: missing field"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not tell %s", err, want)
		}
	}
}

func TestIngestGzip(t *testing.T) {
	b := newBench(t)
	doc := karpathyDoc(300, nil)
	b.write("dataset_coco.json", doc)
	plain, err := b.ingest(&Ingest{Corpus: "coco/karpathy", Part: 50})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(b.raw, "dataset_coco.json")); err != nil {
		t.Fatal(err)
	}
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write([]byte(doc)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b.write("dataset_coco.json.gz", z.String())
	zipped, err := b.ingest(&Ingest{Corpus: "coco/karpathy", Part: 50})
	if err != nil {
		t.Fatal(err)
	}
	if zipped.Parts != 1 || plain.Parts < 2 {
		t.Errorf("%d parts of a gzip stream, %d of the plain file", zipped.Parts, plain.Parts)
	}
	for _, split := range []string{"train", "val", "test"} {
		if got, want := rows[coco.KarpathyRow](b, zipped, split), rows[coco.KarpathyRow](b, plain, split); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: rows differ", split)
		}
	}
	b.write("dataset_coco.json.gz", z.String()[:z.Len()-20])
	var r *pipeline.RefusedError
	if _, err := b.ingest(&Ingest{Corpus: "coco/karpathy"}); !errors.As(err, &r) || r.File != "dataset_coco.json.gz" || r.Reason != "gzip ends early" {
		t.Errorf("a cut stream: %v", err)
	}
}

func TestIngestOfNothing(t *testing.T) {
	b := newBench(t)
	b.write("dataset_coco.json", `{"images": [], "dataset": "coco"}`)
	n, err := b.ingest(&Ingest{Corpus: "coco/karpathy"})
	if err != nil || n.Manifest.Rows != 0 {
		t.Errorf("%v, %v", n, err)
	}
	b.write("dataset_coco.json", karpathyDoc(3, func(int, string) string { return "5" }))
	if _, err = b.ingest(&Ingest{Corpus: "coco/karpathy"}); pipeline.ExitCode(err) != pipeline.ExitBadInput {
		t.Errorf("a file of which all rows are dead: %v", err)
	}
}

func TestIngestCheck(t *testing.T) {
	for _, c := range []struct {
		g    Ingest
		want string
	}{
		{Ingest{}, "corpus: required"},
		{Ingest{Corpus: "coco"}, "want one of coco/karpathy, coco/captions, flickr8k, flickr30k"},
		{Ingest{Corpus: "flickr8k", Marks: []string{"x"}}, "marks: flickr8k has none"},
		{Ingest{Corpus: "coco/karpathy", Marks: []string{"x", "x"}}, "there twice"},
		{Ingest{Corpus: "coco/captions", Split: "a/b", Part: -1}, "part: -1"},
	} {
		if err := c.g.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.g, err, c.want)
		}
	}
}

func TestIngestRealFiles(t *testing.T) {
	for _, c := range []struct {
		corpus, folder string
		rows           int64
		splits         []string
	}{
		{"coco/karpathy", "cap-karpathy-mini", 5, []string{"test", "train", "val"}},
		{"coco/captions", "cap-coco-val4800", 4800, []string{"val2014"}},
		{"flickr8k", "cap-flickr8k", 2000, []string{"all"}},
	} {
		b := newBench(t)
		n, err := b.run(pipeline.Graph{Nodes: []pipeline.Node{
			{Name: "raw", Stage: &pipeline.Files{Path: shared.Dir(t, "data", c.folder), Include: []string{"dataset_coco_testing.json", "captions_*.json", "*.token.*"}}},
			{Name: "examples", Stage: &Ingest{Corpus: c.corpus}, Inputs: map[string]string{"raw": "raw"}},
		}}, "examples")
		if err != nil {
			t.Fatal(err)
		}
		if n.Manifest.Rows != c.rows || n.Manifest.Dead != 0 || !slices.Equal(n.Manifest.Splits(), c.splits) {
			t.Errorf("%s: %d rows, %d dead letters, splits %v", c.corpus, n.Manifest.Rows, n.Manifest.Dead, n.Manifest.Splits())
		}
	}
}
