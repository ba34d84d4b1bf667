package shard

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
)

// openArrowFile opens an Arrow IPC file. Its frame is checked here before the
// module reads it.
func openArrowFile(r io.ReaderAt, size int64) (*Table, error) {
	footer, err := readIPCFooter(r, size)
	if err != nil {
		return nil, err
	}
	if err := checkSchema(footer, footer.table(footer.root(), 1)); err != nil {
		return nil, fmt.Errorf("%w: schema: %w", ErrFormat, err)
	}
	dictionaries, err := ipcBlocks(r, size, footer, 2)
	if err != nil {
		return nil, err
	}
	batches, err := ipcBlocks(r, size, footer, 3)
	if err != nil {
		return nil, err
	}
	var rows int64
	for i, k := range slices.Concat(dictionaries, batches) {
		b, err := k.batch(r)
		if err != nil {
			return nil, fmt.Errorf("%w: batch %d: %w", ErrFormat, i, err)
		}
		if i >= len(dictionaries) {
			rows += b.rows
		}
	}
	f, err := ipc.NewFileReader(io.NewSectionReader(r, 0, size))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	t := arrowTable("arrow", f.Schema(), rows)
	t.scan = func(columns []int, yield func([]any, error) bool) {
		for i := range f.NumRecords() {
			rec, err := f.RecordAt(i)
			if err != nil {
				yield(nil, fmt.Errorf("batch %d: %w: %w", i, ErrFormat, err))
				return
			}
			if !scanRecord(rec, i, columns, yield) {
				return
			}
		}
	}
	return t, nil
}

// openArrowStream opens an Arrow IPC stream, walking its messages once.
func openArrowStream(r io.ReaderAt, size int64) (*Table, error) {
	rows, err := walkStream(r, size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	open := func() (*ipc.Reader, error) {
		return ipc.NewReader(io.NewSectionReader(r, 0, size), ipc.WithDelayReadSchema(false))
	}
	first, err := open()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	t := arrowTable("arrow stream", first.Schema(), rows)
	first.Release()
	t.scan = func(columns []int, yield func([]any, error) bool) {
		stream, err := open()
		if err != nil {
			yield(nil, fmt.Errorf("%w: %w", ErrFormat, err))
			return
		}
		defer stream.Release()
		for i := 0; stream.Next(); i++ {
			if !scanRecord(stream.Record(), i, columns, yield) {
				return
			}
		}
		if err := stream.Err(); err != nil && err != io.EOF {
			yield(nil, fmt.Errorf("%w: %w", ErrFormat, err))
		}
	}
	return t, nil
}

// walkStream holds every message of a stream against the stream's length and
// counts the rows.
func walkStream(r io.ReaderAt, size int64) (rows int64, err error) {
	for at, n := int64(0), 0; at < size; n++ {
		var head [8]byte
		if size-at < 8 {
			return 0, fmt.Errorf("message %d is cut short", n)
		}
		if err := readFull(r, head[:], at); err != nil {
			return 0, err
		}
		f := flat{b: head[:]}
		length := int64(f.i32(4))
		if f.i32(0) != -1 {
			return 0, fmt.Errorf("message %d does not start with ffffffff", n)
		}
		if length == 0 {
			return rows, nil
		}
		if length < 8 || length > min(size-at-8, maxIPCMetadata) {
			return 0, fmt.Errorf("message %d claims %d bytes of metadata", n, length)
		}
		b := make([]byte, 8+length)
		if err := readFull(r, b, at); err != nil {
			return 0, err
		}
		m, err := messageOf(b)
		if err != nil {
			return 0, fmt.Errorf("message %d: %w", n, err)
		}
		body, kind := m.longField(m.root(), 3), m.byteField(m.root(), 1)
		if m.bad || body < 0 || body > size-at-8-length {
			return 0, fmt.Errorf("message %d: a body of %d bytes where %d are left", n, body, size-at-8-length)
		}
		k := ipcBlock{meta: *m, body: at + 8 + length, size: body}
		if kind == messageSchema {
			if err := checkSchema(m, m.table(m.root(), 2)); err != nil {
				return 0, fmt.Errorf("message %d: schema: %w", n, err)
			}
		} else {
			b, err := k.batch(r)
			if err != nil {
				return 0, fmt.Errorf("message %d: %w", n, err)
			}
			if kind == messageBatch {
				rows += b.rows
			}
		}
		at += 8 + length + body
	}
	return rows, nil
}

func arrowTable(format string, schema *arrow.Schema, rows int64) *Table {
	t := &Table{format: format, rows: rows, metadata: schema.Metadata().ToMap()}
	for _, f := range schema.Fields() {
		t.columns = append(t.columns, Column{f.Name, arrowTypeName(f.Type), f.Nullable})
	}
	return t
}

func arrowTypeName(t arrow.DataType) string {
	switch t := t.(type) {
	case *arrow.Float16Type:
		return "float16"
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		return "string"
	case *arrow.BinaryType, *arrow.LargeBinaryType, *arrow.BinaryViewType:
		return "binary"
	case *arrow.FixedSizeListType:
		return fmt.Sprintf("list<%s>[%d]", arrowTypeName(t.Elem()), t.Len())
	case *arrow.MapType:
		return "map<" + arrowTypeName(t.KeyType()) + ", " + arrowTypeName(t.ItemType()) + ">"
	case arrow.ListLikeType:
		return "list<" + arrowTypeName(t.Elem()) + ">"
	case *arrow.StructType:
		s := "struct<"
		for i, f := range t.Fields() {
			if i > 0 {
				s += ", "
			}
			s += f.Name + ": " + arrowTypeName(f.Type)
		}
		return s + ">"
	case *arrow.DictionaryType:
		return "dictionary<" + arrowTypeName(t.ValueType) + ">"
	}
	return t.String()
}

func scanRecord(rec arrow.Record, batch int, columns []int, yield func([]any, error) bool) bool {
	for i := range int(rec.NumRows()) {
		row := make([]any, len(columns))
		for j, c := range columns {
			v, err := arrowValue(rec.Column(c), i)
			if err != nil {
				yield(nil, fmt.Errorf("batch %d, row %d, column %s: %w", batch, i, rec.ColumnName(c), err))
				return false
			}
			row[j] = v
		}
		if !yield(row, nil) {
			return false
		}
	}
	return true
}

var errType = errors.New("values of this type are not read")

// arrowValue returns element i of an array.
func arrowValue(a arrow.Array, i int) (any, error) {
	if a.IsNull(i) {
		return nil, nil
	}
	switch a := a.(type) {
	case *array.Null:
		return nil, nil
	case *array.Boolean:
		return a.Value(i), nil
	case *array.Int8:
		return int64(a.Value(i)), nil
	case *array.Int16:
		return int64(a.Value(i)), nil
	case *array.Int32:
		return int64(a.Value(i)), nil
	case *array.Int64:
		return a.Value(i), nil
	case *array.Uint8:
		return uint64(a.Value(i)), nil
	case *array.Uint16:
		return uint64(a.Value(i)), nil
	case *array.Uint32:
		return uint64(a.Value(i)), nil
	case *array.Uint64:
		return a.Value(i), nil
	case *array.Float16:
		return float64(Float(a.Value(i).Uint16())), nil
	case *array.Float32:
		return float64(a.Value(i)), nil
	case *array.Float64:
		return a.Value(i), nil
	case *array.String:
		return a.Value(i), nil
	case *array.LargeString:
		return a.Value(i), nil
	case *array.StringView:
		return a.Value(i), nil
	case *array.Binary:
		return a.Value(i), nil
	case *array.LargeBinary:
		return a.Value(i), nil
	case *array.BinaryView:
		return a.Value(i), nil
	case *array.FixedSizeBinary:
		return a.Value(i), nil
	case *array.Dictionary:
		return arrowValue(a.Dictionary(), a.GetValueIndex(i))
	case *array.RunEndEncoded:
		return arrowValue(a.Values(), a.GetPhysicalIndex(i))
	case array.ExtensionArray:
		return arrowExtension(a, i)
	case *array.Map:
		return arrowMap(a, i)
	case array.ListLike:
		lo, hi := a.ValueOffsets(i)
		return listValues(a.ListValues(), lo, hi)
	case *array.Struct:
		fields := a.DataType().(*arrow.StructType).Fields()
		s := make(Struct, len(fields))
		for j, f := range fields {
			v, err := arrowValue(a.Field(j), i)
			if err != nil {
				return nil, err
			}
			s[j] = Field{f.Name, v}
		}
		return s, nil
	}
	return arrowTime(a, i)
}

func arrowTime(a arrow.Array, i int) (any, error) {
	switch a := a.(type) {
	case *array.Timestamp:
		return timestamp(int64(a.Value(i)), a.DataType().(*arrow.TimestampType).Unit.Multiplier()), nil
	case *array.Date32:
		return Date(a.Value(i)), nil
	case *array.Date64:
		ms := int64(a.Value(i))
		days := ms / 86400000
		if ms%86400000 < 0 {
			days--
		}
		return Date(days), nil
	case *array.Time32:
		return TimeOfDay(time.Duration(a.Value(i)) * a.DataType().(*arrow.Time32Type).Unit.Multiplier()), nil
	case *array.Time64:
		return TimeOfDay(time.Duration(a.Value(i)) * a.DataType().(*arrow.Time64Type).Unit.Multiplier()), nil
	case *array.Duration:
		return int64(a.Value(i)), nil
	case *array.Decimal128:
		return decimal(a.Value(i).BigInt(), int(a.DataType().(*arrow.Decimal128Type).Scale)), nil
	case *array.Decimal256:
		return decimal(a.Value(i).BigInt(), int(a.DataType().(*arrow.Decimal256Type).Scale)), nil
	}
	return nil, fmt.Errorf("%w: %s", errType, a.DataType())
}

func arrowExtension(a array.ExtensionArray, i int) (any, error) {
	v, err := arrowValue(a.Storage(), i)
	if b, ok := v.([]byte); ok && a.ExtensionType().ExtensionName() == "arrow.uuid" {
		return uuidText(b), err
	}
	return v, err
}

func arrowMap(a *array.Map, i int) (any, error) {
	lo, hi := a.ValueOffsets(i)
	m := make(Map, 0, max(hi-lo, 0))
	for j := lo; j < hi; j++ {
		k, err := arrowValue(a.Keys(), int(j))
		if err != nil {
			return nil, err
		}
		v, err := arrowValue(a.Items(), int(j))
		if err != nil {
			return nil, err
		}
		m = append(m, Pair{k, v})
	}
	return m, nil
}

// listValues returns elements lo to hi of a list's values.
func listValues(values arrow.Array, lo, hi int64) (any, error) {
	if lo < 0 || hi < lo || hi > int64(values.Len()) {
		return nil, fmt.Errorf("%w: a list lies outside its values", ErrFormat)
	}
	if values.NullN() == 0 {
		switch v := values.(type) {
		case *array.Float32:
			return v.Float32Values()[lo:hi:hi], nil
		case *array.Float16:
			list := make([]float32, hi-lo)
			for i := range list {
				list[i] = Float(v.Value(int(lo) + i).Uint16())
			}
			return list, nil
		}
	}
	list := make([]any, 0, hi-lo)
	for j := lo; j < hi; j++ {
		v, err := arrowValue(values, int(j))
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}
