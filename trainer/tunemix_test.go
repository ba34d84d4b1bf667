package trainer

import (
	"fmt"
	"testing"

	"espalier/pipeline"
	"espalier/pipeline/store"
)

func TestTuneMixture(t *testing.T) {
	tokensOf := func(rows ...int64) *store.Manifest {
		m := &store.Manifest{Kind: "tokenize/encode"}
		for i, n := range rows {
			m.Files = append(m.Files, store.FileEntry{Name: store.ShardName("train", i, len(rows), ".parquet"), Rows: n})
		}
		m.Files = append(m.Files, store.FileEntry{Name: "validation-00000-of-00001.parquet", Rows: 7})
		return m
	}
	s := Tune{Split: "train", Steps: 100, Batch: TextBatch{Examples: 32}, Mix: TextMix{Temperature: 2}}
	inputs := map[string]*store.Manifest{"vocab": {}, "backbone": {}, "cola": tokensOf(300, 100), "rte": tokensOf(100)}
	show := func(list []pipeline.Share) (out string) {
		for _, x := range list {
			out += fmt.Sprintf("%s %d %.4f %.4f; ", x.Input, x.Examples, x.Share, x.Epochs)
		}
		return out
	}
	// Shares as the square roots, 20 to 10; of 3,200 examples 2/3 in 400 rows.
	if got, want := show(s.Mixture(inputs)), "cola 400 0.6667 5.3333; rte 100 0.3333 10.6667; "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	inputs["few"] = &store.Manifest{Kind: "preprocess/split", Notes: map[string]string{"rows_train": "32"}}
	if got := s.Mixture(inputs); got != nil {
		t.Errorf("a split of two tasks: %s", show(got))
	}
	delete(inputs, "few")
	inputs["ids[task=sst2]"], inputs["split[task=sst2]"] = tokensOf(2600), &store.Manifest{Kind: "preprocess/split", Notes: map[string]string{"rows_train": "1600", "rows_validation": "1000"}}
	if got, want := show(s.Mixture(inputs)), "cola 400 0.2857 2.2857; ids[task=sst2] 1600 0.5714 1.1429; rte 100 0.1429 4.5714; "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	delete(inputs, "ids[task=sst2]")
	delete(inputs, "split[task=sst2]")
	delete(inputs, "rte")
	inputs["few"] = &store.Manifest{Kind: "preprocess/split", Notes: map[string]string{"rows_train": "32"}}
	if got, want := show(s.Mixture(inputs)), "cola 32 1.0000 100.0000; "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
