package shard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sort"
	"sync"
	"unsafe"
)

// Type numbers of Arrow's schema.
const (
	arrowInt           = 2
	arrowFloatingPoint = 3
	arrowUTF8          = 5
	arrowList          = 12
	arrowFixedSizeList = 16
)

// Arrays is an open Arrow file of arrays. Ids, integers and the lengths of
// varying lists are in memory; lists are read by one pread each. It is safe
// for concurrent use.
type Arrays struct {
	r       io.ReaderAt
	spec    ArraySpec
	batches []arrayBatch
	rows    int
	scratch sync.Pool // *[]byte
}

type arrayBatch struct {
	start  int // first row
	rows   int
	ids    []byte
	idEnds []byte // rows+1 little-endian int32
	ints   [][]byte
	lists  []int64 // places of the values of each list column
	ends   [][]byte
}

// OpenArrays opens an uncompressed Arrow IPC file that has the columns of an
// [ArraySpec]: id, then int32 columns, then lists of float16 or float32.
func OpenArrays(r io.ReaderAt, size int64) (*Arrays, error) {
	footer, err := readIPCFooter(r, size)
	if err != nil {
		return nil, err
	}
	a := &Arrays{r: r}
	if err := a.readSpec(footer); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	blocks, err := ipcBlocks(r, size, footer, 3)
	if err != nil {
		return nil, err
	}
	for i := range blocks {
		if err := a.readBatch(&blocks[i]); err != nil {
			return nil, fmt.Errorf("%w: batch %d: %w", ErrFormat, i, err)
		}
	}
	return a, nil
}

// readSpec takes the columns from the footer's schema.
func (a *Arrays) readSpec(f *flat) error {
	schema := f.table(f.root(), 1)
	a.spec.Metadata = f.pairs(schema, 2)
	fields := f.tables(schema, 1)
	for i, t := range fields {
		name, kind, typ := f.text(t, 0), f.byteField(t, 2), f.table(t, 3)
		switch {
		case f.bad:
			return errFlat
		case i == 0:
			if name != "id" || kind != arrowUTF8 {
				return fmt.Errorf("column %q: want the utf8 column id first", name)
			}
		case kind == arrowInt && f.intField(typ, 0) == 32 && f.byteField(typ, 1) == 1 && len(a.spec.Lists) == 0:
			a.spec.Ints = append(a.spec.Ints, name)
		case kind == arrowList || kind == arrowFixedSizeList:
			l := ListSpec{Name: name, Metadata: f.pairs(t, 6)}
			if kind == arrowFixedSizeList {
				l.Len = int(f.intField(typ, 0))
			}
			children := f.tables(t, 5)
			if len(children) != 1 || f.byteField(children[0], 2) != arrowFloatingPoint || kind == arrowFixedSizeList && l.Len < 1 {
				return fmt.Errorf("column %q: want lists of numbers", name)
			}
			switch precision := f.shortField(f.table(children[0], 3), 0); precision {
			case 0:
				l.Half = true
			case 1:
			default:
				return fmt.Errorf("column %q: want float16 or float32", name)
			}
			a.spec.Lists = append(a.spec.Lists, l)
		default:
			return fmt.Errorf("column %q: want int32 columns, then lists of float16 or float32", name)
		}
	}
	if f.bad {
		return errFlat
	}
	if len(fields) == 0 {
		return errors.New("no columns")
	}
	return nil
}

// readBatch finds the buffers of one record batch.
func (a *Arrays) readBatch(k *ipcBlock) error {
	frame, err := k.batch(a.r)
	if err != nil {
		return err
	}
	if frame.compressed {
		return errors.New("compressed: rows have no computed place")
	}
	n := frame.rows
	b := arrayBatch{start: a.rows, rows: int(n)}
	c := cursor{frame: frame}

	c.node(n) // id
	ends, text := c.buffer(), c.buffer()
	if b.idEnds, b.ids, err = a.strings(k, ends, text, n); err != nil {
		return fmt.Errorf("column id: %w", err)
	}
	for _, name := range a.spec.Ints {
		c.node(n)
		v, err := k.read(a.r, c.buffer(), 4*n)
		if err != nil {
			return fmt.Errorf("column %s: %w", name, err)
		}
		b.ints = append(b.ints, v)
	}
	for _, l := range a.spec.Lists {
		c.node(n)
		count := n * int64(l.Len)
		var ends []byte
		if l.Len == 0 {
			if ends, err = k.read(a.r, c.buffer(), 4*(n+1)); err != nil {
				return fmt.Errorf("column %s: %w", l.Name, err)
			}
			if count, err = increasing(ends); err != nil {
				return fmt.Errorf("column %s: %w", l.Name, err)
			}
		} else if n > 0 && count/n != int64(l.Len) {
			return fmt.Errorf("column %s: %w", l.Name, errFlat)
		}
		c.node(count)
		values := c.buffer()
		if values.size/l.width() < count {
			return fmt.Errorf("column %s: %d bytes for %d numbers", l.Name, values.size, count)
		}
		b.lists = append(b.lists, k.body+values.off)
		b.ends = append(b.ends, ends)
	}
	if c.err != nil {
		return c.err
	}
	a.batches = append(a.batches, b)
	a.rows += b.rows
	return nil
}

// A cursor hands out a batch's nodes and buffers in column order.
type cursor struct {
	frame  *ipcBatch
	n, buf int
	err    error
}

// node takes the next column, whose validity buffer must be of no account.
func (c *cursor) node(rows int64) {
	if c.n >= len(c.frame.nodes) {
		c.err = errFlat
		return
	}
	switch node := c.frame.nodes[c.n]; {
	case node.nulls != 0:
		c.err = fmt.Errorf("%d null values", node.nulls)
	case node.rows != rows:
		c.err = fmt.Errorf("a column of %d rows in a batch of %d", node.rows, rows)
	}
	c.n++
	c.buffer()
}

func (c *cursor) buffer() ipcSpan {
	if c.buf >= len(c.frame.buffers) {
		c.err = errFlat
		return ipcSpan{}
	}
	c.buf++
	return c.frame.buffers[c.buf-1]
}

// read reads the first n bytes of a buffer.
func (k *ipcBlock) read(r io.ReaderAt, s ipcSpan, n int64) ([]byte, error) {
	if n < 0 || s.size < n {
		return nil, fmt.Errorf("%d bytes where %d are wanted", s.size, n)
	}
	b := make([]byte, n)
	return b, readFull(r, b, k.body+s.off)
}

func (a *Arrays) strings(k *ipcBlock, ends, text ipcSpan, n int64) (e, t []byte, err error) {
	if n == 0 {
		return make([]byte, 4), nil, nil
	}
	if e, err = k.read(a.r, ends, 4*(n+1)); err != nil {
		return nil, nil, err
	}
	last, err := increasing(e)
	if err != nil {
		return nil, nil, err
	}
	t, err = k.read(a.r, text, last)
	return e, t, err
}

// increasing checks a list's offsets and returns the last of them.
func increasing(ends []byte) (int64, error) {
	at := int32(0)
	for i := 0; i < len(ends); i += 4 {
		e := int32(binary.LittleEndian.Uint32(ends[i:]))
		if e < at {
			return 0, errors.New("offsets run backwards")
		}
		at = e
	}
	return int64(at), nil
}

func int32At(b []byte, i int) int { return int(int32(binary.LittleEndian.Uint32(b[4*i:]))) }

// Spec returns the file's columns. It must not be changed.
func (a *Arrays) Spec() *ArraySpec { return &a.spec }

// Len returns the number of rows.
func (a *Arrays) Len() int { return a.rows }

// row returns the batch of a row and its place in it.
func (a *Arrays) row(row int) (*arrayBatch, int) {
	if row < 0 || row >= a.rows {
		panic("shard: row out of range")
	}
	i := sort.Search(len(a.batches), func(i int) bool { return a.batches[i].start > row }) - 1
	return &a.batches[i], row - a.batches[i].start
}

// ID returns the id of a row.
func (a *Arrays) ID(row int) string {
	b, i := a.row(row)
	return string(b.ids[int32At(b.idEnds, i):int32At(b.idEnds, i+1)])
}

// Int returns one integer of a row.
func (a *Arrays) Int(column, row int) int32 {
	b, i := a.row(row)
	return int32(int32At(b.ints[column], i))
}

// ListLen returns how many numbers a list of a row has.
func (a *Arrays) ListLen(column, row int) int {
	if n := a.spec.Lists[column].Len; n > 0 {
		return n
	}
	b, i := a.row(row)
	return int32At(b.ends[column], i+1) - int32At(b.ends[column], i)
}

// ReadList reads a list of a row into dst, whose length must be the list's.
func (a *Arrays) ReadList(column, row int, dst []float32) error {
	l := &a.spec.Lists[column]
	b, i := a.row(row)
	first, n := int64(i)*int64(l.Len), l.Len
	if n == 0 {
		first = int64(int32At(b.ends[column], i))
		n = int32At(b.ends[column], i+1) - int(first)
	}
	if n != len(dst) {
		return fmt.Errorf("row %d, column %s: %d numbers, room for %d", row, l.Name, n, len(dst))
	}
	if n == 0 {
		return nil
	}
	off := b.lists[column] + first*l.width()
	if !l.Half && littleEndian {
		raw := unsafe.Slice((*byte)(unsafe.Pointer(&dst[0])), 4*n)
		if err := readFull(a.r, raw, off); err != nil {
			return fmt.Errorf("row %d, column %s: %w", row, l.Name, err)
		}
		return nil
	}
	buf, _ := a.scratch.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
	}
	defer a.scratch.Put(buf)
	if size := n * int(l.width()); cap(*buf) < size {
		*buf = make([]byte, size)
	} else {
		*buf = (*buf)[:size]
	}
	if err := readFull(a.r, *buf, off); err != nil {
		return fmt.Errorf("row %d, column %s: %w", row, l.Name, err)
	}
	if l.Half {
		floats(dst, *buf)
		return nil
	}
	for j := range dst {
		dst[j] = math.Float32frombits(binary.LittleEndian.Uint32((*buf)[4*j:]))
	}
	return nil
}

var littleEndian = func() bool {
	x := uint16(1)
	return *(*byte)(unsafe.Pointer(&x)) == 1
}()
