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

// notInIt are readers whose card's miniature has no files for them.
var notInIt = []string{"vqav2/results", "alpaca/en", "alpaca/zh", "m2/errant", "m2/m2scorer", "m2/jfleg", "m2/cherrant", "gec/jfleg", "chnsenticorp"}

func TestMiniatures(t *testing.T) {
	made := map[string]bool{}
	for _, c := range card.All() {
		for _, name := range append([]string{c.Name}, c.Also...) {
			if c.Sample == "" || c.Sample == "coco" || sample.Size(c.Sample) == 0 || slices.Contains(notInIt, name) || !slices.Contains(preprocess.Corpora(), name) {
				continue
			}
			made[c.Sample] = true
			t.Run(name, func(t *testing.T) {
				g := pipeline.Graph{Nodes: []pipeline.Node{
					{Name: "raw", Stage: &data.Sample{Corpus: c.Sample, Images: 20}},
					{Name: "examples", Stage: &preprocess.Ingest{Corpus: name, Part: 10}, Inputs: map[string]string{"raw": "raw"}},
				}}
				_, res := run(t, g, 2)
				m := res.Node("examples").Manifest
				if m.Rows < 2 || m.Dead != 0 {
					t.Errorf("%d rows, %d dead letters", m.Rows, m.Dead)
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
	}
	for _, name := range sample.Names() {
		if name != "coco" && !made[name] && name != "chnsenticorp" {
			t.Errorf("no card has the miniature %s", name)
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
