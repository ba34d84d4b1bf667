package preprocess

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
	"espalier/preprocess/example"
	"espalier/preprocess/split"
)

// Select applies its input "split", a file of ids as Split and Guard write it, to
// its input "examples": the examples that it names, as they are but for their
// split. An id of the same corpus and task that the examples lack is an error,
// because the split was then drawn from others. Its parts are the shards of the examples; the ids of the
// split are held in memory.
type Select struct {
	Only []string `yaml:"only" json:"only" doc:"splits of the file that are wanted; default all"`
}

// Kind is "preprocess/select".
func (*Select) Kind() string { return "preprocess/select" }

// Version is raised when equal examples would give other bytes.
func (*Select) Version() int { return 1 }

// Check reports splits without a name.
func (s *Select) Check() error {
	for _, name := range s.Only {
		if name == "" {
			return errors.New("only: a split without a name")
		}
	}
	return nil
}

// Plan makes each shard of the examples a part.
func (s *Select) Plan(ctx context.Context, t *pipeline.Task) ([]pipeline.Part, error) {
	in, by := t.In["examples"], t.In["split"]
	if in == nil || by == nil {
		return nil, errors.New("preprocess/select: want inputs named examples and split")
	}
	members, err := s.members(ctx, by)
	if err != nil {
		return nil, err
	}
	t.Out.Note(wantedNote, strconv.Itoa(len(members)))
	digest := store.DigestFiles(by.Manifest.Files)
	var parts []pipeline.Part
	for _, from := range in.Manifest.Splits() {
		for _, e := range in.Shards(from) {
			sl, err := json.Marshal(e)
			if err != nil {
				return nil, err
			}
			parts = append(parts, pipeline.Part{Index: len(parts), ID: e.SHA256 + " by " + digest, Slice: sl})
		}
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("preprocess/select: %s has no example shards", in.Node)
	}
	return parts, nil
}

// Notes of Select.
const (
	wantedNote = "ids"   // ids of the split
	foundNote  = "found" // rows that a part found
	tasksNote  = "tasks" // "corpus/task/" of a part's rows, a line each
)

// members are the splits of ids.
func (s *Select) members(ctx context.Context, by *pipeline.Input) (map[string]string, error) {
	wanted := map[string]bool{}
	for _, name := range s.Only {
		wanted[name] = true
	}
	out := map[string]string{}
	for _, e := range othersOf(by) {
		if e.Schema != "" && e.Schema != split.Schema {
			continue
		}
		for row, err := range rowsOf(ctx, by, e, []string{"id", "split"}) {
			if err != nil {
				return nil, err
			}
			id, into := textOf(row[0]), textOf(row[1])
			if id == "" || into == "" {
				return nil, &pipeline.RefusedError{File: e.Name, Offset: -1, Field: "id", Reason: "a row without id or split"}
			}
			if len(wanted) > 0 && !wanted[into] {
				continue
			}
			if _, twice := out[id]; twice {
				return nil, &pipeline.RefusedError{File: e.Name, Offset: -1, Field: "id", Reason: "id " + id + " is there twice"}
			}
			out[id] = into
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("preprocess/select: %s names no examples", by.Node)
	}
	return out, nil
}

// Run copies the wanted rows of one shard.
func (s *Select) Run(ctx context.Context, t *pipeline.Task, p pipeline.Part) (err error) {
	var e store.FileEntry
	if err := json.Unmarshal(p.Slice, &e); err != nil {
		return fmt.Errorf("slice of part %d: %w", p.Index, err)
	}
	members, err := s.members(ctx, t.In["split"])
	if err != nil {
		return err
	}
	f, err := t.In["examples"].Open(e.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	c, err := shard.OpenCopier(f, f.Size(), "id", "split")
	if err != nil {
		return fmt.Errorf("%s: %w", e.Name, err)
	}
	type copied struct {
		f *store.OutFile
		w *shard.CopyWriter
	}
	open := map[string]*copied{}
	var order []string
	found, n := 0, int64(0)
	var tasks []string
	err = c.Each(f, func(id string, put func(*shard.CopyWriter, string) error) error {
		if n++; n%batch == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			t.Meter.Add(batch)
		}
		if task := taskOf(id); len(tasks) == 0 || tasks[len(tasks)-1] != task && !slices.Contains(tasks, task) {
			tasks = append(tasks, task)
		}
		into, ok := members[id]
		if !ok {
			return nil
		}
		o := open[into]
		if o == nil {
			o = &copied{}
			if o.f, err = t.Out.Create(into+".parquet", example.Schema); err != nil {
				return err
			}
			if o.w, err = c.NewWriter(o.f, shard.Options{Quick: true}); err != nil {
				return err
			}
			open[into] = o
			order = append(order, into)
		}
		found++
		return put(o.w, into)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", e.Name, err)
	}
	for _, into := range order {
		o := open[into]
		if err := o.w.Close(); err != nil {
			return err
		}
		if err := o.f.Close(o.w.Rows()); err != nil {
			return err
		}
	}
	t.Out.Note(foundNote, strconv.Itoa(found))
	t.Out.Note(tasksNote, strings.Join(tasks, "\n"))
	return nil
}

// taskOf is the beginning of an id that tells corpus and task.
func taskOf(id string) string {
	at := 0
	for range 2 {
		n := strings.IndexByte(id[at:], '/')
		if n < 0 {
			return ""
		}
		at += n + 1
	}
	return id[:at]
}

// Finish holds the rows found against the ids of the split.
func (s *Select) Finish(ctx context.Context, t *pipeline.Task, parts []pipeline.Part) error {
	members, err := s.members(ctx, t.In["split"])
	if err != nil {
		return err
	}
	sum := 0
	tasks := map[string]bool{}
	for i := range parts {
		notes := t.Part(i).Notes
		n, err := strconv.Atoi(notes[foundNote])
		if err != nil {
			return fmt.Errorf("part %d: note %s: %w", i, foundNote, err)
		}
		sum += n
		for _, task := range strings.Split(notes[tasksNote], "\n") {
			tasks[task] = true
		}
	}
	wanted := 0
	for id := range members {
		if tasks[taskOf(id)] {
			wanted++
		}
	}
	if sum != wanted || sum == 0 {
		return &pipeline.RefusedError{
			File: "split", Offset: -1, Field: "id",
			Reason: fmt.Sprintf("%d of its %d ids are in %s: it was drawn from other examples", sum, len(members), t.In["examples"].Node),
		}
	}
	return nil
}
