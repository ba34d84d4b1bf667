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
	// CR says that a lone CR ends a line too, as where a file is read in text
	// mode. It is set before the first call of Next.
	CR bool

	r    io.Reader
	buf  []byte
	base int64 // offset of buf[0]
	i    int   // next byte
	eof  bool
	line Line
	err  error
	// No line feed lies in buf[i:lf]; one is at lf if found.
	lf    int
	found bool
}

// NewLines reads lines from size bytes of r.
func NewLines(r io.ReaderAt, size int64) *Lines { return NewLinesAt(r, 0, size, 1) }

// NewLinesAt reads the lines between two offsets, of which the first is at the
// start of the line with number n.
func NewLinesAt(r io.ReaderAt, from, to, n int64) *Lines {
	size := to - from
	return &Lines{
		r: io.NewSectionReader(r, from, size), buf: make([]byte, 0, max(min(size, 256<<10), 1)), base: from,
		line: Line{N: n - 1},
	}
}

// End returns the offset behind the line that was given last and its end.
func (l *Lines) End() int64 { return l.base + int64(l.i) }

// Next reads a line, which the next call overwrites. At the end and after an
// error it returns nil.
func (l *Lines) Next() *Line {
	for l.err == nil {
		l.seek()
		text, end := -1, 0
		if l.CR {
			text, end = l.carriageReturn()
		}
		switch {
		case text >= 0:
			return l.give(text, end)
		case end < 0: // what follows a CR is not read yet
		case l.found:
			text, end = l.lf, l.lf+1
			if text > l.i && l.buf[text-1] == '\r' {
				text--
			}
			return l.give(text, end)
		case l.eof && l.i == len(l.buf):
			return nil
		case l.eof:
			end = len(l.buf)
			return l.give(len(bytes.TrimSuffix(l.buf, []byte{'\r'})), end)
		}
		l.fill()
	}
	return nil
}

// seek finds the next line feed of the buffer.
func (l *Lines) seek() {
	if l.found && l.lf >= l.i {
		return
	}
	from := max(l.lf, l.i)
	k := bytes.IndexByte(l.buf[from:], '\n')
	if l.found = k >= 0; l.found {
		l.lf = from + k
	} else {
		l.lf = len(l.buf)
	}
}

// carriageReturn finds a CR before the next line feed and returns where the
// line that it ends has its text's end and its own. Text is -1 if there is none;
// end is then -1 too if more is to be read to tell.
func (l *Lines) carriageReturn() (text, end int) {
	k := bytes.IndexByte(l.buf[l.i:l.lf], '\r')
	if k < 0 {
		return -1, 0
	}
	k += l.i
	switch {
	case k+1 == len(l.buf) && !l.eof:
		return -1, -1
	case k+1 < len(l.buf) && l.buf[k+1] == '\n':
		return k, k + 2
	}
	return k, k + 1
}

// fill moves what is left of the buffer to its front and reads on behind it.
func (l *Lines) fill() {
	l.buf = l.buf[:copy(l.buf, l.buf[l.i:])]
	l.base += int64(l.i)
	l.lf -= l.i
	l.i = 0
	n := len(l.buf)
	if n >= MaxLine {
		l.err = fmt.Errorf("line %d is longer than %d bytes", l.line.N+1, MaxLine)
		return
	}
	if n == cap(l.buf) {
		l.buf = append(make([]byte, 0, 2*cap(l.buf)), l.buf...)
	}
	m, err := l.r.Read(l.buf[n:cap(l.buf)])
	l.buf = l.buf[:n+m]
	if errors.Is(err, io.EOF) {
		l.eof = true
	} else if err != nil {
		l.err = err
	}
}

// give hands out the line whose text ends before buf[text] and which itself
// ends before buf[end].
func (l *Lines) give(text, end int) *Line {
	raw := l.buf[l.i:text]
	l.line = Line{N: l.line.N + 1, Offset: l.base + int64(l.i), Raw: raw, Text: raw}
	if l.line.Offset == 0 {
		l.line.Text = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	}
	l.i = end
	return &l.line
}

// Err returns the error that ended the reading.
func (l *Lines) Err() error { return l.err }
