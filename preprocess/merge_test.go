package preprocess

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"espalier/pipeline"
	"espalier/pipeline/store"
	"espalier/preprocess/corpus/gqa"
	"espalier/preprocess/example"
)

func gqaDoc(ids ...int) string {
	var list []string
	for _, id := range ids {
		list = append(list, fmt.Sprintf(`"%d": {"question": "Q%d?", "answer": "a%d", "imageId": "%d"}`, id, id, id, id/10))
	}
	return "{" + strings.Join(list, ", ") + "}"
}

// TestIngestKeysOfSeveralFiles has keys that a file before has: the first stays,
// whatever the parts and however many run at once.
func TestIngestKeysOfSeveralFiles(t *testing.T) {
	var first, second []int
	for i := range 300 {
		first, second = append(first, 2*i), append(second, 3*i)
	}
	digests := map[string]bool{}
	for _, jobs := range []int{1, 3} {
		b := newBench(t)
		b.write("train_all_questions_0.json", gqaDoc(first...))
		b.write("train_all_questions_1.json", gqaDoc(second...))
		b.write("train_all_questions_2.json", gqaDoc(0, 3, 5000))
		b.write("val_all_questions.json", gqaDoc(0)) // of another split: another id
		res, err := pipeline.Run(t.Context(), pipeline.Graph{Nodes: []pipeline.Node{
			{Name: "raw", Stage: &pipeline.Files{Path: b.raw}},
			{Name: "examples", Stage: &Ingest{Corpus: "gqa", Part: 40}, Inputs: map[string]string{"raw": "raw"}, MaxDead: &pipeline.NoLimit},
		}}, pipeline.Options{Store: b.store, Jobs: jobs})
		if err != nil {
			t.Fatal(err)
		}
		n := res.Node("examples")
		var keys []string
		for _, r := range rows[example.Row[gqa.Fields, gqa.Meta]](b, n, "train") {
			keys = append(keys, r.Key)
		}
		slices.Sort(keys)
		if u := slices.Compact(slices.Clone(keys)); len(u) != len(keys) {
			t.Errorf("%d rows, %d keys", len(keys), len(u))
		}
		dead := rows[pipeline.DeadLetter](b, n, store.DeadLetters)
		for _, d := range dead {
			if d.Reason != "duplicate key: train_all_questions_0.json has it" && d.Reason != "duplicate key: train_all_questions_1.json has it" || d.File == "train_all_questions_0.json" || d.Where == "" {
				t.Errorf("%+v", d)
			}
		}
		// 300 even numbers; 200 odd ones or of 600 and more; 5000.
		if len(keys) != 501 || len(dead) != 102 || n.Manifest.Rows != 502 || n.Manifest.Dead != 102 || n.Manifest.RowsSeen != 604 {
			t.Errorf("%d rows and %d dead letters: %d of %d", len(keys), len(dead), n.Manifest.Rows, n.Manifest.RowsSeen)
		}
		digests[n.Manifest.Digest] = true
	}
	if len(digests) != 1 {
		t.Errorf("digests %v", digests)
	}
}
