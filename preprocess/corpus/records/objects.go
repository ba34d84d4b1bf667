package records

import (
	"bytes"
	"fmt"
	"io"

	"espalier/pipeline"
	"espalier/preprocess/corpus"
	"espalier/preprocess/rawjson"
)

// An objectWalker walks over JSON values that follow one another with blanks
// between them.
type objectWalker struct {
	src   *corpus.Source
	base  int64 // offset of buf[0]
	end   int64
	buf   []byte
	i     int
	index int64
	el    Element
	err   error
}

func newObjectWalker(src *corpus.Source, at *Span) *objectWalker {
	w := &objectWalker{src: src, end: src.Size}
	if at != nil {
		w.base, w.end, w.index = at.From, at.To, at.Index
	}
	return w
}

// fill reads more bytes behind buf[i:]; false at the end.
func (w *objectWalker) fill() bool {
	if w.err != nil || w.base+int64(len(w.buf)) >= w.end {
		return false
	}
	n := copy(w.buf, w.buf[w.i:])
	w.base += int64(w.i)
	w.i = 0
	if n > rawjson.MaxElement {
		w.refuse(w.base, fmt.Sprintf("value of more than %d bytes", rawjson.MaxElement))
		return false
	}
	room := min(int64(max(n, 1<<20)), w.end-w.base-int64(n))
	if int64(cap(w.buf)) < int64(n)+room {
		w.buf = append(make([]byte, 0, int64(n)+room), w.buf[:n]...)
	}
	w.buf = w.buf[:int64(n)+room]
	m, err := w.src.ReadAt(w.buf[n:], w.base+int64(n))
	w.buf = w.buf[:n+m]
	if int64(m) < room {
		if err != nil && err != io.EOF {
			w.err = err
		}
		w.end = w.base + int64(len(w.buf))
	}
	return m > 0
}

// Next finds the next value.
func (w *objectWalker) Next() *Element {
	for w.err == nil {
		if w.base == 0 && w.i == 0 && bytes.HasPrefix(w.buf, bom) {
			w.i = len(bom)
		}
		for w.i < len(w.buf) && bytes.IndexByte([]byte(" \t\r\n"), w.buf[w.i]) >= 0 {
			w.i++
		}
		if w.i >= len(w.buf) {
			if !w.fill() {
				return nil
			}
			continue
		}
		at := w.base + int64(w.i)
		if c := w.buf[w.i]; c != '{' {
			w.refuse(at, "not an object")
			return nil
		}
		if n, whole := rawjson.Value(w.buf[w.i:]); whole {
			w.el = Element{Index: w.index, From: at, Offset: at, To: at + int64(n), Bytes: w.buf[w.i : w.i+n], JSON: true}
			w.i += n
			w.index++
			return &w.el
		}
		if !w.fill() {
			w.refuse(w.end, "JSON ends early")
			return nil
		}
	}
	return nil
}

func (w *objectWalker) refuse(offset int64, reason string) {
	if w.err != nil {
		return
	}
	line := int64(1)
	buf := make([]byte, 64<<10)
	for at := int64(0); at < offset; {
		n, err := w.src.ReadAt(buf[:min(int64(len(buf)), offset-at)], at)
		line += int64(bytes.Count(buf[:n], []byte{'\n'}))
		if at += int64(n); n == 0 && err != nil {
			break
		}
	}
	w.err = &pipeline.RefusedError{File: w.src.Name, Line: line, Offset: offset, Reason: reason}
}

// Err returns why the walk ended early.
func (w *objectWalker) Err() error { return w.err }

// Mode is what the file is.
func (w *objectWalker) Mode() string { return oneByOne }
