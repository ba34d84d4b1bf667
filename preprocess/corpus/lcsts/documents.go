package lcsts

import (
	"bytes"
	"fmt"

	"espalier/pipeline"
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/rawjson"
)

// Documents is the layout of the three parts: an element is a document, from its
// first tag to its last, its name the id.
type Documents struct{}

// noEnd is the reason for a document that the file, or another one, ends in.
const noEnd = "document without an end"

// Walk walks over the documents of a file.
func (Documents) Walk(src *corpus.Source, at *records.Span) records.Walker {
	return &walker{src: src, lines: records.Lines{}.Walk(src, at), index: indexOf(at)}
}

func indexOf(at *records.Span) int64 {
	if at == nil {
		return 0
	}
	return at.Index
}

type walker struct {
	src   *corpus.Source
	lines records.Walker
	index int64
	next  *records.Element // the first line of the next document, already read
	buf   []byte
	el    records.Element
	err   error
}

// Next finds the next document. Text between documents is an element of its own
// that cannot be used.
func (w *walker) Next() *records.Element {
	if w.err != nil {
		return nil
	}
	line := w.take()
	for line != nil && len(trim(line.Bytes)) == 0 {
		line = w.take()
	}
	if line == nil {
		return nil
	}
	w.el = *line
	w.el.Index = w.index
	w.index++
	id, ok := idOf(line.Bytes)
	if !ok {
		w.el.Name, w.el.Fault = nil, records.Fault{Reason: "text outside a document"}
		return &w.el
	}
	w.buf = append(w.buf[:0], line.Bytes...)
	first := len(w.buf)
	w.el.Name = id
	w.body()
	w.el.Bytes, w.el.Raw = w.buf, w.buf[:first:first]
	w.el.Name, _ = idOf(w.el.Raw)
	return &w.el
}

// body reads on to the end of a document.
func (w *walker) body() {
	open := ""
	for {
		line := w.take()
		if line == nil {
			w.el.Fault = records.Fault{Field: open, Reason: noEnd}
			return
		}
		s := trim(line.Bytes)
		if _, ok := idOf(line.Bytes); ok {
			w.next = line
			w.el.Fault = records.Fault{Field: open, Reason: noEnd}
			return
		}
		w.el.To = line.To
		if string(s) == "</doc>" {
			return
		}
		switch name, end := tag(s); {
		case end:
			open = ""
		case name == "summary" || name == "short_text":
			open = name
		}
		w.buf = append(append(w.buf, '\n'), line.Bytes...)
		if len(w.buf) > rawjson.MaxElement {
			w.err = &pipeline.RefusedError{File: w.src.Name, Line: w.el.First, Offset: w.el.Offset, Reason: fmt.Sprintf("document of more than %d bytes", rawjson.MaxElement)}
			return
		}
	}
}

// take gives the next line.
func (w *walker) take() *records.Element {
	if line := w.next; line != nil {
		w.next = nil
		return line
	}
	return w.lines.Next()
}

// idOf returns the id of the document that a line begins.
func idOf(line []byte) ([]byte, bool) {
	s := trim(line)
	if !bytes.HasPrefix(s, []byte("<doc id=")) || s[len(s)-1] != '>' {
		return nil, false
	}
	id := s[len("<doc id=") : len(s)-1]
	for _, c := range id {
		if c < '0' || c > '9' {
			return nil, false
		}
	}
	return id, len(id) > 0
}

// Err returns why the walk ended early.
func (w *walker) Err() error {
	if w.err != nil {
		return w.err
	}
	return w.lines.Err()
}

// Mode is nothing.
func (w *walker) Mode() string { return "" }
