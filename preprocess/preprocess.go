// Package preprocess turns raw corpora into example shards: the stages Ingest,
// which reads the files of a corpus, and Split, which draws subsets of examples.
package preprocess

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
	"espalier/preprocess/corpus"
)

// batch is the number of rows given to a shard at once.
const batch = 256

// pageBytes is what the columns of a page of examples hold together.
const pageBytes = 1 << 20

// A sink writes rows of one type to a shard for each split.
type sink[R any] struct {
	out    *store.Writer
	schema string
	notes  map[string]string // metadata of the files
	open   map[string]*shardFile[R]
	order  []string
}

type shardFile[R any] struct {
	f    *store.OutFile
	w    *shard.Writer[R]
	rows []R
}

func newSink[R any](out *store.Writer, schema string) *sink[R] {
	return &sink[R]{out: out, schema: schema, open: map[string]*shardFile[R]{}}
}

func (s *sink[R]) put(split string, row R) error {
	sf := s.open[split]
	if sf == nil {
		f, err := s.out.Create(split+".parquet", s.schema)
		if err != nil {
			return err
		}
		w, err := shard.NewWriter[R](f, shard.Options{PageBytes: pageBytes, Quick: true, Metadata: s.notes})
		if err != nil {
			return err
		}
		sf = &shardFile[R]{f: f, w: w, rows: make([]R, 0, batch)}
		s.open[split] = sf
		s.order = append(s.order, split)
	}
	if sf.rows = append(sf.rows, row); len(sf.rows) < batch {
		return nil
	}
	return sf.flush()
}

func (sf *shardFile[R]) flush() error {
	err := sf.w.Write(sf.rows)
	clear(sf.rows)
	sf.rows = sf.rows[:0]
	return err
}

// close finishes the shards in the order in which they were begun.
func (s *sink[R]) close() error {
	for _, split := range s.order {
		sf := s.open[split]
		if err := sf.flush(); err != nil {
			return err
		}
		rows := sf.w.Rows()
		if err := sf.w.Close(); err != nil {
			return err
		}
		if err := sf.f.Close(rows); err != nil {
			return err
		}
	}
	return nil
}

// write writes the records of a sequence: rows to the shards of their splits,
// dead letters to the task. To turns what a reader gives into what is written.
func write[R, W any](ctx context.Context, t *pipeline.Task, file, schema string, seq iter.Seq2[corpus.Record[R], error], to func(*R) (split string, row W)) error {
	s := newSink[W](t.Out, schema)
	n, joined := int64(0), int64(0)
	for rec, err := range seq {
		if err != nil {
			return err
		}
		n++
		if rec.Dead != nil {
			if rec.Dead.File != file {
				joined++
			}
			if err := t.Dead(*rec.Dead); err != nil {
				return err
			}
			continue
		}
		split, row := to(rec.Row)
		if split == "" {
			return errors.New("a row without a split")
		}
		if err := s.put(split, row); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if n%batch == 0 {
			t.Meter.Add(batch)
		}
	}
	t.Meter.Add(n % batch)
	t.RowsIn(file, n-joined)
	t.Rows(joined)
	return s.close()
}
