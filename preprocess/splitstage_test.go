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
	return b.splitOf("coco/karpathy", s)
}

func (b *bench) splitOf(corpus string, s *Split) []split.Member {
	b.t.Helper()
	n, err := b.run(pipeline.Graph{Nodes: []pipeline.Node{
		{Name: "raw", Stage: &pipeline.Files{Path: b.raw}},
		{Name: "examples", Stage: &Ingest{Corpus: corpus, Part: 30}, Inputs: map[string]string{"raw": "raw"}},
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

// TestSplitByImage parts questions so that those on one image stay together.
func TestSplitByImage(t *testing.T) {
	doc := func(images, questions int) string {
		var out []string
		for i := range images {
			var qas []string
			for q := range questions {
				qas = append(qas, fmt.Sprintf(`{"qa_id": %d, "image_id": %d, "question": "What is it, %d?", "answer": "A dog."}`, 100*i+q, i+1, q))
			}
			out = append(out, fmt.Sprintf(`{"id": %d, "qas": [%s]}`, i+1, strings.Join(qas, ", ")))
		}
		return "[" + strings.Join(out, ", ") + "]"
	}
	by := func(b *bench, by string) map[string]string { // of a key
		of := map[string]string{}
		for _, m := range b.splitOf("vgqa", &Split{From: "all", Shares: []string{"train=2", "validation=1", "test=1"}, By: by, Seed: 5}) {
			of[m.ID[strings.LastIndexByte(m.ID, '/')+1:]] = m.Split
		}
		return of
	}
	b := newBench(t)
	b.write("question_answers.json", doc(60, 4))
	torn := func(of map[string]string) (n int) {
		for i := range 60 {
			for q := range 4 {
				if of[fmt.Sprint(100*i+q)] != of[fmt.Sprint(100*i)] {
					n++
					break
				}
			}
		}
		return n
	}
	before := by(b, ByImage)
	count := map[string]int{}
	for _, s := range before {
		count[s]++
	}
	if len(before) != 240 || torn(before) != 0 || count["train"] < 80 || count["train"] > 160 || count["validation"] < 24 || count["test"] < 24 {
		t.Errorf("%d questions, %d images torn apart, %v", len(before), torn(before), count)
	}
	if n := torn(by(b, "")); n < 30 {
		t.Errorf("by question only %d images are torn apart", n)
	}
	b.write("question_answers.json", doc(61, 5))
	after := by(b, ByImage)
	for key, s := range before {
		if after[key] != s {
			t.Errorf("question %s went from %s to %s", key, s, after[key])
		}
	}

	s := &Split{Shares: []string{"a=1", "b=1"}, By: ByImage}
	b.write("train.tsv", "sentence\tlabel\na dog\t1\n")
	if _, err := b.run(pipeline.Graph{Nodes: []pipeline.Node{
		{Name: "raw", Stage: &pipeline.Files{Path: b.raw, Include: []string{"train.tsv"}}},
		{Name: "examples", Stage: &Ingest{Corpus: "glue/sst2"}, Inputs: map[string]string{"raw": "raw"}},
		{Name: "split", Stage: s, Inputs: map[string]string{"examples": "examples"}},
	}}, "split"); pipeline.ExitCode(err) != pipeline.ExitBadInput || !strings.Contains(err.Error(), "has no image to go by") {
		t.Errorf("rows without images: %v", err)
	}
}

func TestSplitCheck(t *testing.T) {
	for _, c := range []struct {
		s    Split
		want string
	}{
		{Split{}, "k: 0"},
		{Split{Rule: "x"}, "rule"},
		{Split{Rule: Halves, K: 1}, "halves have none"},
		{Split{Rule: HoldOut, K: 1, PerClass: true}, "per_class"},
		{Split{K: 1, By: ByImage}, "by"},
		{Split{Shares: []string{"a=1", "b=1"}, By: "label"}, "by"},
	} {
		if err := c.s.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.s, err)
		}
	}
	s := Split{K: 4}
	if err := s.Check(); err != nil || fmt.Sprint(s) != "{draw train train 4 false 0 [] }" {
		t.Errorf("defaults: %v, %v", s, err)
	}
}
