package preprocess

import (
	"fmt"
	"strings"
	"testing"

	"espalier/pipeline"
	"espalier/preprocess/split"
)

func (b *bench) split(s *Split) []split.Member {
	b.t.Helper()
	n, err := b.run(pipeline.Graph{Nodes: []pipeline.Node{
		{Name: "raw", Stage: &pipeline.Files{Path: b.raw}},
		{Name: "examples", Stage: &Ingest{Corpus: "coco/karpathy", Part: 30}, Inputs: map[string]string{"raw": "raw"}},
		{Name: "split", Stage: s, Inputs: map[string]string{"examples": "examples"}},
	}}, "split")
	if err != nil {
		b.t.Fatal(err)
	}
	return rows[split.Member](b, n, "split.parquet")
}

func TestSplit(t *testing.T) {
	b := newBench(t)
	b.write("dataset_coco.json", karpathyDoc(200, nil)) // 100 rows of train
	draw := b.split(&Split{K: 10, Seed: 3})
	if len(draw) != 10 {
		t.Fatalf("%d rows", len(draw))
	}
	for i, m := range draw {
		if m.Split != "train" || !strings.HasPrefix(m.ID, "coco/caption/train/") || i > 0 && split.Key(3, m.ID) < split.Key(3, draw[i-1].ID) {
			t.Errorf("row %d: %+v", i, m)
		}
	}
	held := b.split(&Split{Rule: HoldOut, K: 10, Seed: 3})
	if len(held) != 100 || held[9].Split != "validation" || held[10].Split != "train" || held[0].ID != draw[0].ID || held[9].ID != draw[9].ID {
		t.Errorf("hold-out of %d rows: %v", len(held), held[:11])
	}
	halves := b.split(&Split{Rule: Halves, From: "val"})
	count := map[string]int{}
	for _, m := range halves {
		count[m.Split]++
	}
	if count["validation"] != 25 || count["test"] != 25 {
		t.Errorf("halves %v", count)
	}
	// An image more moves no other.
	b.write("dataset_coco.json", strings.Replace(karpathyDoc(200, nil), `], "dataset"`, ", "+image(777, "train", "New.")+`], "dataset"`, 1))
	now := b.split(&Split{K: 10, Seed: 3})
	same := 0
	for _, m := range now {
		for _, old := range draw {
			if m == old {
				same++
			}
		}
	}
	if same < 9 {
		t.Errorf("one image more moved %d rows", 10-same)
	}
}

func TestSplitCheck(t *testing.T) {
	for _, c := range []struct {
		s    Split
		want string
	}{
		{Split{}, "k: 0"}, {Split{Rule: "x"}, "rule"}, {Split{Rule: Halves, K: 1}, "halves have none"}, {Split{Rule: HoldOut, K: 1, PerClass: true}, "per_class"},
	} {
		if err := c.s.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.s, err)
		}
	}
	s := Split{K: 4}
	if err := s.Check(); err != nil || fmt.Sprint(s) != "{draw train train 4 false 0 []}" {
		t.Errorf("defaults: %v, %v", s, err)
	}
}
