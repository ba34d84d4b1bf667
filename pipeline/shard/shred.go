package shard

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// createdBy is part of every file's bytes: never the tool's version.
const createdBy = "espalier version 1.0.0(build 1)"

// A putter takes the value at a place apart into columns. Rep is the repetition
// level; null says that the value, or what it stands in, is not there.
type putter struct {
	value func(p unsafe.Pointer, rep byte)
	null  func(rep, def byte)
}

// A shredder makes putters of types. Leaf is told of each column in order.
type shredder struct{ leaf func(*leaf) }

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

func pointerTo[T any](p *T) unsafe.Pointer { return unsafe.Pointer(p) }

// row makes the putter of rows.
func (s *shredder) row(schema *parquet.Schema, t reflect.Type) (putter, error) {
	if t.Kind() != reflect.Struct {
		return putter{}, fmt.Errorf("shard: rows are structs, not %s", t)
	}
	return s.group(schema, t, nil, 0, 0)
}

// node makes the putter of a node whose ancestors have these levels.
func (s *shredder) node(n parquet.Node, t reflect.Type, path []string, rep, def byte) (putter, error) {
	if n.Optional() {
		if t.Kind() != reflect.Pointer {
			return putter{}, fmt.Errorf("shard: %s: optional %s", strings.Join(path, "."), t)
		}
		in, err := s.required(n, t.Elem(), path, rep, def+1)
		return putter{func(p unsafe.Pointer, rep byte) {
			if p = *(*unsafe.Pointer)(p); p == nil {
				in.null(rep, def)
				return
			}
			in.value(p, rep)
		}, in.null}, err
	}
	return s.required(n, t, path, rep, def)
}

func (s *shredder) required(n parquet.Node, t reflect.Type, path []string, rep, def byte) (putter, error) {
	logical := ""
	if l := n.Type().LogicalType(); l != nil {
		logical = l.String()
	}
	switch {
	case n.Leaf():
		return s.column(n, t, path, rep, def)
	case n.Repeated():
	case logical == "LIST" && t.Kind() == reflect.Slice:
		return s.list(n, t, path, rep, def)
	case logical == "MAP" && t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
		return s.table(n, t, path, rep, def)
	case logical == "" && t.Kind() == reflect.Struct:
		return s.group(n, t, path, rep, def)
	}
	return putter{}, fmt.Errorf("shard: %s: no columns for %s", strings.Join(path, "."), t)
}

// below is the path of a field.
func below(path []string, names ...string) []string { return slices.Concat(path, names) }

// group makes the putter of a struct.
func (s *shredder) group(n parquet.Node, t reflect.Type, path []string, rep, def byte) (putter, error) {
	type field struct {
		offset uintptr
		putter
	}
	var fields []field
	for _, f := range n.Fields() {
		of, ok := fieldOf(t, f.Name())
		if !ok {
			return putter{}, fmt.Errorf("shard: %s has no field %s", t, f.Name())
		}
		in, err := s.node(f, of.Type, below(path, f.Name()), rep, def)
		if err != nil {
			return putter{}, err
		}
		fields = append(fields, field{of.Offset, in})
	}
	return putter{func(p unsafe.Pointer, rep byte) {
		for i := range fields {
			fields[i].value(unsafe.Add(p, fields[i].offset), rep)
		}
	}, func(rep, def byte) {
		for i := range fields {
			fields[i].null(rep, def)
		}
	}}, nil
}

// fieldOf finds the field of a column.
func fieldOf(t reflect.Type, column string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		if name == "" {
			name = f.Name
		}
		if name == column && f.IsExported() && !f.Anonymous {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// list makes the putter of a slice.
func (s *shredder) list(n parquet.Node, t reflect.Type, path []string, rep, def byte) (putter, error) {
	repeated := n.Fields()[0]
	elem := repeated.Fields()[0]
	in, err := s.node(elem, t.Elem(), below(path, repeated.Name(), elem.Name()), rep+1, def+1)
	size, own := t.Elem().Size(), rep+1
	return putter{func(p unsafe.Pointer, rep byte) {
		list := *(*[]struct{})(p) // of anything
		if len(list) == 0 {
			in.null(rep, def)
			return
		}
		first := unsafe.Pointer(unsafe.SliceData(list))
		for i := range len(list) {
			in.value(unsafe.Add(first, uintptr(i)*size), rep)
			rep = own
		}
	}, in.null}, err
}

// table makes the putter of a map, whose keys are sorted.
func (s *shredder) table(n parquet.Node, t reflect.Type, path []string, rep, def byte) (putter, error) {
	repeated := n.Fields()[0]
	parts := repeated.Fields()
	if len(parts) != 2 {
		return putter{}, fmt.Errorf("shard: %s: no map", strings.Join(path, "."))
	}
	key, err := s.node(parts[0], t.Key(), below(path, repeated.Name(), parts[0].Name()), rep+1, def+1)
	if err != nil {
		return putter{}, err
	}
	value, err := s.node(parts[1], t.Elem(), below(path, repeated.Name(), parts[1].Name()), rep+1, def+1)
	null := func(rep, def byte) { key.null(rep, def); value.null(rep, def) }
	own := rep + 1
	return putter{func(p unsafe.Pointer, rep byte) {
		m := reflect.NewAt(t, p).Elem()
		if m.Len() == 0 {
			null(rep, def)
			return
		}
		keys := m.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range keys {
			at, v := reflect.New(t.Key()), reflect.New(t.Elem())
			at.Elem().Set(k)
			v.Elem().Set(m.MapIndex(k))
			key.value(at.UnsafePointer(), rep)
			value.value(v.UnsafePointer(), rep)
			rep = own
		}
	}, null}, err
}

// column makes the putter of a leaf.
func (s *shredder) column(n parquet.Node, t reflect.Type, path []string, rep, def byte) (putter, error) {
	physical := n.Type().PhysicalType()
	if physical == nil {
		return putter{}, fmt.Errorf("shard: %s: no column", strings.Join(path, "."))
	}
	l := &leaf{path: path, kind: *physical, maxRep: rep, maxDef: def}
	l.dict.on = l.kind == format.ByteArray
	var put func(p unsafe.Pointer)
	switch {
	case t.Kind() == reflect.String && l.kind == format.ByteArray:
		put = func(p unsafe.Pointer) { l.text(*(*string)(p)) }
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && l.kind == format.ByteArray:
		put = func(p unsafe.Pointer) {
			b := *(*[]byte)(p)
			l.text(unsafe.String(unsafe.SliceData(b), len(b)))
		}
	case t.Kind() == reflect.Int64 && l.kind == format.Int64:
		put = func(p unsafe.Pointer) { l.longs = append(l.longs, *(*int64)(p)) }
	case t.Kind() == reflect.Int32 && l.kind == format.Int32:
		put = func(p unsafe.Pointer) { l.ints = append(l.ints, *(*int32)(p)) }
	case t.Kind() == reflect.Float64 && l.kind == format.Double:
		put = func(p unsafe.Pointer) {
			l.plain = binary.LittleEndian.AppendUint64(l.plain, math.Float64bits(*(*float64)(p)))
		}
	case t.Kind() == reflect.Float32 && l.kind == format.Float:
		put = func(p unsafe.Pointer) {
			l.plain = binary.LittleEndian.AppendUint32(l.plain, math.Float32bits(*(*float32)(p)))
		}
	case t.Kind() == reflect.Bool && l.kind == format.Boolean:
		put = func(p unsafe.Pointer) { l.bools = append(l.bools, *(*bool)(p)) }
	default:
		return putter{}, fmt.Errorf("shard: %s: no column of %s for %s", strings.Join(path, "."), n.Type(), t)
	}
	s.leaf(l)
	return putter{func(p unsafe.Pointer, rep byte) {
		l.level(rep, def)
		put(p)
	}, func(rep, def byte) {
		l.level(rep, def)
		l.nulls++
	}}, nil
}

// level notes the levels of a value.
func (l *leaf) level(rep, def byte) {
	l.values++
	if l.maxRep > 0 {
		l.reps = append(l.reps, rep)
	}
	if l.maxDef > 0 {
		l.defs = append(l.defs, def)
	}
}

// text adds a text.
func (l *leaf) text(s string) {
	if l.dict.on {
		if l.dict.code(s) {
			return
		}
		l.dict.on = false
		for _, code := range l.dict.page { // the page has others by then
			v := l.dict.value(code)
			l.texts = append(l.texts, v...)
			l.lengths = append(l.lengths, int32(len(v)))
		}
		l.dict.page = l.dict.page[:0]
		if len(l.chunk) == 0 {
			l.dict.reset() // no page needs it
		}
	}
	l.texts = append(l.texts, s...)
	l.lengths = append(l.lengths, int32(len(s)))
}

// schemaElements are the nodes of a schema, each before those below it.
func schemaElements(s *parquet.Schema) (out []format.SchemaElement) {
	var walk func(name string, n parquet.Node, root bool)
	walk = func(name string, n parquet.Node, root bool) {
		e := format.SchemaElement{Name: name, FieldID: int32(n.ID())}
		if !root {
			switch {
			case n.Optional():
				e.RepetitionType = thrift.New(format.Optional)
			case n.Repeated():
				e.RepetitionType = thrift.New(format.Repeated)
			default:
				e.RepetitionType = thrift.New(format.Required)
			}
		}
		t := n.Type()
		if l := t.LogicalType(); l != nil {
			e.LogicalType = *l
		}
		if n := t.Length(); n > 0 {
			e.TypeLength = thrift.New(int32(n))
		}
		if p := t.PhysicalType(); p != nil {
			e.Type = thrift.New(*p)
		}
		if c := t.ConvertedType(); c != nil {
			e.ConvertedType = thrift.New(*c)
		}
		if !n.Leaf() {
			e.NumChildren = thrift.New(int32(len(n.Fields())))
		}
		out = append(out, e)
		if !n.Leaf() {
			for _, f := range n.Fields() {
				walk(f.Name(), f, false)
			}
		}
	}
	walk(s.Name(), s, true)
	return out
}
