package shard

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
)

// Blobs reads a Parquet column of files: a struct of bytes and, perhaps, path,
// as Hugging Face's datasets keep images. Rows may be read in any order; one row
// behind the other is fastest. It is used from one goroutine at a time.
type Blobs struct {
	r            io.ReaderAt
	f            *parquet.File
	starts       []int64 // first row of each group, and of none
	bytes, paths blobColumn
	named        bool
}

// OpenBlobs opens a file of which one column is such a struct, or of several
// the one called image.
func OpenBlobs(r io.ReaderAt, size int64) (b *Blobs, err error) {
	defer caught(&err, "open: %w", ErrFormat)
	f, err := openParquet(r, size)
	if err != nil {
		return nil, err
	}
	b = &Blobs{r: r, f: f, starts: []int64{0}}
	for _, g := range f.RowGroups() {
		b.starts = append(b.starts, b.starts[len(b.starts)-1]+g.NumRows())
	}
	leaf := func(names ...string) int {
		l, ok := f.Schema().Lookup(names...)
		if !ok || l.MaxRepetitionLevel > 0 || l.Node.Type().Kind() != parquet.ByteArray {
			return -1
		}
		return l.ColumnIndex
	}
	var found []string
	for _, c := range f.Schema().Fields() {
		if !c.Leaf() && leaf(c.Name(), "bytes") >= 0 {
			found = append(found, c.Name())
		}
	}
	name := ""
	switch {
	case slices.Contains(found, "image"):
		name = "image"
	case len(found) == 1:
		name = found[0]
	case len(found) == 0:
		return nil, errors.New("no column of files: a struct with bytes in it")
	default:
		return nil, fmt.Errorf("columns of files %q, none of them called image", found)
	}
	b.bytes = blobColumn{b: b, leaf: leaf(name, "bytes")}
	b.paths = blobColumn{b: b, leaf: leaf(name, "path")}
	b.named = b.paths.leaf >= 0
	return b, nil
}

// Rows returns the number of rows.
func (b *Blobs) Rows() int64 { return b.starts[len(b.starts)-1] }

// Read returns the bytes of a row, a copy; nil if the row has none.
func (b *Blobs) Read(row int64) ([]byte, error) { return b.bytes.read(row) }

// Path returns the path of a row, "" if there is none.
func (b *Blobs) Path(row int64) (string, error) {
	if !b.named {
		return "", nil
	}
	p, err := b.paths.read(row)
	return string(p), err
}

// Close lets pages go.
func (b *Blobs) Close() error { return errors.Join(b.bytes.close(), b.paths.close()) }

// A blobColumn is a place in a column of a Blobs.
type blobColumn struct {
	b      *Blobs
	leaf   int
	group  int
	next   int64 // row that is read next, of the group
	pages  parquet.Pages
	page   parquet.Page
	values parquet.ValueReader
}

func (c *blobColumn) read(row int64) (value []byte, err error) {
	defer caught(&err, "read row %d: %w", row, ErrFormat)
	if row < 0 || row >= c.b.Rows() {
		return nil, fmt.Errorf("%w: row %d of %d", ErrFormat, row, c.b.Rows())
	}
	group, exact := slices.BinarySearch(c.b.starts, row)
	if !exact {
		group--
	}
	for c.b.starts[group+1] == row { // behind empty groups
		group++
	}
	row -= c.b.starts[group]
	if c.pages == nil || c.group != group || c.next > row {
		if err := c.seek(group, row); err != nil {
			return nil, err
		}
	}
	var one [1]parquet.Value
	for {
		if c.values == nil {
			if c.page, err = c.pages.ReadPage(); err != nil {
				return nil, fmt.Errorf("%w: row %d of group %d: %w", ErrFormat, row, group, err)
			}
			c.values = c.page.Values()
		}
		n, err := c.values.ReadValues(one[:])
		if n == 1 {
			c.next++
			if c.next <= row {
				continue
			}
			if one[0].IsNull() {
				return nil, nil
			}
			return append([]byte{}, one[0].ByteArray()...), nil
		}
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("%w: row %d of group %d: %w", ErrFormat, row, group, err)
		}
		c.release()
	}
}

// seek goes to a row of a group.
func (c *blobColumn) seek(group int, row int64) error {
	if c.pages == nil || c.group != group {
		if err := c.close(); err != nil {
			return err
		}
		if err := checkPages(c.b.r, &c.b.f.Metadata().RowGroups[group].Columns[c.leaf].MetaData); err != nil {
			return fmt.Errorf("row group %d: %w: %w", group, ErrFormat, err)
		}
		c.group, c.pages = group, c.b.f.RowGroups()[group].ColumnChunks()[c.leaf].Pages()
	}
	c.release()
	c.next = row
	return c.pages.SeekToRow(row)
}

func (c *blobColumn) release() {
	if c.page != nil {
		parquet.Release(c.page)
	}
	c.page, c.values = nil, nil
}

func (c *blobColumn) close() error {
	c.release()
	if c.pages == nil {
		return nil
	}
	p := c.pages
	c.pages = nil
	return p.Close()
}
