package preprocess

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"

	"espalier/pipeline"
	"espalier/pipeline/store"
	"espalier/preprocess/corpus"
)

// A RawFile is a file on disk and its name among the files of a corpus.
type RawFile struct {
	Name, Path string
}

// Counts says how many rows the raw files of a corpus hold.
type Counts struct {
	Files     []string         // those that were read
	Rows      map[string]int64 // by split
	Native    map[string]int64 // by native split, where rows of several go to one
	Dead      int64
	FirstDead string // where and why
}

// Splits returns the splits that have rows, sorted.
func (c *Counts) Splits() []string { return slices.Sorted(maps.Keys(c.Rows)) }

// CountRows reads the files of a corpus among others, as Ingest would, and counts
// their rows. Files that cannot be used are [*pipeline.RefusedError].
func CountRows(ctx context.Context, name string, files []RawFile) (*Counts, error) {
	r, ok := readerOf(name)
	if !ok {
		return nil, fmt.Errorf("no corpus %q", name)
	}
	entries := make([]store.FileEntry, len(files))
	paths := map[string]string{}
	for i, f := range files {
		entries[i].Name = f.Name
		paths[f.Name] = f.Path
	}
	w := &raws{entries: entries, open: func(name string) (handle, error) { return openFile(paths[name]) }}
	all, err := w.list(ctx, "")
	if err != nil {
		return nil, err
	}
	found, err := r.find(all, "")
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errors.New("no raw files")
	}
	c := &Counts{Files: found, Rows: map[string]int64{}, Native: map[string]int64{}}
	for _, name := range found {
		if err := c.count(ctx, r, w, name, all); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Members returns the names of the files in archives among others, such as
// "QNLI.zip/QNLI/train.tsv".
func Members(ctx context.Context, files []RawFile) ([]string, error) {
	var out []string
	for _, f := range files {
		if !isArchive(f.Name) {
			continue
		}
		w := &raws{entries: []store.FileEntry{{Name: f.Name}}, open: func(string) (handle, error) { return openFile(f.Path) }}
		list, err := w.members(ctx, w.entries[0], "")
		if err != nil {
			return nil, err
		}
		for _, m := range list {
			out = append(out, m.Name)
		}
	}
	return out, nil
}

// An osFile is a file on disk.
type osFile struct {
	*os.File
	size int64
}

func (f osFile) Size() int64 { return f.size }

func openFile(path string) (handle, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return osFile{f, info.Size()}, nil
}

func (c *Counts) count(ctx context.Context, r *reader, w *raws, name string, all []store.FileEntry) (err error) {
	var o *opened
	if r.folders {
		o = w.folder(ctx, name, r.below(name, all))
	} else if o, err = w.source(ctx, name, r.joined(name, all), w); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.close()) }()
	src := o.Source
	for got, err := range r.whole(ctx, src) {
		if err != nil {
			return err
		}
		if got.dead != nil {
			c.add(got.dead)
			continue
		}
		c.Rows[got.split]++
		c.Native[got.native]++
	}
	return nil
}

func (c *Counts) add(d *pipeline.DeadLetter) {
	if c.Dead == 0 {
		c.FirstDead = fmt.Sprintf("%s: %s", placeOf(d), d.Reason)
	}
	c.Dead++
}

func placeOf(d *pipeline.DeadLetter) string {
	s := d.File
	switch {
	case d.Where != "":
		s += ": " + d.Where
	case d.Line != nil:
		s += fmt.Sprintf(":%d", *d.Line)
	}
	if d.Field != "" {
		s += ": " + d.Field
	}
	return s
}

// An outcome is what CountRows needs of a record: the splits of a row, or a dead
// letter.
type outcome struct {
	split, native string
	dead          *pipeline.DeadLetter
}

func outcomes[R any](seq iter.Seq2[corpus.Record[R], error], splits func(*R) (split, native string)) iter.Seq2[outcome, error] {
	return func(yield func(outcome, error) bool) {
		for rec, err := range seq {
			o := outcome{dead: rec.Dead}
			if rec.Row != nil {
				o.split, o.native = splits(rec.Row)
			}
			if !yield(o, err) || err != nil {
				return
			}
		}
	}
}
