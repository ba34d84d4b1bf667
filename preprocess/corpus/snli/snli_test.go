package snli

import (
	"testing"

	"espalier/internal/shared"
	"espalier/preprocess/corpus/corpustest"
)

func TestGoldens(t *testing.T) {
	n := corpustest.Check(t, func(g corpustest.Golden) corpustest.Reader {
		if g.Corpus == "snli" {
			return corpustest.With(SNLI())
		}
		return nil
	})
	if n != 1 {
		t.Errorf("%d files, want 1", n)
	}
}

func FuzzSNLI(f *testing.F) {
	f.Add("x.jsonl", []byte("{\"annotator_labels\": [], \"gold_label\": \"-\", \"pairID\": \"a\", \"sentence1\": \"b\", \"sentence2\": \"c\"}\n{\"pairID\": \"a\"}\n"))
	f.Add("x.txt", []byte("gold_label\tsentence1\tsentence2\tpairID\tlabel1\tlabel2\tlabel3\tlabel4\tlabel5\n-\ta\tb\tc\tneutral\t\t\t\t\n"))
	f.Fuzz(func(t *testing.T, name string, b []byte) {
		corpustest.SameSlices(t, corpustest.With(SNLI()), name, b)
	})
}

func TestColumns(t *testing.T) {
	const file = "hf-dummy/snli/plain_text/snli_1.0/snli_1.0_dev.txt"
	src, err := corpustest.File(t, shared.Dir(t, "data", file), file)
	if err != nil {
		t.Fatal(err)
	}
	rows, dead, err := corpustest.With(SNLI())(t, src, 1)
	if err != nil || len(rows) == 0 || len(dead) != 0 {
		t.Fatalf("%d rows, %d dead letters, %v", len(rows), len(dead), err)
	}
	r := rows[0]
	labels := r["meta"].(map[string]any)["annotator_labels"].([]any)
	if r["key"] != "4705552913.jpg#2r1n" || r["label"] != "neutral" || r["split"] != "validation" || len(labels) != 5 || labels[1] != "entailment" {
		t.Errorf("first row %v", r)
	}
}
