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

// pointer is how a file begins that stands for one in Git's large file storage.
const pointer = "version https://git-lfs.github.com/spec/v1\n"

// RefusePointer refuses a file that only says where its content is to be had.
func RefusePointer(r io.ReaderAt, size int64, name string) error {
	var head [len(pointer)]byte
	if size < int64(len(head)) || size > 1024 {
		return nil
	}
	if _, err := r.ReadAt(head[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if string(head[:]) == pointer {
		return &pipeline.RefusedError{File: name, Line: 1, Offset: 0, Reason: "a pointer of Git LFS, not the file"}
	}
	return nil
}
