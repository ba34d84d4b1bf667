package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"espalier/jobs"
	"espalier/pipeline"
	"espalier/pipeline/score"
	"espalier/pipeline/shard"
)

// testKinds are the real kinds and a few small ones, so that scripts can make
// a job do what a test needs.
func testKinds() map[string]func() pipeline.Stage {
	kinds := jobs.Kinds()
	kinds["test/lines"] = func() pipeline.Stage { return new(lines) }
	kinds["test/count"] = func() pipeline.Stage { return new(count) }
	kinds["test/sleep"] = func() pipeline.Stage { return new(sleep) }
	return kinds
}

// lines reads text files, a part each, into rows; a line that begins with BAD
// is a dead letter, a file that begins with REFUSE is refused, one that begins
// with FAIL makes the stage fail.
type lines struct {
	Upper bool `yaml:"upper" json:"upper"`
}

type lineRow struct {
	ID   string `parquet:"id" json:"id"`
	Text string `parquet:"text" json:"text"`
}

func (*lines) Kind() string { return "test/lines" }
func (*lines) Version() int { return 1 }

func (l *lines) Plan(ctx context.Context, t *pipeline.Task) ([]pipeline.Part, error) {
	var parts []pipeline.Part
	for i, f := range t.In["raw"].Manifest.Files {
		slice, err := json.Marshal(f.Name)
		if err != nil {
			return nil, err
		}
		parts = append(parts, pipeline.Part{Index: i, ID: f.Name + " " + f.SHA256, Slice: slice})
	}
	return parts, nil
}

func (l *lines) Run(ctx context.Context, t *pipeline.Task, p pipeline.Part) error {
	var name string
	if err := json.Unmarshal(p.Slice, &name); err != nil {
		return err
	}
	f, err := t.In["raw"].Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	out, err := t.Out.Create("all.parquet", "test-line/1")
	if err != nil {
		return err
	}
	w, err := shard.NewWriter[lineRow](out, shard.Options{})
	if err != nil {
		return err
	}
	n := int64(0)
	for s := bufio.NewScanner(io.NewSectionReader(f, 0, f.Size())); s.Scan(); n++ {
		text := s.Text()
		t.Rows(1)
		line := n + 1
		switch {
		case n == 0 && strings.HasPrefix(text, "REFUSE"):
			return &pipeline.RefusedError{File: name, Line: 1, Offset: -1, Reason: "refused as asked"}
		case n == 0 && strings.HasPrefix(text, "FAIL"):
			return errors.New("failed as asked")
		case strings.HasPrefix(text, "BAD"):
			if err := t.Dead(pipeline.DeadLetter{Corpus: "test", Task: "lines", File: name, N: &n, Line: &line, Field: "text", Reason: "bad line", Raw: []byte(text)}); err != nil {
				return err
			}
			continue
		}
		if l.Upper {
			text = strings.ToUpper(text)
		}
		if err := w.Write([]lineRow{{ID: fmt.Sprintf("%s:%d", name, line), Text: text}}); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return out.Close(w.Rows())
}

func (l *lines) Finish(ctx context.Context, t *pipeline.Task, parts []pipeline.Part) error {
	return nil
}

// count measures how many rows its inputs have, times a factor.
type count struct {
	Factor float64           `yaml:"factor" json:"factor"`
	Tags   map[string]string `yaml:"tags" json:"tags"`
}

func (*count) Kind() string { return "test/count" }
func (*count) Version() int { return 1 }

func (c *count) Check() error {
	if c.Factor == 0 {
		c.Factor = 1
	}
	if c.Factor < 0 {
		return fmt.Errorf("factor: %g, want more than 0", c.Factor)
	}
	return nil
}

func (c *count) Run(ctx context.Context, t *pipeline.Task, _ pipeline.Part) error {
	rows := int64(0)
	for _, in := range t.In {
		rows += in.Manifest.Rows
	}
	out, err := t.Out.Create("scores.parquet", score.Schema)
	if err != nil {
		return err
	}
	w, err := shard.NewWriter[score.Row](out, shard.Options{})
	if err != nil {
		return err
	}
	if err := w.Write([]score.Row{{Metric: "rows", Split: "all", Value: float64(rows) * c.Factor, N: rows, Tags: c.Tags}}); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return out.Close(1)
}

// sleep works for some seconds; if it is deaf, it does not stop when asked to.
type sleep struct {
	Seconds float64 `yaml:"seconds" json:"seconds"`
	Deaf    bool    `yaml:"deaf" json:"deaf"`
}

func (*sleep) Kind() string { return "test/sleep" }
func (*sleep) Version() int { return 1 }

func (s *sleep) Run(ctx context.Context, t *pipeline.Task, _ pipeline.Part) error {
	steps := int64(s.Seconds * 20)
	t.Meter.Expect(steps, "naps")
	for range steps {
		time.Sleep(50 * time.Millisecond)
		t.Meter.Add(1)
		if !s.Deaf && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}
