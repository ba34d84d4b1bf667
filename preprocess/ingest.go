package preprocess

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"espalier/pipeline"
	"espalier/pipeline/store"
	"espalier/preprocess/rawfile"
)

// annotations is the input of a file that is joined to the raw file, if it has
// no published name.
const annotations = "annotations"

// Ingest reads the raw files of a corpus, its input "raw", into example shards,
// one or more a split. Its parts are slices of the files. The input
// "annotations" may give the file that a corpus joins to its raw file.
type Ingest struct {
	Corpus string   `yaml:"corpus" json:"corpus" doc:"what the raw files are, such as coco/karpathy; espalier data list prints all"`
	Split  string   `yaml:"split" json:"split" doc:"the rows' split, if the files do not say; selects one of coco/karpathy"`
	Marks  []string `yaml:"marks" json:"marks" doc:"members of coco/karpathy's images, true or false, that are kept in meta.marks"`
	Part   int      `yaml:"part" json:"part" doc:"rows of a part, about; default 4096"`
	// Encoding is declared, never guessed.
	Encoding string `yaml:"encoding" json:"encoding" doc:"of tab-separated and labelled lines: utf-8, latin-1, windows-1252 or gb18030; default utf-8, latin-1 for trec"`
	Member   string `yaml:"member" json:"member" doc:"the member of an archive that is read; default all that have published names"`
}

// Kind is "preprocess/ingest".
func (*Ingest) Kind() string { return "preprocess/ingest" }

// Version is raised when equal files would give other rows.
func (*Ingest) Version() int { return 7 }

// Check fills in defaults.
func (g *Ingest) Check() error {
	if g.Part == 0 {
		g.Part = 4096
	}
	var errs []error
	r, known := readerOf(g.Corpus)
	switch {
	case g.Corpus == "":
		errs = append(errs, errors.New("corpus: required"))
	case !known:
		errs = append(errs, fmt.Errorf("corpus: %q, want one of %s", g.Corpus, strings.Join(Corpora(), ", ")))
	case len(g.Marks) > 0 && !r.marks:
		errs = append(errs, fmt.Errorf("marks: %s has none", g.Corpus))
	case g.Encoding != "" && !r.encoded:
		errs = append(errs, fmt.Errorf("encoding: the files of %s have one", g.Corpus))
	}
	for i, m := range g.Marks {
		if m == "" || slices.Contains(g.Marks[:i], m) {
			errs = append(errs, fmt.Errorf("marks: %q is empty or there twice", m))
		}
	}
	if strings.ContainsAny(g.Split, "/\\\x00") {
		errs = append(errs, fmt.Errorf("split: %q is no name for a split", g.Split))
	}
	if g.Encoding != "" {
		name, err := rawfile.Encoding(g.Encoding)
		if err != nil {
			errs = append(errs, err)
		} else {
			g.Encoding = name
		}
	}
	if g.Part < 1 || g.Part > 1<<20 {
		errs = append(errs, fmt.Errorf("part: %d, want 1 to %d", g.Part, 1<<20))
	}
	return errors.Join(errs...)
}

// Foresees reports whether Plan looks at no digest of a raw file: only corpora of
// folders do.
func (g *Ingest) Foresees() bool {
	r, ok := readerOf(g.Corpus)
	return ok && !r.folders
}

// A slice is what a part works on: a slice of a file, in the reader's terms.
type slice struct {
	File   string          `json:"file"`
	Joined []string        `json:"joined,omitempty"` // files joined to it
	Of     json.RawMessage `json:"of"`
}

// Plan scans the files for the borders of rows.
func (g *Ingest) Plan(ctx context.Context, t *pipeline.Task) ([]pipeline.Part, error) {
	raw, r, err := g.input(t)
	if err != nil {
		return nil, err
	}
	if t.In[annotations] != nil && r.joins == nil {
		return nil, fmt.Errorf("preprocess/ingest: nothing is joined to the files of %s", g.Corpus)
	}
	all, err := rawsOf(t, raw).list(ctx, g.Member)
	if err != nil {
		return nil, err
	}
	names, err := r.find(all, g.Split)
	if err != nil {
		return nil, err
	}
	var parts []pipeline.Part
	var errs []error
	for _, name := range names {
		list, err := g.plan(ctx, t, r, name, r.joined(name, all), all)
		if err != nil {
			errs = append(errs, err) // all refused files are named at once
			continue
		}
		for _, p := range list {
			p.Index = len(parts)
			parts = append(parts, p)
		}
	}
	return parts, errors.Join(errs...)
}

func (g *Ingest) input(t *pipeline.Task) (*pipeline.Input, *reader, error) {
	raw := t.In["raw"]
	if raw == nil {
		return nil, nil, errors.New("preprocess/ingest: no input named raw")
	}
	r, ok := readerOf(g.Corpus)
	if !ok {
		return nil, nil, fmt.Errorf("preprocess/ingest: no corpus %q", g.Corpus)
	}
	return raw, r, nil
}

func (g *Ingest) plan(ctx context.Context, t *pipeline.Task, r *reader, name string, joined []string, all []store.FileEntry) (_ []pipeline.Part, err error) {
	src, err := g.open(ctx, t, r, name, joined, r.below(name, all))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.close()) }()
	mean := g.Part
	if src.stream {
		mean = 1 << 40 // what must be expanded is one part
	}
	list, err := r.plan(ctx, src.Source, mean)
	if err != nil {
		return nil, rawsOf(t, t.In["raw"]).refusal(err, name)
	}
	parts := make([]pipeline.Part, len(list))
	for i, sl := range list {
		text, err := json.Marshal(slice{File: name, Joined: joined, Of: sl.Of})
		if err != nil {
			return nil, err
		}
		parts[i] = pipeline.Part{ID: sl.ID, Slice: text}
	}
	return parts, nil
}

// Run reads one slice.
func (g *Ingest) Run(ctx context.Context, t *pipeline.Task, part pipeline.Part) (err error) {
	_, r, err := g.input(t)
	if err != nil {
		return err
	}
	var sl slice
	if err := json.Unmarshal(part.Slice, &sl); err != nil {
		return fmt.Errorf("slice of part %d: %w", part.Index, err)
	}
	var files []store.FileEntry
	if r.folders {
		all, err := rawsOf(t, t.In["raw"]).list(ctx, g.Member)
		if err != nil {
			return err
		}
		files = r.below(sl.File, all)
	}
	src, err := g.open(ctx, t, r, sl.File, sl.Joined, files)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.close()) }()
	t.Meter.Expect(0, "rows")
	return r.read(ctx, t, src.Source, sl.Of)
}

// Finish takes out rows whose key a row of an earlier file of the split has. Plan
// has settled those within a file.
func (g *Ingest) Finish(ctx context.Context, t *pipeline.Task, parts []pipeline.Part) error {
	if err := g.selected(t, parts); err != nil {
		return err
	}
	return g.merged(ctx, t, parts)
}

// selected refuses files that say the splits of their rows, none of them the one
// that is wanted.
func (g *Ingest) selected(t *pipeline.Task, parts []pipeline.Part) error {
	r, ok := readerOf(g.Corpus)
	if !ok || g.Split == "" || !r.selects || len(parts) == 0 {
		return nil
	}
	for i := range parts {
		if p := t.Part(i); len(p.Files) > 0 || p.Dead > 0 {
			return nil
		}
	}
	var sl slice
	if err := json.Unmarshal(parts[0].Slice, &sl); err != nil {
		return fmt.Errorf("slice of part %d: %w", parts[0].Index, err)
	}
	return &pipeline.RefusedError{File: sl.File, Offset: -1, Field: g.Split, Reason: "no row of this split"}
}

// rawsOf are the files of an input.
func rawsOf(t *pipeline.Task, in *pipeline.Input) *raws {
	return &raws{entries: in.Manifest.Files, scratch: t.Env.Scratch, open: func(name string) (handle, error) { return in.Open(name) }}
}

// open opens a raw file and the files joined to it, or the files of a folder. If
// the input "annotations" is there, its files take the place of those joined.
func (g *Ingest) open(ctx context.Context, t *pipeline.Task, r *reader, name string, joined []string, files []store.FileEntry) (*opened, error) {
	w := rawsOf(t, t.In["raw"])
	others := w
	if notes := t.In[annotations]; notes != nil {
		others, joined = rawsOf(t, notes), nil
		list, err := others.list(ctx, "")
		if err != nil {
			return nil, err
		}
		for _, f := range list {
			joined = append(joined, f.Name)
		}
	}
	var o *opened
	var err error
	if r.folders {
		o = w.folder(ctx, name, files)
	} else if o, err = w.source(ctx, name, joined, others); err != nil {
		return nil, err
	}
	o.Split, o.Marks, o.Encoding = g.Split, g.Marks, g.Encoding
	o.Memory, o.Scratch = t.Env.MemoryBytes, t.Env.Scratch
	return o, nil
}
