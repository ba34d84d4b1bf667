package preprocess

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"espalier/internal/shared"
	"espalier/pipeline"
	"espalier/pipeline/store"
	"espalier/preprocess/corpus/corpustest"
)

// readBy says which test reads a golden, by pattern.
var readBy = []struct{ pattern, test, mention string }{
	{"ingest/files.json", "preprocess/goldens_test.go", "files.json"},
	{"ingest/rows/*.jsonl", "preprocess/corpus/corpustest/corpustest.go", `"rows"`},
	{"ingest/refused.json", "preprocess/inventory_test.go", "refused.json"},
	{"traps/expected.json", "preprocess/corpus/corpustest/corpustest.go", "expected.json"},
	{"traps/raw/*", "preprocess/corpus/corpustest/corpustest.go", `"traps"`},
	{"render/t5.jsonl", "preprocess/render/render_test.go", "t5.jsonl"},
	{"render/t5.json", "preprocess/render/render_test.go", "t5.json"},
	{"render/other.jsonl", "preprocess/render/render_test.go", "other.jsonl"},
	{"render/wsc_fixed.jsonl", "preprocess/render/render_test.go", "wsc_fixed"},
	{"render/wsc_fixed_fewglue.jsonl", "preprocess/render/render_test.go", "wsc_fixed_fewglue"},
	{"counts.json", "data/card/card_test.go", "counts.json"},
	{"fewshot.json", "preprocess/split/split_test.go", "fewshot.json"},
	{"mixtures.json", "trainer/feed/mix_test.go", "mixtures.json"},
	{"interop/*", "pipeline/shard/interop_test.go", "contents.json"},
	{"interop/*/*", "pipeline/shard/interop_test.go", "contents.json"},
	{"interop/*/*/*", "pipeline/shard/interop_test.go", "contents.json"},
	{"make_*.py", "", ""},
	{"README.md", "", ""},
}

// TestEveryGoldenIsRead holds that no golden of the corpora is left out.
func TestEveryGoldenIsRead(t *testing.T) {
	root := shared.Dir(t, "goldens", "corpora")
	met := map[string]bool{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		for _, r := range readBy {
			if ok, err := path.Match(r.pattern, filepath.ToSlash(rel)); ok || err != nil {
				met[r.pattern] = true
				return err
			}
		}
		t.Errorf("no test reads %s", rel)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range readBy {
		if !met[r.pattern] {
			t.Errorf("no golden is named %s", r.pattern)
		}
		if r.test == "" {
			continue
		}
		b, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(r.test)))
		if err != nil || !strings.Contains(string(b), r.mention) {
			t.Errorf("%s does not read %s (%v)", r.test, r.pattern, err)
		}
	}
	// Every raw file is read by a test of ingest, or of its package.
	var list []corpustest.Golden
	text, err := os.ReadFile(filepath.Join(root, "ingest", "files.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	for _, g := range list {
		if ingestName(g) == "" && otherName(g) == "" && g.Reader != "karpathy" && g.Reader != "parallel" {
			t.Errorf("no test ingests %s", g.File)
		}
	}
}

// TestRefusedFiles reads the two files of the goldens that are not as they ought
// to be.
func TestRefusedFiles(t *testing.T) {
	var list []struct {
		File    string
		ReadAs  string `json:"read_as"`
		Refused *struct{ Line, Offset int64 }
		Dead    []struct{ Line, Offset int64 }
	}
	text, err := os.ReadFile(shared.Dir(t, "goldens", "corpora", "ingest", "refused.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{"scienceqa": "scienceqa", "label-space-text": "trec/numbered"}
	for _, g := range list {
		b := newBench(t)
		n, err := b.run(pipeline.Graph{Nodes: []pipeline.Node{
			{Name: "raw", Stage: &pipeline.Files{Path: shared.Dir(t, "data", g.File)}},
			{Name: "examples", Stage: &Ingest{Corpus: names[g.ReadAs]}, Inputs: map[string]string{"raw": "raw"}, MaxDead: &pipeline.NoLimit},
		}}, "examples")
		if g.Refused != nil {
			var r *pipeline.RefusedError
			if !errors.As(err, &r) || r.Line != g.Refused.Line || r.Offset != g.Refused.Offset || pipeline.ExitCode(err) != pipeline.ExitBadInput {
				t.Errorf("%s: %v", g.File, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", g.File, err)
		}
		dead := rows[pipeline.DeadLetter](b, n, store.DeadLetters)
		if len(dead) != len(g.Dead) {
			t.Fatalf("%s: %d dead letters", g.File, len(dead))
		}
		for i, d := range dead {
			if *d.Line != g.Dead[i].Line || *d.Offset != g.Dead[i].Offset {
				t.Errorf("%s: %d at %d, want %+v", g.File, *d.Line, *d.Offset, g.Dead[i])
			}
		}
	}
}
