package shard

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Columns write a Parquet file column by column: each value goes straight to the
// page that it will lie in. They are what Options.Quick asks for; the module's
// own writer, which knows every kind of column, stands beside them.
//
// Texts of few different values are coded by a dictionary, others by their
// lengths; whole numbers by their differences. All columns end their pages at the
// same rows, and no bounds or page indexes are kept.
type columns[T any] struct {
	w      io.Writer
	at     int64 // bytes written
	put    putter
	leaves []*leaf
	lent   *lent
	inPage int
	rows   int64
	group  int64 // rows of the group
	footer format.FileMetaData
}

// A leaf is a column of a file.
type leaf struct {
	path     []string
	kind     format.Type
	maxRep   byte
	maxDef   byte
	reps     []byte // levels of the page's values; unused if their most is 0
	defs     []byte
	values   int // of the page, nulls among them
	nulls    int
	texts    []byte  // of the page
	lengths  []int32 // of its texts
	longs    []int64
	ints     []int32
	plain    []byte // values of other kinds as they lie in a page
	bools    []bool
	dict     dictionary
	body     []byte // the page's values, or the lengths of its texts
	packed   [2]int // where the compressed page lies in chunk
	chunk    []byte // pages of the group
	meta     format.ColumnMetaData
	method   method
	encoding []format.Encoding
}

const (
	leastPacked = 48       // bytes of a page that are worth compressing
	leastSame   = 16 << 10 // bytes of texts that are compared with those of other columns
)

// newColumns returns a writer of T, or an error if T has a kind of column that
// only the module's writer knows.
func newColumns[T any]() (*columns[T], error) {
	schema := parquet.SchemaOf(new(T))
	c := &columns[T]{lent: lend()}
	s := shredder{leaf: func(l *leaf) {
		c.lent.to(len(c.leaves), l)
		c.leaves = append(c.leaves, l)
	}}
	var err error
	if c.put, err = s.row(schema, typeOf[T]()); err != nil {
		return nil, err
	}
	c.footer = format.FileMetaData{Version: 2, Schema: schemaElements(schema), CreatedBy: createdBy}
	for range c.leaves {
		c.footer.ColumnOrders = append(c.footer.ColumnOrders, format.ColumnOrder{Value: &format.TypeDefinedOrder{}})
	}
	return c, nil
}

// begin begins a file.
func (c *columns[T]) begin(w io.Writer, o Options) error {
	c.w = w
	for _, k := range sortedKeys(o.Metadata) {
		c.footer.KeyValueMetadata = append(c.footer.KeyValueMetadata, format.KeyValue{Key: k, Value: o.Metadata[k]})
	}
	return c.write([]byte("PAR1"))
}

func (c *columns[T]) write(b []byte) error {
	n, err := c.w.Write(b)
	c.at += int64(n)
	return err
}

// add appends rows to the page and keeps nothing that they hold.
func (c *columns[T]) add(rows []T) error {
	defer func() {
		for _, l := range c.leaves {
			l.dict.forget()
		}
	}()
	for i := range rows {
		c.put.value(pointerTo(&rows[i]), 0)
	}
	c.inPage += len(rows)
	c.group += int64(len(rows))
	c.rows += int64(len(rows))
	return nil
}

// endPages ends the pages of all columns.
func (c *columns[T]) endPages() error {
	if c.inPage == 0 {
		return nil
	}
	for i, l := range c.leaves {
		if err := c.endPage(l, c.leaves[:i]); err != nil {
			return fmt.Errorf("column %s: %w", columnName(l.path), err)
		}
	}
	for _, l := range c.leaves {
		l.clear()
	}
	c.inPage = 0
	return nil
}

// endPage ends the page of a column. Those before it have ended theirs.
func (c *columns[T]) endPage(l *leaf, before []*leaf) error {
	head := format.DataPageHeaderV2{NumValues: int32(l.values), NumNulls: int32(l.nulls), NumRows: int32(c.inPage)}
	var reps, defs []byte
	var err error
	if l.maxRep > 0 {
		if reps, err = levels(l.maxRep).EncodeLevels(nil, l.reps); err != nil {
			return err
		}
	}
	if l.maxDef > 0 {
		if defs, err = levels(l.maxDef).EncodeLevels(nil, l.defs); err != nil {
			return err
		}
	}
	head.RepetitionLevelsByteLength, head.DefinitionLevelsByteLength = int32(len(reps)), int32(len(defs))
	if head.Encoding, err = l.encode(); err != nil {
		return err
	}
	var packed []byte
	if same := l.twin(before); same != nil {
		packed = same.chunk[same.packed[0]:same.packed[1]]
	} else if l.packs() {
		if packed, err = c.lent.pack.page(&l.method, l.body, l.texts); err != nil {
			return err
		}
	}
	values := len(l.body) + len(l.texts)
	size := values
	if len(packed) > 0 {
		size = len(packed)
	}
	head.IsCompressed = thrift.New(len(packed) > 0)
	page := format.PageHeader{
		Type: format.DataPageV2, UncompressedPageSize: int32(len(reps) + len(defs) + values), CompressedPageSize: int32(len(reps) + len(defs) + size),
		DataPageHeaderV2: thrift.New(head),
	}
	if err := l.page(&page); err != nil {
		return err
	}
	l.chunk = append(append(l.chunk, reps...), defs...)
	at := len(l.chunk)
	if len(packed) > 0 {
		l.chunk = append(l.chunk, packed...)
	} else {
		l.chunk = append(append(l.chunk, l.body...), l.texts...)
	}
	l.packed = [2]int{at, at + len(packed)}
	l.meta.NumValues += int64(l.values)
	l.meta.Statistics.NullCount += int64(l.nulls)
	return nil
}

// twin returns a column that has had the same page just now, nil if there is
// none.
func (l *leaf) twin(before []*leaf) *leaf {
	if len(l.texts) < leastSame {
		return nil
	}
	for _, other := range before {
		if bytes.Equal(other.texts, l.texts) && bytes.Equal(other.body, l.body) {
			return other
		}
	}
	return nil
}

// codec is the same for all groups of a file, because there are readers that look
// at the first one's. Pages need not be compressed all the same. Differences of
// whole numbers never are.
func (l *leaf) codec() format.CompressionCodec {
	if l.kind == format.Int32 || l.kind == format.Int64 {
		return format.Uncompressed
	}
	return format.Zstd
}

// packs reports whether the page's values may be worth compressing.
func (l *leaf) packs() bool {
	return len(l.body)+len(l.texts) >= leastPacked && l.codec() == format.Zstd
}

// page begins a page in the chunk.
func (l *leaf) page(p *format.PageHeader) error {
	head, err := thrift.Marshal(new(thrift.CompactProtocol), p)
	if err != nil {
		return err
	}
	l.chunk = append(l.chunk, head...)
	l.meta.TotalUncompressedSize += int64(len(head)) + int64(p.UncompressedPageSize)
	return nil
}

func (l *leaf) clear() {
	l.reps, l.defs, l.values, l.nulls = l.reps[:0], l.defs[:0], 0, 0
	l.texts, l.lengths, l.longs, l.ints, l.plain, l.bools = l.texts[:0], l.lengths[:0], l.longs[:0], l.ints[:0], l.plain[:0], l.bools[:0]
	l.dict.page = l.dict.page[:0]
}

func levels(most byte) *rle.Encoding { return &rle.Encoding{BitWidth: bits.Len8(most)} }

// encode makes the body of the page; texts stay behind it.
func (l *leaf) encode() (format.Encoding, error) {
	with, err := format.Plain, error(nil)
	switch {
	case len(l.dict.page) > 0:
		with = format.RLEDictionary
		width := max(bits.Len(uint(len(l.dict.ends)-1)), 1)
		var codes []byte
		codes, err = (&rle.Encoding{BitWidth: width}).EncodeInt32(nil, l.dict.page)
		l.body = append(append(l.body[:0], byte(width)), codes...)
	case len(l.lengths) > 0:
		with = format.DeltaLengthByteArray
		l.body, err = new(delta.BinaryPackedEncoding).EncodeInt32(l.body[:0], l.lengths)
	case len(l.longs) > 0:
		with = format.DeltaBinaryPacked
		l.body, err = new(delta.BinaryPackedEncoding).EncodeInt64(l.body[:0], l.longs)
	case len(l.ints) > 0:
		with = format.DeltaBinaryPacked
		l.body, err = new(delta.BinaryPackedEncoding).EncodeInt32(l.body[:0], l.ints)
	case len(l.bools) > 0:
		l.body = slices.Grow(l.body[:0], len(l.bools)/8+1)[:(len(l.bools)+7)/8]
		clear(l.body)
		for i, v := range l.bools {
			if v {
				l.body[i/8] |= 1 << (i % 8)
			}
		}
	default:
		l.body = append(l.body[:0], l.plain...)
	}
	if !slices.Contains(l.encoding, with) {
		l.encoding = append(l.encoding, with)
	}
	return with, err
}

// endGroup ends the row group.
func (c *columns[T]) endGroup() error {
	if err := c.endPages(); err != nil {
		return err
	}
	if c.group == 0 {
		return nil
	}
	g := format.RowGroup{NumRows: c.group, FileOffset: c.at, Ordinal: int16(len(c.footer.RowGroups))}
	for _, l := range c.leaves {
		at := c.at
		if err := c.endChunk(l); err != nil {
			return fmt.Errorf("column %s: %w", columnName(l.path), err)
		}
		l.meta.TotalCompressedSize = c.at - at
		g.Columns = append(g.Columns, format.ColumnChunk{FileOffset: at, MetaData: l.meta})
		g.TotalByteSize += l.meta.TotalUncompressedSize
		g.TotalCompressedSize += l.meta.TotalCompressedSize
		l.chunk, l.encoding = l.chunk[:0], nil
		l.meta = format.ColumnMetaData{}
		l.dict.reset()
	}
	c.footer.RowGroups = append(c.footer.RowGroups, g)
	c.footer.NumRows += c.group
	c.group = 0
	return nil
}

// endChunk writes a column of the group: its dictionary, if it has one, and its
// pages.
func (c *columns[T]) endChunk(l *leaf) error {
	if len(l.dict.ends) > 0 {
		pages := l.chunk
		l.chunk = nil
		plain := l.dict.plain()
		page := format.PageHeader{
			Type: format.DictionaryPage, UncompressedPageSize: int32(len(plain)), CompressedPageSize: int32(len(plain)),
			DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: int32(len(l.dict.ends)), Encoding: format.Plain}),
		}
		plain = c.lent.pack.huff.Append(nil, plain) // a dictionary cannot say that it is not compressed
		page.CompressedPageSize = int32(len(plain))
		l.meta.DictionaryPageOffset = c.at
		if err := l.page(&page); err != nil {
			return err
		}
		if err := c.write(append(l.chunk, plain...)); err != nil {
			return err
		}
		l.chunk = pages
		if !slices.Contains(l.encoding, format.Plain) {
			l.encoding = append(l.encoding, format.Plain)
		}
	}
	if l.maxRep|l.maxDef > 0 {
		l.encoding = append(l.encoding, format.RLE)
	}
	slices.Sort(l.encoding)
	l.meta.Type, l.meta.Encoding, l.meta.PathInSchema = l.kind, l.encoding, l.path
	l.meta.Codec, l.meta.DataPageOffset = l.codec(), c.at
	return c.write(l.chunk)
}

// close writes the footer.
func (c *columns[T]) close() error {
	if err := c.endGroup(); err != nil {
		return err
	}
	b, err := thrift.Marshal(new(thrift.CompactProtocol), &c.footer)
	if err != nil {
		return err
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(b)))
	if err := c.write(append(b, "PAR1"...)); err != nil {
		return err
	}
	c.lent.back(c.leaves)
	c.lent = nil
	return nil
}
