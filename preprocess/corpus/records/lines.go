package records

import (
	"bytes"
	"io"

	"espalier/pipeline"
	"espalier/preprocess/corpus"
	"espalier/preprocess/rawfile"
)

var bom = []byte("\xef\xbb\xbf")

// Lines is the layout of files with an element a line. A line ends with LF, of
// which one CR before it is part; a byte order mark at the start of the file is
// dropped.
type Lines struct {
	// Skip passes over lines, such as blank ones. What is passed over has no
	// number.
	Skip func(text []byte) bool
	// Header is the number of lines before the first element.
	Header int
}

// Blank reports whether a line has nothing but blanks as JSON knows them.
func Blank(text []byte) bool { return len(bytes.Trim(text, " \t\r\n")) == 0 }

// Walk walks over the lines of a file.
func (l Lines) Walk(src *corpus.Source, at *Span) Walker {
	w := newLineWalker(src, at)
	w.skip = l.Skip
	if at == nil {
		if w.err = rawfile.RefuseLines(src, src.Size, src.Name); w.err != nil {
			return w
		}
		for range l.Header {
			w.line()
		}
	}
	return w
}

// A lineWalker reads lines, from the start of a file or from the middle.
type lineWalker struct {
	src    *corpus.Source
	lines  *rawfile.Lines
	base   int64 // offset and number before the first line
	before int64
	skip   func([]byte) bool
	el     Element
	index  int64
	last   int64 // number of the last line
	err    error
}

func newLineWalker(src *corpus.Source, at *Span) *lineWalker {
	w := &lineWalker{src: src}
	if at == nil {
		if w.err = rawfile.RefuseText(src, src.Size, src.Name); w.err == nil {
			w.lines = rawfile.NewLines(src, src.Size)
		}
		return w
	}
	w.base, w.before, w.index = at.From, max(at.Line-1, 0), at.Index
	w.lines = rawfile.NewLines(io.NewSectionReader(src, at.From, at.To-at.From), at.To-at.From)
	return w
}

// line reads a line of the file as it is, nil at the end.
func (w *lineWalker) line() *Element {
	if w.err != nil {
		return nil
	}
	l := w.lines.Next()
	if l == nil {
		if err := w.lines.Err(); err != nil {
			w.err = &pipeline.RefusedError{File: w.src.Name, Line: max(w.last, w.before) + 1, Offset: -1, Reason: err.Error()}
		}
		return nil
	}
	w.last = w.before + l.N
	offset := w.base + l.Offset
	text := l.Raw
	if offset == 0 {
		text = bytes.TrimPrefix(text, bom)
	}
	w.el = Element{Index: w.index, First: w.before + l.N, Line: w.before + l.N, From: offset, Offset: offset + int64(len(l.Raw)-len(text)), To: w.base + w.lines.End(), Bytes: text}
	return &w.el
}

// endOfLine is where the text of the last line ends, counted from base.
func (w *lineWalker) endOfLine() int64 { return w.el.Offset + int64(len(w.el.Bytes)) - w.base }

// Next finds the next element.
func (w *lineWalker) Next() *Element {
	for el := w.line(); el != nil; el = w.line() {
		if w.skip != nil && w.skip(el.Bytes) {
			continue
		}
		w.index++
		return el
	}
	return nil
}

// Err returns why the walk ended early.
func (w *lineWalker) Err() error { return w.err }

// Mode is nothing: lines are found without it.
func (w *lineWalker) Mode() string { return "" }
