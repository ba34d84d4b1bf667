// Package data knows the corpora: the stage Sample, which makes a miniature of
// one, and the checks of raw folders against dataset cards.
package data

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"espalier/data/card"
	"espalier/data/sample"
	"espalier/pipeline"
)

// SamplePart is the number of images of a part of Sample.
const SamplePart = 200

// Sample makes a miniature of a corpus in its native raw format, from a seed.
// Its parts are runs of images.
type Sample struct {
	Corpus string `yaml:"corpus" json:"corpus" doc:"which corpus to make a miniature of; default coco"`
	Images int    `yaml:"images" json:"images" doc:"number of images, of a corpus without images the rows of its largest split; default 2400 of coco, less of others"`
	Seed   uint64 `yaml:"seed" json:"seed" doc:"default 1"`
}

// Kind is "data/sample".
func (*Sample) Kind() string { return "data/sample" }

// Version is raised when equal seeds would give other bytes.
func (*Sample) Version() int { return 1 }

// Check fills in defaults.
func (s *Sample) Check() error {
	s.Corpus = cmp.Or(s.Corpus, "coco")
	s.Corpus = cmp.Or(SampleOf(s.Corpus), s.Corpus)
	s.Images = cmp.Or(s.Images, sample.Size(s.Corpus))
	s.Seed = cmp.Or(s.Seed, 1)
	if sample.Size(s.Corpus) == 0 {
		return fmt.Errorf("corpus: %q, want one of %s", s.Corpus, strings.Join(Samples(), ", "))
	}
	_, err := sample.Of(s.Corpus, s.Images, s.Seed)
	return err
}

// SampleOf returns the miniature that has the files of a corpus: its own, or that
// of its card; "" if there is none.
func SampleOf(corpus string) string {
	if sample.Size(corpus) > 0 {
		return corpus
	}
	c, _ := card.Find(corpus)
	return c.Sample
}

// Samples returns the corpora that have a miniature.
func Samples() []string { return sample.Names() }

// A run of images of a sample.
type images struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Plan cuts the images into runs.
func (s *Sample) Plan(ctx context.Context, t *pipeline.Task) ([]pipeline.Part, error) {
	m, err := sample.Of(s.Corpus, s.Images, s.Seed)
	if err != nil {
		return nil, err
	}
	var parts []pipeline.Part
	for from := 0; from < m.Images(); from += SamplePart {
		r := images{from, min(from+SamplePart, m.Images())}
		slice, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		parts = append(parts, pipeline.Part{Index: len(parts), ID: fmt.Sprintf("images %d to %d", r.From, r.To), Slice: slice})
	}
	return parts, nil
}

// Run draws the images of one part.
func (s *Sample) Run(ctx context.Context, t *pipeline.Task, p pipeline.Part) error {
	var r images
	if err := json.Unmarshal(p.Slice, &r); err != nil {
		return fmt.Errorf("slice of part %d: %w", p.Index, err)
	}
	c, err := sample.Of(s.Corpus, s.Images, s.Seed)
	if err != nil {
		return err
	}
	t.Meter.Expect(int64(r.To-r.From), "images")
	for i := r.From; i < r.To; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		b, err := c.Image(i)
		if err != nil {
			return err
		}
		f, err := t.Out.Create(c.Name(i), "")
		if err != nil {
			return err
		}
		if _, err := f.Write(b); err != nil {
			return err
		}
		if err := f.Close(0); err != nil {
			return err
		}
		t.Meter.Add(1)
	}
	return nil
}

// Finish writes the corpus's JSON files.
func (s *Sample) Finish(ctx context.Context, t *pipeline.Task, parts []pipeline.Part) error {
	c, err := sample.Of(s.Corpus, s.Images, s.Seed)
	if err != nil {
		return err
	}
	for _, d := range c.Documents() {
		if err := ctx.Err(); err != nil {
			return err
		}
		f, err := t.Out.Create(d.Name, "")
		if err != nil {
			return err
		}
		if err := d.Write(f); err != nil {
			return fmt.Errorf("write %s: %w", d.Name, err)
		}
		if err := f.Close(0); err != nil {
			return err
		}
	}
	t.Out.Note("images", strconv.Itoa(c.Images()))
	t.Out.Note("licence", "CC0-1.0")
	return nil
}
