package shard

import (
	"encoding/binary"
	"fmt"
	"io"
)

// The places of Arrow's metadata fields are those of format/File.fbs,
// Message.fbs and Schema.fbs of the Arrow project.

const (
	arrowMagic     = "ARROW1"
	maxIPCMetadata = 64 << 20

	messageSchema     = 1
	messageDictionary = 2
	messageBatch      = 3
)

// An ipcBlock is one message of an Arrow IPC file: its metadata and where its
// body lies.
type ipcBlock struct {
	meta flat
	body int64 // place in the file
	size int64 // of the body
}

// An ipcBatch is the frame of a record batch.
type ipcBatch struct {
	rows       int64
	nodes      []ipcNode
	buffers    []ipcSpan
	compressed bool
}

type ipcNode struct{ rows, nulls int64 }

type ipcSpan struct{ off, size int64 } // relative to the body

// readIPCFooter returns the footer of an Arrow IPC file.
func readIPCFooter(r io.ReaderAt, size int64) (*flat, error) {
	const tail = 4 + len(arrowMagic)
	if size < int64(8+tail) {
		return nil, fmt.Errorf("%w: %d bytes are too few for an Arrow file", ErrFormat, size)
	}
	var b [tail]byte
	if err := readFull(r, b[:], size-int64(tail)); err != nil {
		return nil, fmt.Errorf("read footer: %w", err)
	}
	if string(b[4:]) != arrowMagic {
		return nil, fmt.Errorf("%w: no Arrow footer: the magic at the end is missing", ErrFormat)
	}
	n := int64(int32(binary.LittleEndian.Uint32(b[:4])))
	if n <= 0 || n > size-int64(tail)-8 {
		return nil, fmt.Errorf("%w: a footer of %d bytes in a file of %d", ErrFormat, n, size)
	}
	f := &flat{b: make([]byte, n)}
	if err := readFull(r, f.b, size-int64(tail)-n); err != nil {
		return nil, fmt.Errorf("read footer: %w", err)
	}
	return f, nil
}

// blocks reads vector i of the footer: 2 holds dictionaries, 3 record batches.
// Each block is held against the file's size.
func ipcBlocks(r io.ReaderAt, size int64, footer *flat, i int64) ([]ipcBlock, error) {
	const blockBytes = 24
	pos, n := footer.vector(footer.root(), i, blockBytes)
	if footer.bad {
		return nil, fmt.Errorf("%w: footer: %w", ErrFormat, errFlat)
	}
	blocks := make([]ipcBlock, n)
	for k := range blocks {
		at := pos + blockBytes*int64(k)
		off, meta, body := footer.i64(at), int64(footer.i32(at+8)), footer.i64(at+16)
		if off < 8 || meta < 8 || body < 0 || meta > min(size, maxIPCMetadata) || body > size || off > size-meta-body {
			return nil, fmt.Errorf("%w: batch %d lies outside the file", ErrFormat, k)
		}
		b := make([]byte, meta)
		if err := readFull(r, b, off); err != nil {
			return nil, fmt.Errorf("read batch %d: %w", k, err)
		}
		m, err := messageOf(b)
		if err != nil {
			return nil, fmt.Errorf("%w: batch %d: %w", ErrFormat, k, err)
		}
		if claim := m.longField(m.root(), 3); m.bad || claim < 0 || claim > body {
			return nil, fmt.Errorf("%w: batch %d: a body of %d bytes where there are %d", ErrFormat, k, claim, body)
		}
		blocks[k] = ipcBlock{meta: *m, body: off + meta, size: body}
	}
	return blocks, nil
}

// messageOf strips the length in front of a message's metadata.
func messageOf(b []byte) (*flat, error) {
	if len(b) < 8 {
		return nil, errFlat
	}
	if binary.LittleEndian.Uint32(b) == 0xffffffff {
		b = b[4:]
	}
	n := int64(int32(binary.LittleEndian.Uint32(b)))
	if n < 8 || n > int64(len(b)-4) {
		return nil, errFlat
	}
	return &flat{b: b[4 : 4+n]}, nil
}

// batch reads the frame of a record batch or dictionary and holds its buffers
// against its body.
func (k *ipcBlock) batch(r io.ReaderAt) (*ipcBatch, error) {
	f := &k.meta
	root := f.root()
	t := f.table(root, 2)
	switch f.byteField(root, 1) {
	case messageBatch:
	case messageDictionary:
		t = f.table(t, 1)
	default:
		return nil, errFlat
	}
	b := &ipcBatch{rows: f.longField(t, 0)}
	pos, n := f.vector(t, 1, 16)
	for i := range n {
		node := ipcNode{f.i64(pos + 16*i), f.i64(pos + 16*i + 8)}
		if node.rows < 0 || node.nulls < 0 || node.nulls > node.rows {
			return nil, errFlat
		}
		b.nodes = append(b.nodes, node)
	}
	pos, n = f.vector(t, 2, 16)
	for i := range n {
		s := ipcSpan{f.i64(pos + 16*i), f.i64(pos + 16*i + 8)}
		if s.off < 0 || s.size < 0 || s.size > k.size || s.off > k.size-s.size {
			return nil, fmt.Errorf("buffer %d lies outside its batch", i)
		}
		b.buffers = append(b.buffers, s)
	}
	b.compressed = f.table(t, 3) != 0
	if f.bad || b.rows < 0 {
		return nil, errFlat
	}
	if b.compressed {
		if err := k.checkCompressed(r, b); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// checkCompressed bounds what the buffers claim to hold when decompressed.
func (k *ipcBlock) checkCompressed(r io.ReaderAt, b *ipcBatch) error {
	var sum int64
	for i, s := range b.buffers {
		if s.size == 0 {
			continue
		}
		var head [8]byte
		if s.size < 8 {
			return fmt.Errorf("buffer %d is too short for its length", i)
		}
		if err := readFull(r, head[:], k.body+s.off); err != nil {
			return err
		}
		n := int64(binary.LittleEndian.Uint64(head[:]))
		if n == -1 { // stored as it is
			n = s.size - 8
		}
		if n < 0 || n > min(s.size*maxPageGrowth, maxPageBytes) {
			return fmt.Errorf("buffer %d of %d bytes claims %d when decompressed", i, s.size, n)
		}
		if sum += n; sum > 4*maxPageBytes {
			return fmt.Errorf("its buffers claim more than %d bytes when decompressed", 4*int64(maxPageBytes))
		}
	}
	return nil
}

func readFull(r io.ReaderAt, b []byte, off int64) error {
	if n, err := r.ReadAt(b, off); n < len(b) {
		return err
	}
	return nil
}

// checkSchema walks a schema: the module allocates by its counts.
func checkSchema(f *flat, schema flatTable) error {
	const maxFields, maxDepth = 1 << 16, 64
	fields := 0
	var walk func(t flatTable, depth int)
	walk = func(t flatTable, depth int) {
		if fields++; fields > maxFields || depth > maxDepth || t == 0 {
			f.bad = true
		}
		if f.bad {
			return
		}
		f.text(t, 0)
		f.pairs(t, 6)
		for _, c := range f.tables(t, 5) {
			walk(c, depth+1)
		}
	}
	if schema == 0 {
		return errFlat
	}
	f.pairs(schema, 2)
	for _, t := range f.tables(schema, 1) {
		walk(t, 0)
	}
	if f.bad {
		return errFlat
	}
	return nil
}
