package rawfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"espalier/pipeline"
)

// RefuseLines refuses files that cannot hold lines of text: empty ones, those
// that begin with the mark of UTF-16 and those whose lines end in CR alone.
func RefuseLines(r io.ReaderAt, size int64, name string) error {
	if err := RefuseText(r, size, name); err != nil {
		return err
	}
	for _, n := range []int64{64 << 10, 4 << 20} {
		head := make([]byte, min(size, n))
		m, err := r.ReadAt(head, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read %s: %w", name, err)
		}
		head = head[:m]
		at := bytes.IndexByte(bytes.TrimRight(head, "\r"), '\r')
		if at < 0 || bytes.IndexByte(head, '\n') >= 0 {
			return nil
		}
		if size <= n || n > 1<<20 {
			return &pipeline.RefusedError{File: name, Line: 1, Offset: int64(at), Reason: "lines end in CR alone"}
		}
	}
	return nil
}

// RefuseText refuses empty files and those that begin with the mark of UTF-16.
func RefuseText(r io.ReaderAt, size int64, name string) error {
	var head [2]byte
	n, err := r.ReadAt(head[:min(size, 2)], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: %w", name, err)
	}
	switch {
	case n == 0:
		return &pipeline.RefusedError{File: name, Offset: -1, Reason: "empty file"}
	case n == 2 && (head == [2]byte{0xff, 0xfe} || head == [2]byte{0xfe, 0xff}):
		return &pipeline.RefusedError{File: name, Line: 1, Offset: 0, Reason: "UTF-16 byte order mark"}
	}
	return nil
}

// foreign are files that are none of a corpus's, by how they begin: those that
// stand for one in Git's large file storage, what is packed once more, and what
// is packed in a way that is not read.
var foreign = []struct{ head, reason string }{
	{"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS, not the file"},
	{"PK\x03\x04", "a zip archive in the place of a file"},
	{"\x1f\x8b\x08", "a gzip stream in a gzip stream"},
	{"BZh91AY&SY", "packed by bzip2, which is not read"},
	{"\xfd7zXZ\x00", "packed by xz, which is not read"},
	{"\x28\xb5\x2f\xfd", "packed by zstd, which is not read"},
	{"7z\xbc\xaf\x27\x1c", "packed by 7-Zip, which is not read"},
	{"Rar!\x1a\x07", "packed by RAR, which is not read"},
}

// RefuseForeign refuses a file, expanded, that cannot be one of a corpus.
func RefuseForeign(r io.ReaderAt, size int64, name string) error {
	var head [64]byte
	n, err := r.ReadAt(head[:min(size, int64(len(head)))], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: %w", name, err)
	}
	for _, f := range foreign {
		if bytes.HasPrefix(head[:n], []byte(f.head)) {
			return &pipeline.RefusedError{File: name, Offset: 0, Reason: f.reason}
		}
	}
	return nil
}
