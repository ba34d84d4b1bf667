package preprocess

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
	"espalier/preprocess/example"
	"espalier/preprocess/render"
)

// Render turns its input "examples" into source and target text by a template,
// the splits as they are. An example that the template cannot render is a dead
// letter; one that it leaves out on purpose is counted in the notes. Its parts are
// the shards of the examples.
type Render struct {
	Template string `yaml:"template" json:"template" doc:"a template such as t5/glue_cola, or a style such as t5, which has one for each task"`
}

// Kind is "preprocess/render".
func (*Render) Kind() string { return "preprocess/render" }

// Version is raised when a template gives other text, too.
func (*Render) Version() int {
	v := 4
	for _, t := range render.All() {
		v += t.Version - 1
	}
	return v
}

// Check reports a template that is not there.
func (s *Render) Check() error {
	if s.Template == "" {
		return errors.New("template: required")
	}
	if strings.Contains(s.Template, "/") {
		if _, ok := render.Find(s.Template); !ok {
			return fmt.Errorf("template: no template %q", s.Template)
		}
		return nil
	}
	for _, style := range render.Styles() {
		if style == s.Template {
			return nil
		}
	}
	return fmt.Errorf("template: no style %q, want one of %s", s.Template, strings.Join(render.Styles(), ", "))
}

// Plan makes each shard of the examples a part.
func (s *Render) Plan(ctx context.Context, t *pipeline.Task) ([]pipeline.Part, error) {
	in := t.In["examples"]
	if in == nil {
		return nil, errors.New("preprocess/render: no input named examples")
	}
	var parts []pipeline.Part
	for _, split := range in.Manifest.Splits() {
		for _, e := range in.Shards(split) {
			sl, err := json.Marshal(e)
			if err != nil {
				return nil, err
			}
			// The split names the part's file, so it is part of what decides it.
			parts = append(parts, pipeline.Part{Index: len(parts), ID: split + " " + e.SHA256, Slice: sl})
		}
	}
	return parts, nil
}

// droppedNote is the note of a part that counts the examples left out.
const droppedNote = "dropped"

// Run renders one shard.
func (s *Render) Run(ctx context.Context, t *pipeline.Task, p pipeline.Part) (err error) {
	var e store.FileEntry
	if err := json.Unmarshal(p.Slice, &e); err != nil {
		return fmt.Errorf("slice of part %d: %w", p.Index, err)
	}
	f, err := t.In["examples"].Open(e.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	table, err := shard.OpenTable(f, f.Size())
	if err == nil {
		table, err = table.Select(renderColumns...)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", e.Name, err)
	}
	r := renderer{s: s, t: t, file: e.Name, out: newSink[example.Text](t.Out, example.TextSchema), templates: map[string]*render.Template{}}
	r.split, _, _, _, _ = store.ParseShardName(e.Name)
	t.Meter.Expect(e.Rows, "examples")
	n := int64(0)
	for row, err := range table.Rows() {
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
		if n++; n%batch == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			t.Meter.Add(batch)
		}
		if err := r.put(row); err != nil {
			return err
		}
	}
	t.Meter.Add(n % batch)
	t.RowsIn(e.Name, n)
	t.Out.Note(droppedNote, strconv.FormatInt(r.dropped, 10))
	return r.out.close()
}

// Finish adds up what the parts left out.
func (s *Render) Finish(ctx context.Context, t *pipeline.Task, parts []pipeline.Part) error {
	var sum int64
	for i := range parts {
		n, err := strconv.ParseInt(t.Part(i).Notes[droppedNote], 10, 64)
		if err != nil {
			return fmt.Errorf("part %d: note %s: %w", i, droppedNote, err)
		}
		sum += n
	}
	t.Out.Note(droppedNote, strconv.FormatInt(sum, 10))
	return nil
}

// renderColumns are the columns that rendering reads.
var renderColumns = []string{"id", "corpus", "task", "split", "n", "fields", "label", "label_id", "references", "image"}

// A renderer renders the examples of a shard.
type renderer struct {
	s         *Render
	t         *pipeline.Task
	file      string // that is read
	split     string // its split, the name of the file that is written
	out       *sink[example.Text]
	templates map[string]*render.Template // by corpus and task
	dropped   int64
}

// put renders one example.
func (r *renderer) put(row []any) error {
	x := exampleOf(row)
	id, n := textOf(row[0]), numberOf(row[4], -1)
	dead := func(field, reason string) error {
		return r.t.Dead(pipeline.DeadLetter{Corpus: x.Corpus, Task: x.Task, File: r.file, N: &n, Field: field, Where: id, Reason: reason})
	}
	tm, err := r.template(x)
	if err != nil {
		return err
	}
	list, err := tm.Render(x)
	if errors.Is(err, render.ErrDropped) {
		r.dropped++
		return nil
	}
	if err != nil {
		return dead("fields", err.Error())
	}
	out := example.Text{ID: id, Corpus: x.Corpus, Task: x.Task, Split: x.Split, Template: tm.Name, Version: int32(tm.Version), References: x.References}
	if x.Label != "" {
		out.Label = &x.Label
	}
	if image, ok := row[9].(string); ok {
		out.Image = &image
	}
	for i, text := range list {
		out.Part, out.Source, out.Target = int32(i), text.Source, text.Target
		if err := r.out.put(r.split, out); err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
	}
	return nil
}

// template returns the template for an example.
func (r *renderer) template(x *render.Example) (*render.Template, error) {
	key := x.Corpus + "/" + x.Task
	if tm := r.templates[key]; tm != nil {
		return tm, nil
	}
	tm, ok := render.Find(r.s.Template)
	if !strings.Contains(r.s.Template, "/") {
		tm, ok = render.ForTask(r.s.Template, x.Corpus, x.Task)
	}
	if !ok {
		return nil, fmt.Errorf("preprocess/render: %s has no template for %s", r.s.Template, key)
	}
	r.templates[key] = tm
	return tm, nil
}

// exampleOf is what templates read of a row of renderColumns.
func exampleOf(row []any) *render.Example {
	x := &render.Example{
		Corpus: textOf(row[1]), Task: textOf(row[2]), Split: textOf(row[3]),
		Fields: map[string]any{}, Label: textOf(row[6]), LabelID: numberOf(row[7], -1),
	}
	if fields, ok := row[5].(shard.Struct); ok {
		for _, f := range fields {
			x.Fields[f.Name] = f.Value
		}
	}
	if list, ok := row[8].([]any); ok {
		for _, v := range list {
			x.References = append(x.References, textOf(v))
		}
	}
	return x
}

func textOf(v any) string {
	s, _ := v.(string)
	return s
}

func numberOf(v any, none int64) int64 {
	if n, ok := v.(uint64); ok && n <= math.MaxInt64 {
		return int64(n)
	}
	if n, ok := v.(int64); ok {
		return n
	}
	return none
}
