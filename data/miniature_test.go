package data_test

import (
	"slices"
	"testing"

	"espalier/data"
	"espalier/data/card"
	"espalier/data/sample"
	"espalier/pipeline"
	"espalier/preprocess"
)

// TestMiniatures ingests the miniature of every corpus that is read.
func TestMiniatures(t *testing.T) {
	made := map[string]bool{}
	for _, name := range preprocess.Corpora() {
		from := data.SampleOf(name)
		made[from] = true
		if from == "coco" {
			continue // see TestSample
		}
		c, carded := card.Find(name)
		t.Run(name, func(t *testing.T) {
			g := pipeline.Graph{Nodes: []pipeline.Node{
				{Name: "raw", Stage: &data.Sample{Corpus: name, Images: 20}},
				{Name: "examples", Stage: &preprocess.Ingest{Corpus: name, Part: 10}, Inputs: map[string]string{"raw": "raw"}},
			}}
			_, res := run(t, g, 2)
			m := res.Node("examples").Manifest
			if m.Rows < 2 || m.Dead != 0 || !carded {
				t.Errorf("%d rows, %d dead letters, card %v", m.Rows, m.Dead, carded)
			}
			if name == "vqav2" || name == "kdconv" || name == "m2" {
				for _, jobs := range []int{1, 7} {
					if _, other := run(t, g, jobs); other.Node("examples").Manifest.Digest != m.Digest {
						t.Errorf("%d workers give another output", jobs)
					}
				}
			}
			for _, n := range c.Counts {
				if slices.Contains(m.Splits(), n.Split) || name != c.Name || n.Split == "restval" {
					continue
				}
				t.Errorf("the card's split %s is not among %v", n.Split, m.Splits())
			}
		})
	}
	for _, name := range sample.Names() {
		if !made[name] {
			t.Errorf("no corpus has the miniature %s", name)
		}
	}
}

func TestMiniatureSizes(t *testing.T) {
	for _, name := range sample.Names() {
		if sample.Size(name) < 20 {
			t.Errorf("%s has %d images or rows", name, sample.Size(name))
		}
		if err := (&data.Sample{Corpus: name}).Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		a, err := sample.Of(name, 20, 7)
		if err != nil {
			t.Fatal(err)
		}
		b, err := sample.Of(name, 20, 8)
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Documents()) == 0 || len(a.Documents()) != len(b.Documents()) {
			t.Errorf("%s: %d documents", name, len(a.Documents()))
		}
	}
	if _, err := sample.Of("no such", 20, 1); err == nil {
		t.Error("a miniature of nothing")
	}
}
