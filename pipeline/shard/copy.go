package shard

import (
	"cmp"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// A Copier reads the rows of a Parquet file whose columns need not be known, so
// that some of them can be written to other files as they are.
type Copier struct {
	f        *parquet.File
	id, mark int // leaf columns
}

// OpenCopier opens a file in which the text columns id and mark are required
// and not nested. Rows are told by their id; a copy may get another mark.
func OpenCopier(r io.ReaderAt, size int64, id, mark string) (c *Copier, err error) {
	defer caught(&err, "open: %w", ErrFormat)
	f, err := openParquet(r, size)
	if err != nil {
		return nil, err
	}
	c = &Copier{f: f}
	for _, want := range []struct {
		name string
		at   *int
	}{{id, &c.id}, {mark, &c.mark}} {
		leaf, ok := f.Schema().Lookup(want.name)
		if !ok || !leaf.Node.Required() || leaf.Node.Type().Kind() != parquet.ByteArray {
			return nil, fmt.Errorf("no column %q of text", want.name)
		}
		*want.at = leaf.ColumnIndex
	}
	return c, nil
}

// Rows returns the number of rows.
func (c *Copier) Rows() int64 { return c.f.NumRows() }

// Each calls do with the id of every row in order; put writes that row,
// with another mark unless that is empty. Groups
// of rows are checked before they are read.
func (c *Copier) Each(r io.ReaderAt, do func(id string, put func(w *CopyWriter, mark string) error) error) (err error) {
	defer caught(&err, "read: %w", ErrFormat)
	for g, group := range c.f.RowGroups() {
		for i := range c.f.Metadata().RowGroups[g].Columns {
			if err := checkPages(r, &c.f.Metadata().RowGroups[g].Columns[i].MetaData); err != nil {
				return fmt.Errorf("row group %d: %w: %w", g, ErrFormat, err)
			}
		}
		if err := c.group(group, do); err != nil {
			return err
		}
	}
	return nil
}

func (c *Copier) group(group parquet.RowGroup, do func(id string, put func(w *CopyWriter, mark string) error) error) error {
	rows := group.Rows()
	defer rows.Close()
	buf := make([]parquet.Row, 64)
	for {
		n, err := rows.ReadRows(buf)
		for i := range n {
			row := buf[i]
			id := ""
			row.Range(func(column int, values []parquet.Value) bool {
				if column == c.id {
					id = string(values[0].ByteArray())
				}
				return column < c.id
			})
			put := func(w *CopyWriter, mark string) error { return w.put(row, mark) }
			if err := do(id, put); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// A CopyWriter writes rows of a Copier to a file of the same columns.
type CopyWriter struct {
	w         *parquet.GenericWriter[any]
	mark      int
	rows      int64
	inGroup   int
	bytes     int64
	groupRows int
}

// NewWriter returns a writer of copies.
func (c *Copier) NewWriter(w io.Writer, o Options) (_ *CopyWriter, err error) {
	defer caught(&err, "schema of copies")
	packer := codec
	if o.Quick {
		packer = quick
	}
	options := []parquet.WriterOption{
		c.f.Schema(), parquet.Compression(packer), parquet.CreatedBy("espalier", "1.0.0", "1"),
		parquet.PageBufferSize(1 << 20), parquet.DataPageStatistics(false),
	}
	for k, v := range o.Metadata {
		options = append(options, parquet.KeyValueMetadata(k, v))
	}
	return &CopyWriter{w: parquet.NewGenericWriter[any](w, options...), mark: c.mark, groupRows: min(cmp.Or(o.RowGroupRows, maxGroupRows), maxGroupRows)}, nil
}

func (w *CopyWriter) put(row parquet.Row, mark string) (err error) {
	defer caught(&err, "copy row %d", w.rows)
	row = row.Clone()
	for i, v := range row {
		if v.Column() == w.mark && mark != "" {
			row[i] = parquet.ByteArrayValue([]byte(mark)).Level(0, 0, w.mark)
		}
		w.bytes += 2
		if v.Kind() == parquet.ByteArray {
			w.bytes += int64(len(v.ByteArray()))
		}
	}
	if _, err := w.w.WriteRows([]parquet.Row{row}); err != nil {
		return fmt.Errorf("copy row %d: %w", w.rows, err)
	}
	w.rows++
	if w.inGroup++; w.inGroup >= w.groupRows || w.bytes >= maxGroupBytes {
		if err := w.w.Flush(); err != nil {
			return fmt.Errorf("write row group that ends before row %d: %w", w.rows, err)
		}
		w.inGroup, w.bytes = 0, 0
	}
	return nil
}

// Rows returns the number of rows written so far.
func (w *CopyWriter) Rows() int64 { return w.rows }

// Close writes the footer. It does not close the underlying writer.
func (w *CopyWriter) Close() (err error) {
	defer caught(&err, "write footer")
	return w.w.Close()
}
