package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"espalier/data"
	"espalier/jobs"
	"espalier/pipeline"
	"espalier/pipeline/store"
	"espalier/preprocess"
)

// corpusGraph draws every miniature, ingests every corpus from it, and runs the
// other stages of preprocess on some of them.
func corpusGraph() pipeline.Graph {
	g := pipeline.Graph{}
	made := map[string]bool{}
	add := func(name string, s pipeline.Stage, inputs ...string) {
		n := pipeline.Node{Name: name, Stage: s, MaxDead: &pipeline.NoLimit, Inputs: map[string]string{}}
		for i := 0; i < len(inputs); i += 2 {
			n.Inputs[inputs[i]] = inputs[i+1]
		}
		g.Nodes = append(g.Nodes, n)
	}
	for _, corpus := range preprocess.Corpora() {
		from := data.SampleOf(corpus)
		if !made[from] {
			made[from] = true
			add("sample/"+from, &data.Sample{Corpus: from, Images: 20})
		}
		add("ingest/"+corpus, &preprocess.Ingest{Corpus: corpus, Part: 10}, "raw", "sample/"+from)
	}
	add("split/draw", &preprocess.Split{K: 3, PerClass: true, Seed: 3}, "examples", "ingest/glue/rte")
	add("split/halves", &preprocess.Split{Rule: preprocess.Halves, From: "validation"}, "examples", "ingest/glue/rte")
	add("split/hold-out", &preprocess.Split{Rule: preprocess.HoldOut, K: 4, Seed: 1 << 63}, "examples", "ingest/glue/rte")
	add("split/shares", &preprocess.Split{Shares: []string{"train=8", "validation=1", "test=1"}}, "examples", "ingest/glue/rte")
	add("select", &preprocess.Select{}, "examples", "ingest/glue/rte", "split", "split/draw")
	add("guard", &preprocess.Guard{Remove: "train"}, "examples", "ingest/glue/rte")
	for _, corpus := range []string{"glue/mnli", "superglue/record", "adgen", "scienceqa", "alpaca"} {
		style := map[string]string{"adgen": "skillnet", "scienceqa": "scienceqa", "alpaca": "alpaca"}[corpus]
		if style == "" {
			style = "t5"
		}
		add("render/"+corpus, &preprocess.Render{Template: style}, "examples", "ingest/"+corpus)
	}
	answers := jobs.Kinds()["preprocess/answers"]().(*preprocess.Answers)
	answers.Min = 1
	add("answers", answers, "examples", "ingest/vqav2")
	return g
}

// TestCorpusVersions is TestVersions for the stages of data and preprocess.
func TestCorpusVersions(t *testing.T) {
	if testing.Short() {
		t.Skip("ingests every corpus")
	}
	s, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	g := corpusGraph()
	res, err := pipeline.Run(t.Context(), g, pipeline.Options{Store: s, Jobs: 2})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]goldenStage{}
	for _, n := range g.Nodes {
		m := res.Node(n.Name).Manifest
		got[n.Name] = goldenStage{Kind: m.Kind, Version: m.Version, Digest: m.Digest}
		if m.Rows == 0 && !strings.HasPrefix(n.Name, "sample/") {
			t.Errorf("%s has no rows", n.Name)
		}
	}
	golden := filepath.Join("testdata", "corpusdigests.json")
	if *update {
		b, err := json.MarshalIndent(got, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, append(b, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]goldenStage{}
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	for _, n := range g.Nodes {
		a, w := got[n.Name], want[n.Name]
		same := !slices.ContainsFunc(slices.Collect(maps.Values(n.Inputs)), func(in string) bool { return got[in].Digest != want[in].Digest })
		switch {
		case w.Kind == "":
			t.Errorf("%s is not in %s; run with -update", n.Name, golden)
		case a.Kind != w.Kind || a.Version != w.Version:
			t.Errorf("%s: %s version %d, golden has %s version %d; run with -update", n.Name, a.Kind, a.Version, w.Kind, w.Version)
		case a.Digest != w.Digest && same:
			t.Errorf("%s: kind %s version %d gives digest %.8s, not %.8s: raise its Version and run with -update", n.Name, a.Kind, a.Version, a.Digest, w.Digest)
		}
	}
}
