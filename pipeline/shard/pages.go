package shard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// The Parquet module makes room for whatever length a file claims: twelve
// damaged kilobytes can ask for hundreds of gigabytes, and running out of
// memory cannot be recovered from. The checks of this file come first.

const (
	maxPageHeader = 16 << 20
	maxPageValues = 1 << 26
	// A page may grow this much when it is decompressed: repeated values shrink
	// a thousandfold and more.
	maxPageGrowth = 1 << 16
	maxPageBytes  = 1 << 30
)

var errThrift = errors.New("malformed metadata")

// compactEnd walks a struct in Thrift's compact protocol and returns the
// position behind it. It fails if anything in it is longer than b.
func compactEnd(b []byte, at, depth int) (int, error) {
	if depth > 32 {
		return 0, errThrift
	}
	for {
		if at >= len(b) {
			return 0, io.ErrUnexpectedEOF
		}
		head := b[at]
		at++
		if head == 0 {
			return at, nil
		}
		if head>>4 == 0 { // the field's number follows
			_, n := binary.Uvarint(b[at:])
			if n <= 0 {
				return 0, errThrift
			}
			at += n
		}
		kind := head & 0xf
		if kind == 1 || kind == 2 { // booleans of a field are in its head
			continue
		}
		var err error
		if at, err = compactValue(b, at, kind, depth); err != nil {
			return 0, err
		}
	}
}

func compactValue(b []byte, at int, kind byte, depth int) (int, error) {
	switch kind {
	case 1, 2, 3: // bool in a list, byte
		at++
	case 4, 5, 6: // integers
		_, n := binary.Uvarint(b[min(at, len(b)):])
		if n <= 0 {
			return 0, errThrift
		}
		at += n
	case 7: // double
		at += 8
	case 8: // bytes
		size, n := binary.Uvarint(b[min(at, len(b)):])
		if n <= 0 || size > uint64(len(b)-at-n) {
			return 0, io.ErrUnexpectedEOF
		}
		at += n + int(size)
	case 9, 10: // list, set
		if at >= len(b) {
			return 0, io.ErrUnexpectedEOF
		}
		size, elem := uint64(b[at]>>4), b[at]&0xf
		at++
		if size == 15 {
			var n int
			if size, n = binary.Uvarint(b[at:]); n <= 0 {
				return 0, errThrift
			}
			at += n
		}
		if size > uint64(len(b)-at) {
			return 0, io.ErrUnexpectedEOF
		}
		for range size {
			var err error
			if at, err = compactValue(b, at, elem, depth+1); err != nil {
				return 0, err
			}
		}
	case 12:
		return compactEnd(b, at, depth+1)
	default: // maps do not occur in Parquet's metadata
		return 0, errThrift
	}
	if at > len(b) {
		return 0, io.ErrUnexpectedEOF
	}
	return at, nil
}

// checkPages walks the page headers of one column of one row group.
func checkPages(r io.ReaderAt, m *format.ColumnMetaData) error {
	at := m.DataPageOffset
	if m.DictionaryPageOffset > 0 {
		at = min(at, m.DictionaryPageOffset)
	}
	end := at + m.TotalCompressedSize
	var values int64
	for n := 0; at < end && values < m.NumValues; n++ {
		size, header, err := readPageHeader(r, at, end)
		if err != nil {
			return fmt.Errorf("page %d: %w", n, err)
		}
		at += size
		packed, full := int64(header.CompressedPageSize), int64(header.UncompressedPageSize)
		if packed < 0 || packed > end-at {
			return fmt.Errorf("page %d takes %d bytes where its column has %d left", n, packed, end-at)
		}
		if full < 0 || full > min(packed*maxPageGrowth, maxPageBytes) {
			return fmt.Errorf("page %d of %d bytes claims %d when decompressed", n, packed, full)
		}
		inPage, levels := pageValues(&header)
		if inPage < 0 || inPage > maxPageValues || levels < 0 || levels > packed {
			return fmt.Errorf("page %d claims %d values with %d bytes of levels", n, inPage, levels)
		}
		if header.Type != format.DictionaryPage {
			values += inPage
		}
		if v := header.DataPageHeaderV2; v.Valid && v.V.IsCompressed.Valid && !v.V.IsCompressed.V {
			if full != packed {
				return fmt.Errorf("page %d is not compressed, but %d bytes claim to be %d", n, packed, full)
			}
		} else if err := checkPacked(r, at+levels, packed-levels, full, m.Codec); err != nil {
			return fmt.Errorf("page %d: %w", n, err)
		}
		at += packed
	}
	return nil
}

func pageValues(h *format.PageHeader) (values, levelBytes int64) {
	switch {
	case h.DataPageHeaderV2.Valid:
		v := h.DataPageHeaderV2.V
		return int64(v.NumValues), int64(v.RepetitionLevelsByteLength) + int64(v.DefinitionLevelsByteLength)
	case h.DataPageHeader.Valid:
		return int64(h.DataPageHeader.V.NumValues), 0
	case h.DictionaryPageHeader.Valid:
		return int64(h.DictionaryPageHeader.V.NumValues), 0
	}
	return 0, 0
}

// readPageHeader reads the page header at a place and returns its length.
func readPageHeader(r io.ReaderAt, at, end int64) (int64, format.PageHeader, error) {
	var header format.PageHeader
	for size := int64(512); ; size *= 8 {
		b := make([]byte, min(size, end-at, maxPageHeader))
		if n, err := r.ReadAt(b, at); n < len(b) {
			return 0, header, fmt.Errorf("read header: %w", err)
		}
		n, err := compactEnd(b, 0, 0)
		if errors.Is(err, io.ErrUnexpectedEOF) && int64(len(b)) == size && size < maxPageHeader {
			continue
		}
		if err != nil {
			return 0, header, fmt.Errorf("read header: %w", err)
		}
		if err := thrift.Unmarshal(new(thrift.CompactProtocol), b[:n], &header); err != nil {
			return 0, header, fmt.Errorf("read header: %w", err)
		}
		return int64(n), header, nil
	}
}

// checkPacked compares the size that a compressed block itself states with
// the page's.
func checkPacked(r io.ReaderAt, at, packed, full int64, codec format.CompressionCodec) error {
	if codec != format.Snappy && codec != format.Zstd || packed == 0 {
		return nil
	}
	b := make([]byte, min(packed, zstd.HeaderMaxSize))
	if n, err := r.ReadAt(b, at); n < len(b) {
		return fmt.Errorf("read: %w", err)
	}
	claim := uint64(0)
	if codec == format.Snappy {
		claim, _ = binary.Uvarint(b)
	} else {
		var h zstd.Header
		if h.Decode(b) == nil && h.HasFCS {
			claim = h.FrameContentSize
		}
	}
	if claim > uint64(full) {
		return fmt.Errorf("its block claims %d bytes, its header %d", claim, full)
	}
	return nil
}
