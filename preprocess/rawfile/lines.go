package rawfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the longest line that Lines reads.
const MaxLine = 64 << 20

// A Line is one line of a file.
type Line struct {
	N      int64  // from 1
	Offset int64  // of its first byte
	Raw    []byte // without its end
	Text   []byte // Raw without a byte order mark at the start of the file
}

// Lines reads a file line by line. A line ends with LF, of which one CR before
// it is part; a last line needs no end. It is not safe for concurrent use.
type Lines struct {
	r    io.Reader
	buf  []byte
	i    int
	eof  bool
	line Line
	err  error
}

// NewLines reads lines from size bytes of r.
func NewLines(r io.ReaderAt, size int64) *Lines {
	return &Lines{r: io.NewSectionReader(r, 0, size), buf: make([]byte, 0, max(min(size, 256<<10), 1))}
}

// Next reads a line, which the next call overwrites. At the end and after an
// error it returns nil.
func (l *Lines) Next() *Line {
	if l.err != nil {
		return nil
	}
	l.line.Offset += int64(l.i)
	if l.i > 0 {
		l.buf = l.buf[:copy(l.buf, l.buf[l.i:])]
		l.i = 0
	}
	for from := 0; ; {
		if k := bytes.IndexByte(l.buf[from:], '\n'); k >= 0 {
			l.i = from + k + 1
			return l.give(bytes.TrimSuffix(l.buf[:l.i-1], []byte{'\r'}))
		}
		from = len(l.buf)
		if l.eof {
			if from == 0 {
				return nil
			}
			l.i = from
			return l.give(bytes.TrimSuffix(l.buf, []byte{'\r'}))
		}
		if from >= MaxLine {
			l.err = fmt.Errorf("line %d is longer than %d bytes", l.line.N+1, MaxLine)
			return nil
		}
		if from == cap(l.buf) {
			l.buf = append(make([]byte, 0, 2*cap(l.buf)), l.buf...)
		}
		n, err := l.r.Read(l.buf[from:cap(l.buf)])
		l.buf = l.buf[:from+n]
		if errors.Is(err, io.EOF) {
			l.eof = true
		} else if err != nil {
			l.err = err
			return nil
		}
	}
}

func (l *Lines) give(raw []byte) *Line {
	l.line.N++
	l.line.Raw, l.line.Text = raw, raw
	if l.line.N == 1 {
		l.line.Text = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	}
	return &l.line
}

// Err returns the error that ended the reading.
func (l *Lines) Err() error { return l.err }
