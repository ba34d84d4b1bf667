package shard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// ErrFormat is wrapped by errors about files that are not what they should be:
// damaged, cut short or of another kind.
var ErrFormat = errors.New("not a readable shard")

// A Reader reads rows of T from a Parquet file. T may have fewer columns than
// the file; those it has must be of the file's types.
type Reader[T any] struct {
	r       io.ReaderAt
	file    *parquet.File
	groups  []parquet.RowGroup
	columns []int // those of the file that T has
}

// Open reads the footer of the Parquet file of size bytes in r.
func Open[T any](r io.ReaderAt, size int64) (_ *Reader[T], err error) {
	defer caught(&err, "open: %w", ErrFormat)
	f, err := openParquet(r, size)
	if err != nil {
		return nil, err
	}
	columns, err := sameColumns(parquet.SchemaOf(new(T)), f.Schema())
	if err != nil {
		return nil, err
	}
	return &Reader[T]{r: r, file: f, groups: f.RowGroups(), columns: columns}, nil
}

func openParquet(r io.ReaderAt, size int64) (*parquet.File, error) {
	if size < 12 {
		return nil, fmt.Errorf("%w: %d bytes are too few for a Parquet file", ErrFormat, size)
	}
	var tail [8]byte
	if _, err := r.ReadAt(tail[:], size-8); err != nil && err != io.EOF {
		return nil, fmt.Errorf("read footer: %w", err)
	}
	if magic := string(tail[4:]); magic != "PAR1" {
		if magic == "PARE" {
			return nil, fmt.Errorf("%w: the Parquet footer is encrypted", ErrFormat)
		}
		return nil, fmt.Errorf("%w: no Parquet footer: the file ends in %q", ErrFormat, magic)
	}
	if n := int64(binary.LittleEndian.Uint32(tail[:4])); n > size-12 {
		return nil, fmt.Errorf("%w: a footer of %d bytes in a file of %d", ErrFormat, n, size)
	}
	footer := make([]byte, binary.LittleEndian.Uint32(tail[:4]))
	if _, err := r.ReadAt(footer, size-8-int64(len(footer))); err != nil && err != io.EOF {
		return nil, fmt.Errorf("read footer: %w", err)
	}
	if _, err := compactEnd(footer, 0, 0); err != nil {
		return nil, fmt.Errorf("%w: footer: %w", ErrFormat, err)
	}
	f, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.ReadBufferSize(64<<10))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return f, checkChunks(f, size)
}

// checkChunks holds every place and length of the footer against the file's
// size.
func checkChunks(f *parquet.File, size int64) error {
	leaves := len(f.Schema().Columns())
	for g, rg := range f.Metadata().RowGroups {
		if rg.NumRows < 0 {
			return fmt.Errorf("%w: row group %d has %d rows", ErrFormat, g, rg.NumRows)
		}
		if len(rg.Columns) != leaves {
			return fmt.Errorf("%w: row group %d has %d columns, the schema %d", ErrFormat, g, len(rg.Columns), leaves)
		}
		for c := range rg.Columns {
			m := &rg.Columns[c].MetaData
			first := m.DataPageOffset
			if m.DictionaryPageOffset > 0 {
				first = min(first, m.DictionaryPageOffset)
			}
			if first < 0 || m.TotalCompressedSize < 0 || m.TotalCompressedSize > size || first > size-m.TotalCompressedSize {
				return fmt.Errorf("%w: column %q of row group %d lies outside the file", ErrFormat, m.PathInSchema, g)
			}
		}
	}
	return nil
}

// sameColumns returns the places in have of want's columns, or what is missing
// or of another type.
func sameColumns(want, have *parquet.Schema) ([]int, error) {
	var places []int
	var errs []error
	for _, path := range want.Columns() {
		w, _ := want.Lookup(path...)
		h, ok := have.Lookup(path...)
		name := columnName(path)
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("%w: no column %s", ErrFormat, name))
		case w.Node.Type().String() != h.Node.Type().String(),
			w.MaxDefinitionLevel != h.MaxDefinitionLevel, w.MaxRepetitionLevel != h.MaxRepetitionLevel:
			errs = append(errs, fmt.Errorf("%w: column %s is %s, want %s", ErrFormat, name, leafType(h), leafType(w)))
		default:
			places = append(places, h.ColumnIndex)
		}
	}
	return places, errors.Join(errs...)
}

func leafType(c parquet.LeafColumn) string {
	s := c.Node.Type().String()
	if c.Node.Optional() {
		s = "optional " + s
	}
	if c.MaxRepetitionLevel > 0 {
		s = "repeated " + s
	}
	return s
}

// columnName leaves out the levels that lists and maps add to a path.
func columnName(path []string) string {
	var s string
	for _, p := range path {
		switch p {
		case "list", "element", "key_value":
		default:
			s = join(s, p)
		}
	}
	return strings.TrimPrefix(s, ".")
}

// NumRows returns the number of rows of all groups.
func (r *Reader[T]) NumRows() int64 { return r.file.NumRows() }

// RowGroups returns the number of row groups.
func (r *Reader[T]) RowGroups() int { return len(r.groups) }

// GroupRows returns the number of rows of row group i.
func (r *Reader[T]) GroupRows(i int) int64 { return r.groups[i].NumRows() }

// Metadata returns one value of the footer's key-value pairs.
func (r *Reader[T]) Metadata(key string) (string, bool) { return r.file.Lookup(key) }

// ReadGroup reads row group i. Only the columns of T are read.
func (r *Reader[T]) ReadGroup(i int) (rows []T, err error) {
	defer caught(&err, "row group %d: %w", i, ErrFormat)
	for _, c := range r.columns {
		m := &r.file.Metadata().RowGroups[i].Columns[c].MetaData
		if err := checkPages(r.r, m); err != nil {
			return nil, fmt.Errorf("row group %d, column %s: %w: %w", i, columnName(m.PathInSchema), ErrFormat, err)
		}
	}
	gr := parquet.NewGenericRowGroupReader[T](r.groups[i])
	defer gr.Close()
	want := r.groups[i].NumRows()
	for int64(len(rows)) < want {
		at := len(rows)
		rows = append(rows, make([]T, min(want-int64(at), maxGroupRows))...)
		n, err := gr.Read(rows[at:])
		rows = rows[:at+n]
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("row group %d, row %d: %w: %w", i, at+n, ErrFormat, err)
		}
		if err == io.EOF || n == 0 {
			break
		}
	}
	if int64(len(rows)) != want {
		return nil, fmt.Errorf("row group %d: %w: %d rows, its footer says %d", i, ErrFormat, len(rows), want)
	}
	return rows, nil
}

// All reads all rows in order, a row group at a time.
func (r *Reader[T]) All() iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for i := range r.groups {
			rows, err := r.ReadGroup(i)
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}
