// Package captiontest loads captions whose scores are known, for the tests of
// caption metrics only.
package captiontest

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"os"
	"testing"

	"espalier/internal/shared"
)

//go:embed testdata/adversarial.jsonl
var adversarial []byte

// A Corpus is a list of images with the reference tools' scores.
type Corpus struct {
	Name      string
	Images    []Image
	Tokenized []Image // what was scored where Images are raw text, else nil
	Corpus    Scores
	PerImage  []Scores `json:"per_image"`
	Plain     *Plain   // plain CIDEr, where it was stored
}

// An Image has one hypothesis and its references.
type Image struct {
	Hyp  string
	Refs []string
}

// Scored returns the texts that the scores belong to.
func (c *Corpus) Scored() []Image {
	if c.Tokenized != nil {
		return c.Tokenized
	}
	return c.Images
}

// Scores are one image's or a corpus's.
type Scores struct {
	Bleu1         float64 `json:"Bleu_1"`
	Bleu2         float64 `json:"Bleu_2"`
	Bleu3         float64 `json:"Bleu_3"`
	Bleu4         float64 `json:"Bleu_4"`
	Bleu1Shortest float64 `json:"Bleu_1_shortest"`
	Bleu2Shortest float64 `json:"Bleu_2_shortest"`
	Bleu3Shortest float64 `json:"Bleu_3_shortest"`
	Bleu4Shortest float64 `json:"Bleu_4_shortest"`
	Bleu1Average  float64 `json:"Bleu_1_average"`
	Bleu2Average  float64 `json:"Bleu_2_average"`
	Bleu3Average  float64 `json:"Bleu_3_average"`
	Bleu4Average  float64 `json:"Bleu_4_average"`
	BleuCounts    *Counts `json:"bleu_counts"`
	RougeL        float64 `json:"ROUGE_L"`
	CIDEr         float64 `json:"CIDEr"`
	METEOR        float64 `json:"METEOR"`
}

// Counts are the integers behind BLEU.
type Counts struct {
	TestLen, RefLen int64
	Guess, Correct  [4]int64
}

// Plain are scores of plain CIDEr.
type Plain struct {
	Corpus   float64
	PerImage []float64 `json:"per_image"`
}

// Adversarial returns the made-up corpora.
func Adversarial(t testing.TB) []*Corpus {
	t.Helper()
	var out []*Corpus
	dec := json.NewDecoder(bytes.NewReader(adversarial))
	for dec.More() {
		var c Corpus
		if err := dec.Decode(&c); err != nil {
			t.Fatal(err)
		}
		out = append(out, &c)
	}
	return out
}

// Names are the corpora of real captions that Shared loads.
var Names = []string{"coco200", "flickr150", "pascal_1ref", "pascal_20refs_human", "pascal_29refs", "fakecap1000"}

// Shared loads a corpus of the reference data; it skips the test where that is
// absent.
func Shared(t testing.TB, name string) *Corpus {
	t.Helper()
	c := &Corpus{Name: name}
	read(t, c, "goldens", "metrics", "caption", name+".json")
	read(t, c, "goldens", "metrics", "caption", name+".scores.json")
	if name == "fakecap1000" {
		var rows []struct {
			Test string
			Refs []string
		}
		read(t, &rows, "data", "cap-spice-refs", "example_input_larger.json")
		for _, r := range rows {
			c.Images = append(c.Images, Image{r.Test, r.Refs})
		}
	}
	return c
}

func read(t testing.TB, v any, elem ...string) {
	t.Helper()
	b, err := os.ReadFile(shared.Dir(t, elem...))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatal(err)
	}
}
