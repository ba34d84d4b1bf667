package preprocess

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"espalier/internal/shared"
	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/preprocess/corpus/corpustest"
)

// ingestName is the name under which ingest reads a golden file of an English
// set, "" for others.
func ingestName(g corpustest.Golden) string {
	switch {
	case g.Corpus == "superglue" && g.Reader == "json-lines":
		return "superglue/boolq-numbered"
	case g.Corpus == "glue", g.Corpus == "superglue":
		return g.Corpus + "/" + g.Task
	case g.Reader == "label-space-text" && g.Corpus == "trec":
		return "trec/numbered"
	case g.Task == "sst-fine":
		return "sst/fine"
	case g.Corpus == "paws":
		return "paws/numbered"
	case g.Corpus == "boolq", g.Corpus == "imdb", g.Corpus == "trec", g.Corpus == "sst", g.Corpus == "quora", g.Corpus == "snli", g.Corpus == "common_gen":
		return g.Corpus
	}
	return ""
}

// TestIngestGoldens reads every golden file of the English sets as a user does,
// and compares what espalier cat prints.
func TestIngestGoldens(t *testing.T) {
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
		name := ingestName(g)
		if name == "" {
			continue
		}
		n++
		raw := &pipeline.Files{Path: shared.Dir(t, "data", g.File)}
		if g.Reader == "imdb" { // as the verb does: the folders' names tell class and split
			raw = &pipeline.Files{Path: shared.Dir(t, "data", "imdb-sample"), Include: []string{strings.TrimPrefix(g.File, "imdb-sample/") + "/*"}}
		}
		graph := pipeline.Graph{Nodes: []pipeline.Node{{Name: "raw", Stage: raw}}}
		inputs := map[string]string{"raw": "raw"}
		for _, other := range g.Also {
			graph.Nodes = append(graph.Nodes, pipeline.Node{Name: "others", Stage: &pipeline.Files{Path: shared.Dir(t, "data", other)}})
			inputs["annotations"] = "others"
		}
		graph.Nodes = append(graph.Nodes, pipeline.Node{Name: "examples", Stage: &Ingest{Corpus: name, Split: g.Split}, Inputs: inputs, MaxDead: &pipeline.NoLimit})
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
	if n != 112 {
		t.Errorf("%d files, want 112", n)
	}
}

// printed are the rows of an output as espalier cat prints them.
func printed(b *bench, n *pipeline.NodeResult) (out []corpustest.Row) {
	b.t.Helper()
	for _, split := range n.Manifest.Splits() {
		for _, e := range n.Manifest.Shards(split) {
			f, err := b.store.OpenFile(b.t.Context(), n.Manifest, e.Name)
			if err != nil {
				b.t.Fatal(err)
			}
			table, err := shard.OpenTable(f, f.Size())
			if err != nil {
				b.t.Fatal(err)
			}
			for row, err := range table.Rows() {
				if err != nil {
					b.t.Fatal(err)
				}
				var r corpustest.Row
				d := json.NewDecoder(bytes.NewReader(shard.AppendJSON(nil, table.Columns(), row)))
				d.UseNumber()
				if err := d.Decode(&r); err != nil {
					b.t.Fatal(err)
				}
				out = append(out, r)
			}
			if err := f.Close(); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	return out
}
