package preprocess

import (
	"reflect"
	"strings"
	"testing"

	"espalier/pipeline"
	"espalier/pipeline/score"
	"espalier/preprocess/corpus/coco"
	"espalier/preprocess/leak"
	"espalier/preprocess/split"
)

// guarded ingests two files of images, looks for leaks and removes them.
func (b *bench) guarded(g *Guard) map[string]*pipeline.NodeResult {
	b.t.Helper()
	graph := pipeline.Graph{Nodes: []pipeline.Node{
		{Name: "raw", Stage: &pipeline.Files{Path: b.raw, Include: []string{"one.json"}}},
		{Name: "raw2", Stage: &pipeline.Files{Path: b.raw, Include: []string{"two.json"}}},
		{Name: "one", Stage: &Ingest{Corpus: "coco/karpathy", Part: 10}, Inputs: map[string]string{"raw": "raw"}},
		{Name: "two", Stage: &Ingest{Corpus: "coco/karpathy"}, Inputs: map[string]string{"raw": "raw2"}},
		{Name: "guard", Stage: g, Inputs: map[string]string{"one": "one", "two": "two"}},
		{Name: "clean", Stage: &Select{Only: []string{"train"}}, Inputs: map[string]string{"examples": "one", "split": "guard"}},
	}}
	res, err := pipeline.Run(b.t.Context(), graph, pipeline.Options{Store: b.store, Jobs: 2})
	if err != nil {
		b.t.Fatal(err)
	}
	out := map[string]*pipeline.NodeResult{}
	for _, n := range graph.Nodes {
		out[n.Name] = res.Node(n.Name)
	}
	return out
}

func TestGuard(t *testing.T) {
	b := newBench(t)
	b.write("one.json", karpathyDoc(80, func(i int, im string) string {
		if i%4 > 1 { // images of train and restval only
			return ""
		}
		return im
	}))
	// Images 0 and 5, of train, are here in test; image 1000 is in one split only.
	b.write("two.json", `{"images": [`+strings.Join([]string{image(0, "test", "x"), image(1000, "test", "y"), image(5, "test", "z"), image(1001, "val", "y")}, ",")+`], "dataset": "coco"}`)
	out := b.guarded(&Guard{Remove: "train"})
	leaks := rows[leak.Leak](b, out["guard"], "leaks.parquet")
	var got []string
	for _, l := range leaks {
		got = append(got, l.Kind+" "+l.Split+" "+l.ID[len("coco/caption/"):]+" "+l.Against+" "+l.Twin[len("coco/caption/"):])
	}
	var want []string // the fields are the file's name and the like, so they are the same too
	for _, l := range []string{"train train/0 test test/0", "train train/5 test test/5", "test test/0 train train/0", "test test/5 train train/5"} {
		want = append(want, "exact "+l, "image "+l)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("leaks %q, want %q", got, want)
	}
	found := 0
	for _, s := range rows[score.Row](b, out["guard"], "scores.parquet") {
		switch {
		case s.Variant != "normalised" && s.Split == "test" && s.Tags["against"] == "train":
			if found++; s.Value != 2.0/3 || s.N != 3 || s.Tags["rows"] != "2" || s.Corpus != "coco" || s.Task != "caption" {
				t.Errorf("score %+v", s)
			}
		case s.Variant != "normalised" && s.Split == "train" && s.Tags["against"] == "test":
			if found++; s.Value != 0.05 || s.N != 40 {
				t.Errorf("score %+v", s)
			}
		case s.Value != 0:
			t.Errorf("score %+v", s)
		}
	}
	if found != 4 {
		t.Errorf("%d scores", found)
	}
	if n := len(rows[split.Member](b, out["guard"], "split.parquet")); n != 42 {
		t.Errorf("%d ids stay", n)
	}
	// What stays is as it was, column by column.
	was := rows[coco.KarpathyRow](b, out["one"], "train")
	stay := rows[coco.KarpathyRow](b, out["clean"], "train")
	if len(stay) != 38 {
		t.Fatalf("%d rows stay", len(stay))
	}
	k := 0
	for _, r := range was {
		if r.Key == "0" || r.Key == "5" {
			continue
		}
		if !reflect.DeepEqual(stay[k], r) {
			t.Errorf("row %+v, want %+v", stay[k], r)
		}
		k++
	}
}

func TestGuardCheck(t *testing.T) {
	g := Guard{Kinds: []string{"same"}, Fields: []string{""}}
	if err := g.Check(); err == nil || !strings.Contains(err.Error(), "same") || !strings.Contains(err.Error(), "fields") {
		t.Errorf("%v", err)
	}
}
