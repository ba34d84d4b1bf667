package shard

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

const (
	maxGroupRows  = 8192
	maxGroupBytes = 32 << 20
	maxRowBytes   = 1 << 30
)

// codec is zstd level 3. All writers share it, because each of its encoders
// holds 16 MB, which it lends out one at a time. Quick is level 1.
var (
	codec = &zstd.Codec{Level: zstd.SpeedDefault}
	quick = &zstd.Codec{Level: zstd.SpeedFastest}
)

// Options say how a Parquet file is written. The zero value is what most
// outputs use.
type Options struct {
	RowGroupRows  int               // rows of a group: at most 8,192, which is also the default
	RowGroupBytes int64             // a group is closed once its values take this much; 0 means 32 MiB
	Metadata      map[string]string // key-value pairs of the footer
	// PageBytes has all columns end their pages at the same rows, once the
	// values since the last page take this much. Columns that repeat others, as
	// a single reference does a text, are then compressed once. 0 lets each
	// column end a page at 1 MiB of its own.
	PageBytes int64
	// Quick writes values straight into their columns, where PageBytes are given
	// and all columns are of kinds that this is known of. What is compressed is
	// so by zstd's level 1, or by coding bytes alone where texts repeat little.
	Quick bool
}

// A RowError says that a row was refused by Write.
type RowError struct {
	Row    int64  // counted from 0 over all rows given to the Writer
	Column string // such as "meta.title"
	Reason string
}

func (e *RowError) Error() string {
	return fmt.Sprintf("row %d, column %s: %s", e.Row, e.Column, e.Reason)
}

// A Writer writes rows of T, a struct with parquet tags, to a Parquet file.
type Writer[T any] struct {
	w          columnar[T]
	inspect    *inspector[T]
	rows       int64
	groupRows  int
	groupBytes int64
	pageBytes  int64
	inGroup    int
	inPage     int64
	bytes      int64
	sizes      []int64 // of the rows of one call
	err        error
}

// A columnar is what writes the columns of a file: columns, or the module, which
// knows all kinds.
type columnar[T any] interface {
	add(rows []T) error // keeps nothing that rows hold
	endPages() error    // ends the pages of all columns
	endGroup() error
	close() error // writes the footer
}

// NewWriter returns a Writer to w. It fails if T cannot be written.
func NewWriter[T any](w io.Writer, o Options) (_ *Writer[T], err error) {
	defer caught(&err, "schema of %T", *new(T))
	inspect, err := newInspector[T]()
	if err != nil {
		return nil, err
	}
	if o.RowGroupRows < 0 || o.RowGroupBytes < 0 || o.PageBytes < 0 {
		return nil, errors.New("shard: negative size of a row group or page")
	}
	out := &Writer[T]{
		inspect:    inspect,
		groupRows:  min(cmp.Or(o.RowGroupRows, maxGroupRows), maxGroupRows),
		groupBytes: cmp.Or(o.RowGroupBytes, maxGroupBytes),
		pageBytes:  o.PageBytes,
	}
	if o.Quick && o.PageBytes > 0 {
		c, err := newColumns[T]()
		if err == nil {
			out.w = c
			return out, c.begin(w, o)
		}
	}
	out.w = newModule[T](w, o)
	return out, nil
}

// Write appends rows. Either all of them are taken or, if one is refused with
// a [*RowError] (text that is not UTF-8), none, and the Writer goes on. It
// keeps no reference to what rows hold.
func (w *Writer[T]) Write(rows []T) (err error) {
	if w.err != nil {
		return w.err
	}
	w.sizes = w.sizes[:0]
	defer w.inspect.texts.forget()
	for i := range rows {
		n, column, err := w.inspect.row(&rows[i])
		if err == nil && n > maxRowBytes {
			err = fmt.Errorf("%d bytes, more than a row may take", n)
		}
		if err != nil {
			return &RowError{Row: w.rows + int64(i), Column: column, Reason: err.Error()}
		}
		w.sizes = append(w.sizes, n)
	}
	defer func() { w.err = err }()
	defer caught(&err, "write row %d", w.rows)
	from := 0
	for i := range rows {
		w.inGroup++
		w.bytes += w.sizes[i]
		w.inPage += w.sizes[i]
		group := w.inGroup >= w.groupRows || w.bytes >= w.groupBytes
		page := w.pageBytes > 0 && w.inPage >= w.pageBytes
		// One row a call: the module looks at page sizes once a call, so pages
		// would otherwise end where the caller's batches do. Pages that end
		// here do not ask for that.
		if w.pageBytes > 0 && !group && !page && i < len(rows)-1 {
			continue
		}
		if err := w.w.add(rows[from : i+1]); err != nil {
			return fmt.Errorf("write rows %d to %d: %w", w.rows, w.rows+int64(i-from), err)
		}
		w.rows += int64(i + 1 - from)
		from = i + 1
		switch {
		case group:
			if err := w.w.endGroup(); err != nil {
				return fmt.Errorf("write row group that ends before row %d: %w", w.rows, err)
			}
			w.inGroup, w.bytes, w.inPage = 0, 0, 0
		case page:
			if err := w.w.endPages(); err != nil {
				return fmt.Errorf("write pages that end before row %d: %w", w.rows, err)
			}
			w.inPage = 0
		}
	}
	return nil
}

// Rows returns the number of rows written so far.
func (w *Writer[T]) Rows() int64 { return w.rows }

// Close writes the footer. It does not close the underlying writer.
func (w *Writer[T]) Close() (err error) {
	if w.err != nil {
		return w.err
	}
	defer caught(&err, "write footer")
	if err := w.w.close(); err != nil {
		w.err = err
		return fmt.Errorf("write footer: %w", err)
	}
	w.err = errors.New("shard: writer is closed")
	return nil
}

// A module writes files by the Parquet module, which knows every kind of column.
type module[T any] struct{ w *parquet.GenericWriter[T] }

func newModule[T any](w io.Writer, o Options) module[T] {
	var packer compress.Codec = codec
	if o.Quick {
		packer = quick
	}
	buffer := 1 << 20
	if o.PageBytes > 0 {
		packer = &echo{Codec: packer}
		buffer = int(2 * o.PageBytes) // never reached but by one row that fills a page
	}
	options := []parquet.WriterOption{
		parquet.Compression(packer),
		parquet.CreatedBy("espalier", "1.0.0", "1"), // part of every file's bytes: never the tool's version
		parquet.PageBufferSize(buffer),
		parquet.DataPageStatistics(false), // they hold whole values in every page header
	}
	for k, v := range o.Metadata {
		options = append(options, parquet.KeyValueMetadata(k, v))
	}
	return module[T]{parquet.NewGenericWriter[T](w, options...)}
}

func (m module[T]) add(rows []T) error {
	_, err := m.w.Write(rows)
	return err
}

func (m module[T]) endPages() error {
	for _, c := range m.w.ColumnWriters() {
		if err := c.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func (m module[T]) endGroup() error { return m.w.Flush() }

func (m module[T]) close() error { return m.w.Close() }

// caught turns a panic of the modules below into an error: they panic for
// types they cannot write and for some damaged files.
func caught(err *error, format string, args ...any) {
	if p := recover(); p != nil {
		*err = fmt.Errorf(format+": %v", append(args, p)...)
	}
}
