// Package rawfile opens raw corpus files, which may be gzip streams or members
// of zip and tar archives, for reading at any place.
//
// A gzip stream is known by its first two bytes, whatever the file is called.
// It is expanded into a file of a scratch folder, so that memory stays bounded
// and its lines and elements can be found again by offset; offsets are those of
// the expanded bytes. Members are joined and zero padding behind one is ignored.
// A stream that ends early, fails its checksum or is followed by other data is
// refused as a whole: it is never half read. The same holds for the members of
// archives.
package rawfile

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"

	"espalier/pipeline"
)

// A Plain is the expanded content of a raw file. It is safe for concurrent
// reads.
type Plain struct {
	io.ReaderAt
	Size int64 // in bytes, expanded
	Gzip bool
	tmp  *os.File
}

// Close removes the scratch file, if there is one. It does not close the file
// that was opened.
func (p *Plain) Close() error {
	if p.tmp == nil {
		return nil
	}
	return errors.Join(p.tmp.Close(), os.Remove(p.tmp.Name()))
}

// IsGzip reports whether the file starts like a gzip stream.
func IsGzip(r io.ReaderAt) (bool, error) {
	var magic [2]byte
	n, err := r.ReadAt(magic[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return n == 2 && magic == [2]byte{0x1f, 0x8b}, nil
}

// Open returns the content of a file of size bytes. Scratch is the folder for
// expanded streams; "" means the system's. Name stands in messages: a stream
// that cannot be used is a [*pipeline.RefusedError].
func Open(ctx context.Context, name string, r io.ReaderAt, size int64, scratch string) (*Plain, error) {
	zipped, err := IsGzip(r)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if !zipped {
		return &Plain{ReaderAt: r, Size: size}, nil
	}
	tmp, err := os.CreateTemp(scratch, "plain-*")
	if err != nil {
		return nil, err
	}
	p := &Plain{ReaderAt: tmp, Gzip: true, tmp: tmp}
	if p.Size, err = expand(ctx, tmp, io.NewSectionReader(r, 0, size)); err != nil {
		p.Close()
		var reason refusal
		if errors.As(err, &reason) {
			return nil, &pipeline.RefusedError{File: name, Offset: -1, Reason: string(reason)}
		}
		return nil, fmt.Errorf("expand %s: %w", name, err)
	}
	return p, nil
}

type refusal string

func (r refusal) Error() string { return string(r) }

// expand writes the joined members of a stream and returns their length.
func expand(ctx context.Context, w io.Writer, r io.Reader) (n int64, err error) {
	in := bufio.NewReaderSize(r, 256<<10)
	z, err := gzip.NewReader(in)
	if err != nil {
		return 0, gzipError(err)
	}
	buf := make([]byte, 1<<20)
	for {
		z.Multistream(false)
		for {
			if err := ctx.Err(); err != nil {
				return n, err
			}
			m, err := z.Read(buf)
			if _, werr := w.Write(buf[:m]); werr != nil {
				return n, werr
			}
			n += int64(m)
			if err == io.EOF {
				break
			}
			if err != nil {
				return n, gzipError(err)
			}
		}
		for {
			c, err := in.ReadByte()
			if err == io.EOF {
				return n, nil
			}
			if err != nil {
				return n, err
			}
			if c != 0 {
				if err := in.UnreadByte(); err != nil {
					return n, err
				}
				break
			}
		}
		if head, _ := in.Peek(2); len(head) < 2 || head[0] != 0x1f || head[1] != 0x8b {
			return n, refusal("data after the gzip member")
		}
		if err := z.Reset(in); err != nil {
			return n, gzipError(err)
		}
	}
}

func gzipError(err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return refusal("gzip ends early")
	case errors.Is(err, gzip.ErrChecksum):
		return refusal("gzip checksum is wrong")
	case errors.Is(err, gzip.ErrHeader):
		return refusal("no gzip stream behind its first two bytes")
	}
	var corrupt flate.CorruptInputError
	if errors.As(err, &corrupt) {
		return refusal("gzip stream is damaged")
	}
	return err
}
