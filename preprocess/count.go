package preprocess

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"slices"

	"espalier/pipeline"
	"espalier/pipeline/store"
	"espalier/preprocess/corpus"
	"espalier/preprocess/rawfile"
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
	found, err := r.find(entries)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errors.New("no raw files")
	}
	c := &Counts{Files: found, Rows: map[string]int64{}, Native: map[string]int64{}}
	for _, name := range found {
		if err := c.count(ctx, r, name, r.joined(name, entries), paths); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *Counts) count(ctx context.Context, r *reader, name string, joined []string, paths map[string]string) (err error) {
	var closers []io.Closer
	defer func() {
		for _, c := range slices.Backward(closers) {
			err = errors.Join(err, c.Close())
		}
	}()
	open := func(name string) (*corpus.Source, error) {
		f, err := os.Open(paths[name])
		if err != nil {
			return nil, err
		}
		closers = append(closers, f)
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		p, err := rawfile.Open(ctx, name, f, info.Size(), "")
		if err != nil {
			return nil, err
		}
		closers = append(closers, p)
		return &corpus.Source{ReaderAt: p, Size: p.Size, Name: name}, nil
	}
	src, err := open(name)
	if err != nil {
		return err
	}
	for _, name := range joined {
		other, err := open(name)
		if err != nil {
			return err
		}
		src.Joined = append(src.Joined, other)
	}
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
