package preprocess

import (
	"encoding/json"
	"os"
	"path"
	"testing"

	"espalier/internal/shared"
	"espalier/pipeline"
	"espalier/preprocess/corpus/corpustest"
)

// otherNames are the names under which ingest reads the golden files of readers
// whose name says enough.
var otherNames = map[string]string{
	"coco-captions": "coco/captions", "flickr-token": "flickr8k", "vqa": "vqav2", "vqa-results": "vqav2/results", "gqa": "gqa", "vg-qa": "vgqa",
	"nlvr2": "nlvr2", "scienceqa": "scienceqa", "lcsts": "lcsts", "adgen": "adgen", "kdconv": "kdconv", "gec-source": "nlpcc2018",
	"zhihu-label": "zhihu", "zhihu-columns": "zhihu", "alpaca-seeds": "alpaca/seed",
}

// otherName is ingestName of the vision-language, instruction and Chinese sets.
func otherName(g corpustest.Golden) string {
	switch g.Reader {
	case "m2":
		return "m2/" + g.Corpus
	case "coco-results":
		return g.Corpus + "/results"
	}
	if name := otherNames[g.Reader]; name != "" {
		return name
	}
	switch g.Corpus {
	case "lot":
		return "lot/" + g.Task
	case "paws-x":
		return "paws-x/" + g.Task[len("paws-x-"):]
	case "alpaca":
		return map[string]string{"alpaca": "alpaca", "alpaca-en": "alpaca/en", "alpaca-zh": "alpaca/zh"}[g.Task]
	case "snli-ve", "e-snli-ve", "dolly", "lcsts", "csl", "matinf", "spice", "zh-summ", "book_review", "chnsenticorp", "news-commentary":
		return g.Corpus
	}
	return ""
}

// TestIngestOtherGoldens reads every golden file of the other sets as a user does,
// and compares what espalier cat prints.
func TestIngestOtherGoldens(t *testing.T) {
	var list []corpustest.Golden
	text, err := os.ReadFile(shared.Dir(t, "goldens", "corpora", "ingest", "files.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, g := range list {
		name := otherName(g)
		if name == "" {
			continue
		}
		n++
		raw := &pipeline.Files{Path: shared.Dir(t, "data", g.File)}
		if Above(name, "") > 0 { // as the verb does
			folder, file := path.Split(g.File)
			raw = &pipeline.Files{Path: shared.Dir(t, "data", path.Dir(path.Clean(folder))), Names: []string{path.Base(folder) + "/" + file}}
		}
		graph := pipeline.Graph{Nodes: []pipeline.Node{{Name: "raw", Stage: raw}}}
		inputs := map[string]string{"raw": "raw"}
		for _, other := range g.Also {
			graph.Nodes = append(graph.Nodes, pipeline.Node{Name: "others", Stage: &pipeline.Files{Path: shared.Dir(t, "data", other)}})
			inputs["annotations"] = "others"
		}
		graph.Nodes = append(graph.Nodes, pipeline.Node{Name: "examples", Stage: &Ingest{Corpus: name, Split: g.Split, Part: 700}, Inputs: inputs, MaxDead: &pipeline.NoLimit})
		b := newBench(t)
		res, err := b.run(graph, "examples")
		if err != nil {
			t.Errorf("%s: %v", g.File, err)
			continue
		}
		rows := printed(b, res)
		if len(rows) != g.Kept || res.Manifest.Dead != int64(g.Dropped) {
			t.Errorf("%s: %d rows, %d dead letters, want %d and %d", g.File, len(rows), res.Manifest.Dead, g.Kept, g.Dropped)
		}
		if got := corpustest.Digest(rows, g.Fields); got != g.Digest {
			t.Errorf("%s: digest %s, want %s", g.File, got, g.Digest)
		}
	}
	if n != 65 {
		t.Errorf("%d files, want 65", n)
	}
}

// TestIngestSameBytes reads a join and a list of dialogues with any number of
// workers.
func TestIngestSameBytes(t *testing.T) {
	for _, c := range []struct{ corpus, file, notes string }{
		{"vqav2", "vqa-v2-subset/vqa_questions_test.gzip", "vqa-v2-subset/vqa_annotatons_test.gzip"},
		{"adgen", "zh-adgen/dev.json", ""},
	} {
		digests := map[string]bool{}
		for _, jobs := range []int{1, 2, 7} {
			b := newBench(t)
			graph := pipeline.Graph{Nodes: []pipeline.Node{{Name: "raw", Stage: &pipeline.Files{Path: shared.Dir(t, "data", c.file)}}}}
			inputs := map[string]string{"raw": "raw"}
			if c.notes != "" {
				graph.Nodes = append(graph.Nodes, pipeline.Node{Name: "notes", Stage: &pipeline.Files{Path: shared.Dir(t, "data", c.notes)}})
				inputs["annotations"] = "notes"
			}
			graph.Nodes = append(graph.Nodes, pipeline.Node{Name: "examples", Stage: &Ingest{Corpus: c.corpus, Part: 100}, Inputs: inputs})
			res, err := pipeline.Run(t.Context(), graph, pipeline.Options{Store: b.store, Jobs: jobs})
			if err != nil {
				t.Fatal(err)
			}
			digests[res.Node("examples").Manifest.Digest] = true
		}
		if len(digests) != 1 {
			t.Errorf("%s: %d digests", c.corpus, len(digests))
		}
	}
}
