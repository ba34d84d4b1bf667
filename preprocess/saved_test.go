package preprocess

import (
	"fmt"
	"slices"
	"testing"

	"espalier/pipeline"
)

// TestIngestOfSavedDatasets reads what save_to_disk writes: splits are folders,
// files are Arrow streams.
func TestIngestOfSavedDatasets(t *testing.T) {
	b := newBench(t)
	n, err := b.run(pipeline.Graph{Nodes: []pipeline.Node{
		{Name: "raw", Stage: &pipeline.Files{Path: "testdata/qnli-saved"}},
		{Name: "examples", Stage: &Ingest{Corpus: "glue/qnli"}, Inputs: map[string]string{"raw": "raw"}},
	}}, "examples")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, split := range []string{"train", "validation"} {
		for _, r := range rows[qnliRow](b, n, split) {
			got = append(got, fmt.Sprint(r.ID, " ", r.Fields.Question, " ", *r.Label))
		}
	}
	want := []string{
		"glue/qnli/train/0 train 0? entailment", "glue/qnli/train/1 train 1? not_entailment", "glue/qnli/train/2 train 2? entailment",
		"glue/qnli/train/3 train 3? not_entailment", "glue/qnli/train/4 train 4? entailment",
		"glue/qnli/validation/0 validation 0? entailment", "glue/qnli/validation/1 validation 1? not_entailment",
	}
	if !slices.Equal(got, want) || n.Manifest.Dead != 0 {
		t.Errorf("%d dead letters, rows %q", n.Manifest.Dead, got)
	}
}
