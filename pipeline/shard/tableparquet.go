package shard

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// A pnode is one node of a Parquet schema.
type pnode struct {
	name     string
	elem     *format.SchemaElement
	fields   []*pnode
	leaf     int // column of a leaf
	optional bool
	repeated bool
	def, rep int // levels of a value that is present here
	convert  func(parquet.Value) any
	typ      string
}

// maxSchemaDepth bounds the nesting of columns.
const maxSchemaDepth = 64

// schemaTree rebuilds the tree from the footer's flattened list.
func schemaTree(elems []format.SchemaElement) (*pnode, error) {
	at, leaves := 0, 0
	var build func(def, rep, depth int) (*pnode, error)
	build = func(def, rep, depth int) (*pnode, error) {
		if at >= len(elems) || depth > maxSchemaDepth {
			return nil, fmt.Errorf("%w: malformed schema", ErrFormat)
		}
		e := &elems[at]
		n := &pnode{name: e.Name, elem: e, leaf: -1}
		if at > 0 {
			n.optional = e.RepetitionType.V == format.Optional
			n.repeated = e.RepetitionType.V == format.Repeated
		}
		at++
		n.def, n.rep = def, rep
		if n.optional || n.repeated {
			n.def++
		}
		if n.repeated {
			n.rep++
		}
		if e.Type.Valid {
			n.leaf = leaves
			leaves++
			var err error
			n.typ, n.convert, err = leafConversion(e)
			return n, err
		}
		for range e.NumChildren.V {
			c, err := build(n.def, n.rep, depth+1)
			if err != nil {
				return nil, err
			}
			n.fields = append(n.fields, c)
		}
		return n, nil
	}
	return build(0, 0, 0)
}

func (n *pnode) isLogical(converted deprecated.ConvertedType, is func(any) bool) bool {
	return is(n.elem.LogicalType.Value) || n.elem.LogicalType.Value == nil && n.elem.ConvertedType.Valid && n.elem.ConvertedType.V == converted
}

func (n *pnode) isList() bool {
	return n.leaf < 0 && len(n.fields) == 1 && n.fields[0].repeated &&
		n.isLogical(deprecated.List, func(v any) bool { _, ok := v.(*format.ListType); return ok })
}

func (n *pnode) isMap() bool {
	return n.leaf < 0 && len(n.fields) == 1 && n.fields[0].repeated && len(n.fields[0].fields) == 2 &&
		(n.isLogical(deprecated.Map, func(v any) bool { _, ok := v.(*format.MapType); return ok }) ||
			n.isLogical(deprecated.MapKeyValue, func(any) bool { return false }))
}

// element returns what a list's repeated node stands for: the element itself
// or a wrapper around it, by the format's backward-compatibility rules.
func (n *pnode) element() *pnode {
	r := n.fields[0]
	if r.leaf >= 0 || len(r.fields) != 1 || r.name == "array" || r.name == n.name+"_tuple" {
		return r
	}
	return r.fields[0]
}

func (n *pnode) firstLeaf() int {
	for n.leaf < 0 {
		if len(n.fields) == 0 {
			return -1
		}
		n = n.fields[0]
	}
	return n.leaf
}

func (n *pnode) leaves(list []int) []int {
	if n.leaf >= 0 {
		return append(list, n.leaf)
	}
	for _, f := range n.fields {
		list = f.leaves(list)
	}
	return list
}

func (n *pnode) typeName() string {
	switch {
	case n.leaf >= 0:
		return n.typ
	case n.isList():
		return "list<" + n.element().typeName() + ">"
	case n.isMap():
		return "map<" + n.fields[0].fields[0].typeName() + ", " + n.fields[0].fields[1].typeName() + ">"
	}
	s := "struct<"
	for i, f := range n.fields {
		if i > 0 {
			s += ", "
		}
		t := f.typeName()
		if f.repeated {
			t = "list<" + t + ">"
		}
		s += f.name + ": " + t
	}
	return s + ">"
}

// A columnValues is the run of a column's values that belongs to the value
// being built.
type columnValues [][]parquet.Value

// value builds the value of a node from the values of its leaves.
func (n *pnode) value(c columnValues) any {
	if n.repeated { // without a list around it
		return n.items(c, n)
	}
	return n.present(c)
}

// present builds the value of a node whose repetition is taken care of.
func (n *pnode) present(c columnValues) any {
	first := n.firstLeaf()
	if first < 0 {
		return Struct{}
	}
	if n.optional && c[first][0].DefinitionLevel() < n.def {
		return nil
	}
	switch {
	case n.leaf >= 0:
		v := c[n.leaf][0]
		if v.IsNull() {
			return nil
		}
		return n.convert(v)
	case n.isList():
		return n.fields[0].items(c, n.element())
	case n.isMap():
		entry := n.fields[0]
		list := entry.items(c, entry)
		m := make(Map, len(list))
		for i, e := range list {
			s := e.(Struct)
			m[i] = Pair{s[0].Value, s[1].Value}
		}
		return m
	}
	s := make(Struct, len(n.fields))
	for i, f := range n.fields {
		s[i] = Field{f.name, f.value(c)}
	}
	return s
}

// items cuts the runs of a repeated node into its elements.
func (n *pnode) items(c columnValues, elem *pnode) []any {
	list := []any{}
	leaves := n.leaves(nil)
	if len(leaves) == 0 || c[leaves[0]][0].DefinitionLevel() < n.def {
		return list
	}
	sub := make(columnValues, len(c))
	rest := slices.Clone(c)
	for len(rest[leaves[0]]) > 0 {
		for _, l := range leaves {
			end := 1
			for end < len(rest[l]) && rest[l][end].RepetitionLevel() > n.rep {
				end++
			}
			if len(rest[l]) == 0 {
				panic(errRagged)
			}
			sub[l], rest[l] = rest[l][:end], rest[l][end:]
		}
		if elem == n {
			list = append(list, n.present(sub))
		} else {
			list = append(list, elem.value(sub))
		}
	}
	return list
}

var errRagged = errors.New("columns of a list differ in length")

func openParquetTable(r io.ReaderAt, size int64) (*Table, error) {
	f, err := openParquet(r, size)
	if err != nil {
		return nil, err
	}
	meta := f.Metadata()
	root, err := schemaTree(meta.Schema)
	if err != nil {
		return nil, err
	}
	t := &Table{format: "parquet", rows: f.NumRows(), metadata: map[string]string{}}
	for _, kv := range meta.KeyValueMetadata {
		t.metadata[kv.Key] = kv.Value
	}
	for _, n := range root.fields {
		c := Column{Name: n.name, Type: n.typeName(), Nullable: n.optional}
		if n.repeated {
			c.Type = "list<" + c.Type + ">"
		}
		t.columns = append(t.columns, c)
	}
	t.scan = func(columns []int, yield func([]any, error) bool) {
		for g := range f.RowGroups() {
			if !scanGroup(r, f, root, g, columns, yield) {
				return
			}
		}
	}
	return t, nil
}

// scanGroup yields the rows of one row group; false ends the scan.
func scanGroup(r io.ReaderAt, f *parquet.File, root *pnode, g int, columns []int, yield func([]any, error) bool) bool {
	fail := func(column string, err error) bool {
		yield(nil, fmt.Errorf("row group %d, column %s: %w: %w", g, column, ErrFormat, err))
		return false
	}
	meta := &f.Metadata().RowGroups[g]
	chunks := f.RowGroups()[g].ColumnChunks()
	readers := make([]*leafReader, len(chunks))
	defer func() {
		for _, lr := range readers {
			if lr != nil {
				lr.pages.Close()
			}
		}
	}()
	for _, c := range columns {
		for _, l := range root.fields[c].leaves(nil) {
			m := &meta.Columns[l].MetaData
			if err := checkPages(r, m); err != nil {
				return fail(columnName(m.PathInSchema), err)
			}
			if readers[l] == nil {
				readers[l] = &leafReader{pages: chunks[l].Pages()}
			}
		}
	}
	current := make(columnValues, len(chunks))
	for range meta.NumRows {
		for l, lr := range readers {
			if lr == nil {
				continue
			}
			var err error
			if current[l], err = lr.row(); err != nil {
				return fail(columnName(meta.Columns[l].MetaData.PathInSchema), err)
			}
		}
		row := make([]any, len(columns))
		for i, c := range columns {
			row[i] = root.fields[c].value(current)
		}
		if !yield(row, nil) {
			return false
		}
	}
	return true
}

// A leafReader reads one column a row at a time. Pages are left to the
// garbage collector: values refer to them.
type leafReader struct {
	pages  parquet.Pages
	values parquet.ValueReader
	buf    []parquet.Value
	at     int
	done   bool
}

// row returns the values of the next row, which are good until the next call.
func (l *leafReader) row() ([]parquet.Value, error) {
	for {
		for end := l.at + 1; end < len(l.buf); end++ {
			if l.buf[end].RepetitionLevel() == 0 {
				row := l.buf[l.at:end]
				l.at = end
				return row, nil
			}
		}
		if l.done {
			if l.at >= len(l.buf) {
				return nil, io.ErrUnexpectedEOF
			}
			row := l.buf[l.at:]
			l.at = len(l.buf)
			return row, nil
		}
		if err := l.fill(); err != nil {
			return nil, err
		}
	}
}

func (l *leafReader) fill() error {
	l.buf = l.buf[:copy(l.buf, l.buf[l.at:])]
	l.at = 0
	for {
		if l.values == nil {
			page, err := l.pages.ReadPage()
			if err == io.EOF {
				l.done = true
				return nil
			}
			if err != nil {
				return err
			}
			l.values = page.Values()
		}
		n := len(l.buf)
		l.buf = slices.Grow(l.buf, 1024)
		got, err := l.values.ReadValues(l.buf[n : n+1024])
		l.buf = l.buf[:n+got]
		if err == io.EOF {
			l.values = nil
		} else if err != nil {
			return err
		}
		if got > 0 {
			return nil
		}
	}
}
