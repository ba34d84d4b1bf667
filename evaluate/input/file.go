package input

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"espalier/pipeline"
)

// inMemory is how much of an expanded stream is kept in memory; longer ones go
// to a temporary file.
const inMemory = 64 << 20

// A file is the expanded content of a source.
type file struct {
	io.ReaderAt
	size  int64
	ext   string // of the name, compression aside
	close func()
}

// Expand opens a file for reading at any place, expanded if it is compressed.
func Expand(path string) (r io.ReaderAt, size int64, closeFile func(), err error) {
	f, err := open(&Source{Path: path})
	if err != nil {
		return nil, 0, nil, err
	}
	return f.ReaderAt, f.size, f.close, nil
}

// open expands a source if need be.
func open(src *Source) (*file, error) {
	ext := strings.ToLower(src.Path)
	for _, z := range []string{".gz", ".zst"} {
		ext = strings.TrimSuffix(ext, z)
	}
	ext = filepath.Ext(ext)
	if src.Path == "-" {
		in := src.Reader
		if in == nil {
			in = stdin
		}
		return spool(src, in, ext)
	}
	f, err := os.Open(src.Path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	if info.IsDir() {
		f.Close()
		return nil, &pipeline.RefusedError{File: src.Path, Offset: -1, Reason: "a folder, want a file"}
	}
	var magic [4]byte
	n, _ := f.ReadAt(magic[:], 0)
	if !info.Mode().IsRegular() || compressed(magic[:n]) {
		defer f.Close()
		return spool(src, f, ext)
	}
	return &file{ReaderAt: f, size: info.Size(), ext: ext, close: func() { f.Close() }}, nil
}

func compressed(magic []byte) bool {
	return bytes.HasPrefix(magic, []byte{0x1f, 0x8b}) || bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd})
}

// spool reads a stream to its end, expanding it by what its first bytes say.
func spool(src *Source, in io.Reader, ext string) (*file, error) {
	refuse := func(err error) error {
		return &pipeline.RefusedError{File: src.Path, Offset: -1, Reason: err.Error()}
	}
	var magic [4]byte
	n, err := io.ReadFull(in, magic[:])
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, fmt.Errorf("%s: %w", src.Path, err)
	}
	in = io.MultiReader(bytes.NewReader(magic[:n]), in)
	switch {
	case !compressed(magic[:n]):
	case magic[0] == 0x1f:
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, refuse(err)
		}
		in = z
	default:
		z, err := zstd.NewReader(in)
		if err != nil {
			return nil, refuse(err)
		}
		defer z.Close()
		in = z
	}
	var head bytes.Buffer
	if _, err := io.CopyN(&head, in, inMemory); err == io.EOF {
		return &file{ReaderAt: bytes.NewReader(head.Bytes()), size: int64(head.Len()), ext: ext, close: func() {}}, nil
	} else if err != nil {
		return nil, refuse(err)
	}
	tmp, err := os.CreateTemp("", "espalier-input-*")
	if err != nil {
		return nil, err
	}
	remove := func() { tmp.Close(); os.Remove(tmp.Name()) }
	size, err := io.Copy(tmp, io.MultiReader(&head, in))
	if err != nil {
		remove()
		return nil, refuse(err)
	}
	return &file{ReaderAt: tmp, size: size, ext: ext, close: remove}, nil
}
