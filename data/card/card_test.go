package card

import (
	"encoding/json"
	"flag"
	"os"
	"path"
	"strings"
	"testing"

	"espalier/internal/shared"
)

func TestCards(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range All() {
		if seen[c.Name] || c.Title == "" || c.Home == "" || c.Licence == "" || c.Citation == "" || len(c.Files) == 0 {
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

// countsOf are the published counts of the goldens whose names differ from the
// cards'.
var countsOf = map[string]string{
	"vqav2 train": "vqav2 train2014", "vqav2 validation": "vqav2 val2014", "okvqa train": "okvqa train2014", "okvqa validation": "okvqa val2014",
	"gqa/balanced train": "gqa train", "gqa/balanced validation": "gqa val", "gqa/balanced testdev": "gqa testdev",
	"snli-ve validation": "snli-ve dev", "scienceqa validation": "scienceqa val", "adgen validation": "adgen dev",
	"kdconv pairs, dev": "kdconv dev", "kdconv pairs, test": "kdconv test", "nlpcc2018 lines of data.train": "nlpcc2018/train train",
	"lot/outgen validation":    "lot/outgen val",
	"paws/labeled_final train": "paws train", "paws/labeled_final validation": "paws validation", "paws/labeled_final test": "paws test",
}

func TestPublishedCounts(t *testing.T) {
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
	n := 0
	for _, c := range g.Counts {
		name := c.Corpus + " " + c.Split
		if other := countsOf[name]; other != "" {
			name = other
		}
		corpus, split, _ := strings.Cut(name, " ")
		card, _ := Find(corpus)
		for _, have := range card.Counts {
			if have.Split != split || card.Name == "coco/karpathy" {
				continue
			}
			if n++; have.Rows != c.Rows {
				t.Errorf("%s: %d rows, want %d", name, have.Rows, c.Rows)
			}
		}
	}
	if n < 84 {
		t.Errorf("%d counts compared", n)
	}
}

var update = flag.Bool("update", false, "write docs/corpora.md")

func TestDocs(t *testing.T) {
	const file = "../../docs/corpora.md"
	if *update {
		if err := os.WriteFile(file, []byte(Markdown()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != Markdown() {
		t.Errorf("%s is not what the cards say (%v); go test ./data/card -update writes it", file, err)
	}
}
