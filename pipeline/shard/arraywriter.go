package shard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
)

const maxBatchBytes = 4 << 20

// An ArraySpec says which columns an Arrow file of arrays has: id (utf8), then
// integers (int32), then lists of numbers. None of them can be null.
type ArraySpec struct {
	Ints     []string
	Lists    []ListSpec
	Metadata map[string]string // of the schema
}

// A ListSpec is one column of lists.
type ListSpec struct {
	Name     string
	Half     bool              // float16 instead of float32
	Len      int               // numbers in every row, side by side; 0 if it varies
	Metadata map[string]string // of the field, such as its shape
}

func (l ListSpec) width() int64 {
	if l.Half {
		return 2
	}
	return 4
}

// An ArrayWriter writes rows of arrays to an uncompressed Arrow IPC file. Batches
// are closed by the rows' sizes alone, so equal rows give equal bytes.
type ArrayWriter struct {
	w      *ipc.FileWriter
	spec   ArraySpec
	schema *arrow.Schema
	rows   int64
	err    error

	// The batch in progress.
	n      int
	bytes  int
	ids    []byte
	idEnds []int32 // n+1
	ints   [][]int32
	values [][]byte
	ends   [][]int32 // n+1; of varying lists
}

// NewArrayWriter returns an ArrayWriter to w.
func NewArrayWriter(w io.Writer, spec ArraySpec) (*ArrayWriter, error) {
	fields := []arrow.Field{{Name: "id", Type: arrow.BinaryTypes.String}}
	for _, name := range spec.Ints {
		fields = append(fields, arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int32})
	}
	for _, l := range spec.Lists {
		if l.Len < 0 || int64(l.Len)*l.width() > maxRowBytes {
			return nil, fmt.Errorf("column %s: lists of %d numbers", l.Name, l.Len)
		}
		elem := arrow.Field{Name: "item", Type: arrow.PrimitiveTypes.Float32}
		if l.Half {
			elem.Type = arrow.FixedWidthTypes.Float16
		}
		var t arrow.DataType = arrow.ListOfField(elem)
		if l.Len > 0 {
			t = arrow.FixedSizeListOfField(int32(l.Len), elem)
		}
		fields = append(fields, arrow.Field{Name: l.Name, Type: t, Metadata: metadata(l.Metadata)})
	}
	md := metadata(spec.Metadata)
	a := &ArrayWriter{
		spec: spec, schema: arrow.NewSchema(fields, &md),
		ints: make([][]int32, len(spec.Ints)), values: make([][]byte, len(spec.Lists)), ends: make([][]int32, len(spec.Lists)),
	}
	a.reset()
	var err error
	a.w, err = ipc.NewFileWriter(&position{w: w}, ipc.WithSchema(a.schema), ipc.WithAllocator(memory.NewGoAllocator()))
	return a, err
}

func metadata(m map[string]string) arrow.Metadata {
	keys := slices.Sorted(maps.Keys(m))
	values := make([]string, len(keys))
	for i, k := range keys {
		values[i] = m[k]
	}
	return arrow.NewMetadata(keys, values)
}

// position counts what is written: the module asks for its place, it never
// seeks elsewhere.
type position struct {
	w io.Writer
	n int64
}

func (p *position) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	p.n += int64(n)
	return n, err
}

func (p *position) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekCurrent {
		return 0, errors.New("shard: an Arrow file is written front to back")
	}
	return p.n, nil
}

// Write appends a row; ints and lists are in the order of the spec. It keeps
// no reference to them. A refused row leaves the writer as it was.
func (a *ArrayWriter) Write(id string, ints []int32, lists ...[]float32) error {
	if a.err != nil {
		return a.err
	}
	if !utf8.ValidString(id) {
		return &RowError{Row: a.rows, Column: "id", Reason: errUTF8.Error()}
	}
	if len(ints) != len(a.spec.Ints) || len(lists) != len(a.spec.Lists) {
		return fmt.Errorf("shard: a row of %d integers and %d lists, want %d and %d", len(ints), len(lists), len(a.spec.Ints), len(a.spec.Lists))
	}
	size := len(id) + 4 + 4*len(ints)
	for i, l := range a.spec.Lists {
		if l.Len > 0 && len(lists[i]) != l.Len {
			return &RowError{Row: a.rows, Column: l.Name, Reason: fmt.Sprintf("%d numbers, want %d", len(lists[i]), l.Len)}
		}
		n := int64(len(lists[i])) * l.width()
		if n > maxRowBytes {
			return &RowError{Row: a.rows, Column: l.Name, Reason: fmt.Sprintf("%d numbers, more than a row may hold", len(lists[i]))}
		}
		size += int(n)
	}
	if a.n > 0 && a.bytes+size > maxBatchBytes {
		if err := a.flush(); err != nil {
			return err
		}
	}
	a.ids = append(a.ids, id...)
	a.idEnds = append(a.idEnds, int32(len(a.ids)))
	for i, v := range ints {
		a.ints[i] = append(a.ints[i], v)
	}
	for i, l := range a.spec.Lists {
		a.values[i] = appendFloats(a.values[i], lists[i], l.Half)
		a.ends[i] = append(a.ends[i], int32(int64(len(a.values[i]))/l.width()))
	}
	a.n++
	a.rows++
	a.bytes += size
	return nil
}

func appendFloats(b []byte, v []float32, half bool) []byte {
	b = slices.Grow(b, 4*len(v))
	for _, f := range v {
		if half {
			b = binary.LittleEndian.AppendUint16(b, Half(f))
		} else {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
		}
	}
	return b
}

func (a *ArrayWriter) reset() {
	a.n, a.bytes = 0, 0
	a.ids, a.idEnds = a.ids[:0], append(a.idEnds[:0], 0)
	for i := range a.ints {
		a.ints[i] = a.ints[i][:0]
	}
	for i := range a.values {
		a.values[i], a.ends[i] = a.values[i][:0], append(a.ends[i][:0], 0)
	}
}

// flush writes the batch in progress.
func (a *ArrayWriter) flush() (err error) {
	defer func() { a.err = err }()
	defer caught(&err, "write batch before row %d", a.rows)
	var columns []arrow.Array
	add := func(d arrow.ArrayData) { columns = append(columns, array.MakeFromData(d)) }
	add(array.NewData(arrow.BinaryTypes.String, a.n, []*memory.Buffer{nil, int32Buffer(a.idEnds), memory.NewBufferBytes(a.ids)}, nil, 0, 0))
	for _, v := range a.ints {
		add(array.NewData(arrow.PrimitiveTypes.Int32, a.n, []*memory.Buffer{nil, int32Buffer(v)}, nil, 0, 0))
	}
	for i, l := range a.spec.Lists {
		t := a.schema.Field(1 + len(a.ints) + i).Type
		var elem arrow.DataType = arrow.PrimitiveTypes.Float32
		if l.Half {
			elem = arrow.FixedWidthTypes.Float16
		}
		values := array.NewData(elem, int(a.ends[i][a.n]), []*memory.Buffer{nil, memory.NewBufferBytes(a.values[i])}, nil, 0, 0)
		buffers := []*memory.Buffer{nil}
		if l.Len == 0 {
			buffers = append(buffers, int32Buffer(a.ends[i]))
		}
		add(array.NewData(t, a.n, buffers, []arrow.ArrayData{values}, 0, 0))
	}
	if err := a.w.Write(array.NewRecord(a.schema, columns, int64(a.n))); err != nil {
		return fmt.Errorf("write batch before row %d: %w", a.rows, err)
	}
	a.reset()
	return nil
}

func int32Buffer(v []int32) *memory.Buffer {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))
	}
	return memory.NewBufferBytes(b)
}

// Rows returns the number of rows written so far.
func (a *ArrayWriter) Rows() int64 { return a.rows }

// Close writes what is left and the footer. It does not close the underlying
// writer.
func (a *ArrayWriter) Close() (err error) {
	if a.err != nil {
		return a.err
	}
	if a.n > 0 {
		if err := a.flush(); err != nil {
			return err
		}
	}
	defer caught(&err, "write footer")
	if err := a.w.Close(); err != nil {
		a.err = err
		return fmt.Errorf("write footer: %w", err)
	}
	a.err = errors.New("shard: writer is closed")
	return nil
}
