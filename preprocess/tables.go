package preprocess

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/pipeline/store"
)

// tablesOf lists the tables of a split of an input: its shards or, of a folder
// of other people's files that has none, all tables in the order of their names
// if the split is the one that is read by default.
func tablesOf(in *pipeline.Input, split string, byDefault bool) ([]store.FileEntry, error) {
	if list := in.Shards(split); len(list) > 0 {
		return list, nil
	}
	splits := in.Manifest.Splits()
	if len(splits) > 0 {
		return nil, fmt.Errorf("%s has no split %s, only %s", in.Node, split, strings.Join(splits, ", "))
	}
	list := othersOf(in)
	if len(list) == 0 || !byDefault {
		return nil, fmt.Errorf("%s has no split %s and no other tables", in.Node, split)
	}
	return list, nil
}

// othersOf lists the tables of other people's files: those that are called so, or
// the one file there is, which is told by its first bytes.
func othersOf(in *pipeline.Input) (list []store.FileEntry) {
	for _, e := range in.Manifest.Files {
		if isTable(e.Name) || len(in.Manifest.Files) == 1 && in.Manifest.External {
			list = append(list, e)
		}
	}
	return list
}

func isTable(name string) bool {
	return path.Base(name) != store.DeadLetters && shard.Named(name)
}

// rowsOf reads columns of a table of any writer. Those that it lacks are nil in
// every row if they are optional.
func rowsOf(ctx context.Context, in *pipeline.Input, e store.FileEntry, columns []string, optional ...string) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		err := eachRow(ctx, in, e, columns, optional, func(row []any) bool { return yield(row, nil) })
		var r *pipeline.RefusedError
		if err != nil && !errors.As(err, &r) {
			err = fmt.Errorf("%s: %w", e.Name, err)
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

func eachRow(ctx context.Context, in *pipeline.Input, e store.FileEntry, columns, optional []string, do func([]any) bool) (err error) {
	f, err := in.Open(e.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	table, err := shard.OpenTable(f, f.Size())
	if err != nil {
		return unread(e.Name, err)
	}
	for _, name := range columns {
		if !slices.ContainsFunc(table.Columns(), func(c shard.Column) bool { return c.Name == name }) {
			return &pipeline.RefusedError{File: e.Name, Offset: -1, Field: name, Reason: "no such column"}
		}
	}
	names := slices.Clone(columns)
	at := make([]int, len(optional)) // of optional columns in a row, -1 if there is none
	for i, name := range optional {
		at[i] = -1
		if slices.ContainsFunc(table.Columns(), func(c shard.Column) bool { return c.Name == name }) {
			at[i] = len(names)
			names = append(names, name)
		}
	}
	if table, err = table.Select(names...); err != nil {
		return err
	}
	out := make([]any, len(columns)+len(optional))
	n := 0
	for row, err := range table.Rows() {
		if err != nil {
			return unread(e.Name, err)
		}
		if n++; n%batch == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		copy(out, row[:len(columns)])
		for i, k := range at {
			out[len(columns)+i] = nil
			if k >= 0 {
				out[len(columns)+i] = row[k]
			}
		}
		if !do(out) {
			return nil
		}
	}
	return nil
}

// unread refuses a table that cannot be read.
func unread(file string, err error) error {
	if errors.Is(err, shard.ErrFormat) {
		return &pipeline.RefusedError{File: file, Offset: -1, Reason: err.Error()}
	}
	return err
}
