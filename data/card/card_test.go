package card

import (
	"encoding/json"
	"os"
	"path"
	"strings"
	"testing"

	"espalier/internal/shared"
)

func TestCards(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range All() {
		if seen[c.Name] || c.Title == "" || c.Home == "" || c.Licence == "" || c.Citation == "" || len(c.Files) == 0 || len(c.Counts) == 0 {
			t.Errorf("card of %s is there twice or not whole", c.Name)
		}
		seen[c.Name] = true
		if got, ok := Find(c.Name); !ok || got.Title != c.Title {
			t.Errorf("card of %s is not found", c.Name)
		}
		needed := false
		for _, f := range c.Files {
			needed = needed || !f.Optional
			if _, err := path.Match(strings.TrimSuffix(f.Pattern, "/"), ""); err != nil || f.What == "" {
				t.Errorf("%s: file %q: %v", c.Name, f.Pattern, err)
			}
		}
		if !needed {
			t.Errorf("%s needs no file", c.Name)
		}
		for _, n := range c.Counts {
			if n.Rows <= 0 || n.Source == "" || n.Split == "" {
				t.Errorf("%s: count %+v", c.Name, n)
			}
		}
	}
	if _, ok := Find("no/such"); ok {
		t.Error("a card of a corpus that is not")
	}
}

func TestKarpathyCounts(t *testing.T) {
	var g struct {
		Counts []struct {
			Corpus, Split string
			Rows          int64
		}
	}
	b, err := os.ReadFile(shared.Dir(t, "goldens", "corpora", "counts.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{}
	for _, c := range g.Counts {
		if c.Corpus == "coco/karpathy" {
			want[c.Split] = c.Rows
		}
	}
	c, _ := Find("coco/karpathy")
	for _, n := range c.Counts {
		name := map[string]string{"train": "train with restval", "val": "validation"}[n.Split]
		if name == "" {
			name = n.Split
		}
		if n.Rows != want[name] {
			t.Errorf("%s: %d rows, want %d", n.Split, n.Rows, want[name])
		}
	}
	// Restval, val and test make up val2014.
	o, _ := Find("coco/captions")
	if o.Counts[0].Rows != want["train"] || o.Counts[1].Rows != want["restval"]+want["validation"]+want["test"] {
		t.Errorf("official counts %v", o.Counts)
	}
}
