package shard

import (
	"fmt"
	"io"
	"iter"
	"path"
	"slices"
	"strings"
	"time"
)

// A Table is a Parquet file, Arrow IPC file or Arrow IPC stream of any writer,
// read as rows of values.
//
// A value is nil, bool, int64, uint64, float64, string, []byte, []any or
// []float32 (lists), [Struct], [Map], [Timestamp], [Date], [TimeOfDay] or
// [Decimal]. Floats of 16 and 32 bits are given exactly, as float64; durations
// are integers in their unit; dictionaries are decoded.
type Table struct {
	format   string
	rows     int64
	columns  []Column
	selected []int // places among the file's columns
	metadata map[string]string
	scan     func(columns []int, yield func([]any, error) bool)
}

// A Column is one column of a Table.
type Column struct {
	Name     string
	Type     string // such as "list<string>"
	Nullable bool
}

// A Struct is a value with named fields, in the file's order.
type Struct []Field

// A Field is one field of a Struct.
type Field struct {
	Name  string
	Value any
}

// A Map is a value of keys and values, in the file's order.
type Map []Pair

// A Pair is one entry of a Map.
type Pair struct{ Key, Value any }

type (
	Timestamp time.Time     // an instant, UTC; of a column without zone, its wall clock
	Date      int32         // days since 1970-01-01
	TimeOfDay time.Duration // since midnight
	Decimal   string        // such as "-0.01"
)

// Extensions are those of the names of tables.
var Extensions = []string{".parquet", ".arrow", ".arrows", ".feather", ".ipc"}

// Named reports whether a file is called as tables are.
func Named(name string) bool { return slices.Contains(Extensions, strings.ToLower(path.Ext(name))) }

// OpenTable opens the table of size bytes in r, whose kind is told by its
// first bytes.
func OpenTable(r io.ReaderAt, size int64) (t *Table, err error) {
	defer caught(&err, "open: %w", ErrFormat)
	var magic [8]byte
	n, err := r.ReadAt(magic[:min(size, 8)], 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch head := string(magic[:n]); {
	case strings.HasPrefix(head, "PAR1"), strings.HasPrefix(head, "PARE"):
		t, err = openParquetTable(r, size)
	case strings.HasPrefix(head, arrowMagic):
		t, err = openArrowFile(r, size)
	case strings.HasPrefix(head, "\xff\xff\xff\xff"):
		t, err = openArrowStream(r, size)
	case size == 0:
		return nil, fmt.Errorf("%w: empty file", ErrFormat)
	default:
		return nil, fmt.Errorf("%w: neither Parquet nor Arrow: the file starts with %q", ErrFormat, head)
	}
	if err != nil {
		return nil, err
	}
	t.selected = make([]int, len(t.columns))
	for i := range t.selected {
		t.selected[i] = i
	}
	return t, nil
}

// Format returns "parquet", "arrow" or "arrow stream".
func (t *Table) Format() string { return t.format }

// NumRows returns the number of rows.
func (t *Table) NumRows() int64 { return t.rows }

// Columns returns the columns in the order of the rows' values.
func (t *Table) Columns() []Column { return t.columns }

// Metadata returns the key-value pairs of the file's schema. They must not be
// changed.
func (t *Table) Metadata() map[string]string { return t.metadata }

// Select returns a Table that reads only some columns, in the order given.
func (t *Table) Select(names ...string) (*Table, error) {
	u := *t
	u.columns, u.selected = nil, nil
	for _, name := range names {
		i := slices.IndexFunc(t.columns, func(c Column) bool { return c.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("no column %q; there are %s", name, columnList(t.columns))
		}
		u.columns = append(u.columns, t.columns[i])
		u.selected = append(u.selected, t.selected[i])
	}
	return &u, nil
}

func columnList(columns []Column) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
}

// Rows reads all rows in order. The slice is the caller's to keep; what it
// holds must not be changed. It ends at the first error.
func (t *Table) Rows() iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		ended := false
		wrapped := func(row []any, err error) bool {
			ok := yield(row, err)
			ended = ended || !ok
			return ok
		}
		if err := t.guarded(wrapped, &ended); err != nil && !ended {
			yield(nil, err)
		}
	}
}

// guarded scans and turns a panic of the modules below, not one of the
// caller's loop body, into an error.
func (t *Table) guarded(yield func([]any, error) bool, ended *bool) (err error) {
	inside := false
	defer func() {
		if inside || *ended {
			return // a panic of the loop body goes on
		}
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrFormat, p)
		}
	}()
	t.scan(t.selected, func(row []any, err error) bool {
		inside = true
		ok := yield(row, err)
		inside = false
		return ok
	})
	return nil
}

// Describe returns the table's columns as text, one a line.
func (t *Table) Describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d rows\n", t.format, t.rows)
	name, typ := 0, 0
	for _, c := range t.columns {
		name, typ = max(name, len([]rune(c.Name))), max(typ, len(c.Type))
	}
	for _, c := range t.columns {
		null := ""
		if c.Nullable {
			null = "  nullable"
		}
		line := fmt.Sprintf("%-*s  %-*s%s", name, c.Name, typ, c.Type, null)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	for _, k := range sortedKeys(t.metadata) {
		v := t.metadata[k]
		if len(v) > 60 {
			v = fmt.Sprintf("%q... (%d bytes)", v[:60], len(v))
		} else {
			v = fmt.Sprintf("%q", v)
		}
		fmt.Fprintf(&b, "metadata %s = %s\n", k, v)
	}
	return b.String()
}
