package export

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"espalier/pipeline"
	"espalier/pipeline/shard"
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/example"
)

// Table returns the format of exported Parquet and Arrow files. A file is one
// slice; of the keys, which are few bytes a row, all are held while it is read.
func (x *Export[F, M]) Table() corpus.Format[F, M] { return tables[F, M]{x} }

type tables[F, M any] struct{ x *Export[F, M] }

// Plan reads the columns there are.
func (t tables[F, M]) Plan(ctx context.Context, src *corpus.Source, _ int) ([]corpus.Slice, error) {
	if _, err := t.open(src); err != nil {
		return nil, err
	}
	d := corpus.NewDigest(src.Name)
	if err := d.AddAll(ctx, src); err != nil {
		return nil, err
	}
	return []corpus.Slice{{ID: d.String(), Of: json.RawMessage("null")}}, nil
}

// open opens a table with the wanted columns. Columns of label and key may be
// missing.
func (t tables[F, M]) open(src *corpus.Source) (*shard.Table, error) {
	refuse := func(field, reason string) error {
		return &pipeline.RefusedError{File: src.Name, Offset: -1, Field: field, Reason: reason}
	}
	table, err := shard.OpenTable(src, src.Size)
	if errors.Is(err, shard.ErrFormat) {
		return nil, refuse("", err.Error())
	} else if err != nil {
		return nil, fmt.Errorf("read %s: %w", src.Name, err)
	}
	has := func(name string) bool {
		return slices.ContainsFunc(table.Columns(), func(c shard.Column) bool { return c.Name == name })
	}
	names := slices.Clone(t.x.Columns)
	for _, name := range names {
		if !has(name) {
			return nil, refuse(name, "no such column")
		}
	}
	for _, name := range []string{t.x.Label, t.x.Key} {
		if name != "" && has(name) {
			names = append(names, name)
		}
	}
	return table.Select(names...)
}

// Read reads all rows of a file.
func (t tables[F, M]) Read(ctx context.Context, src *corpus.Source, _ json.RawMessage) iter.Seq2[corpus.Record[example.Row[F, M]], error] {
	return func(yield func(corpus.Record[example.Row[F, M]], error) bool) {
		none := corpus.Record[example.Row[F, M]]{}
		table, err := t.open(src)
		if err != nil {
			yield(none, err)
			return
		}
		out := records.NewOut[F, M](t.x.Corpus, t.x.Task, src)
		seen := map[string]struct{}{}
		n := len(t.x.Columns)
		values := make([]any, n+2)
		index := int64(0)
		for row, err := range table.Rows() {
			if err == nil && index%256 == 0 {
				err = ctx.Err()
			}
			if errors.Is(err, shard.ErrFormat) {
				err = &pipeline.RefusedError{File: src.Name, Offset: -1, Reason: err.Error()}
			}
			if err != nil {
				yield(none, err)
				return
			}
			clear(values)
			for i, v := range row {
				row[i] = signed(v)
			}
			copy(values, row[:n])
			for i, c := range table.Columns()[n:] {
				at := n
				if c.Name != t.x.Label {
					at = n + 1
				}
				values[at] = row[n+i]
			}
			out.Begin(&records.Element{Index: index, Where: "rows", JSON: true}, index)
			t.x.row(values, out)
			index++
			for _, rec := range out.Records() {
				if rec.Row != nil && (t.x.Key != "" || t.x.KeyOf != nil) {
					if _, twin := seen[rec.Row.Key]; twin {
						out.Twin(&rec, cmp.Or(t.x.Key, "idx"))
					} else {
						seen[rec.Row.Key] = struct{}{}
					}
				}
				if !yield(rec, nil) {
					return
				}
			}
		}
	}
}

// signed turns numbers of a column without signs into those of one with them,
// where they are small enough: files differ in that, not in what they say.
func signed(v any) any {
	if n, ok := v.(uint64); ok && n <= math.MaxInt64 {
		return int64(n)
	}
	return v
}
