package records

import (
	"bytes"
	"io"

	"espalier/pipeline"
	"espalier/preprocess/corpus"
	"espalier/preprocess/rawfile"
	"espalier/preprocess/rawjson"
)

// JSON is the layout of files of JSON objects: one a line, in one array, or one
// after another over several lines. The first byte that is not blank tells an
// array; the first line tells the other two apart.
type JSON struct {
	// Tidy has rows of JSON lines carry no line if the file is tidy: if every
	// line holds an element and it begins without a byte order mark.
	Tidy bool
}

// Modes of JSON files.
const (
	inArray  = "array"
	inLines  = "lines"
	oneByOne = "objects"
	tidy     = "tidy lines"
)

// Walk walks over the objects of a file.
func (l JSON) Walk(src *corpus.Source, at *Span) Walker {
	mode := ""
	if at != nil {
		mode = at.Mode
	} else {
		var err error
		if mode, err = modeOfJSON(src); err != nil {
			return failed{err}
		}
	}
	switch mode {
	case inArray:
		s := rawjson.NewScanner(src, src.Size)
		if at != nil {
			s = rawjson.NewSection(src, at.From, at.To, "", at.Index)
		}
		return &scanWalker{s: s, mode: inArray}
	case oneByOne:
		return newObjectWalker(src, at)
	}
	w := &jsonLines{lineWalker: newLineWalker(src, at), untold: mode == tidy, tidy: l.Tidy}
	w.skip = Blank
	if at == nil {
		w.hasBOM = startsWithBOM(src)
	}
	return w
}

// A jsonLines walker also finds whether a file is tidy.
type jsonLines struct {
	*lineWalker
	tidy, untold, hasBOM bool
	prev                 int64 // line of the last element
	gaps                 bool
}

// Next finds the next element.
func (w *jsonLines) Next() *Element {
	el := w.lineWalker.Next()
	if el != nil {
		w.gaps = w.gaps || el.First != w.prev+1
		w.prev = el.First
		if w.untold {
			el.Line = 0
		}
	}
	return el
}

// Mode tells whether rows carry their lines.
func (w *jsonLines) Mode() string {
	if w.tidy && !w.gaps && !w.hasBOM {
		return tidy
	}
	return inLines
}

func startsWithBOM(src *corpus.Source) bool {
	var head [3]byte
	n, _ := src.ReadAt(head[:min(3, src.Size)], 0)
	return bytes.Equal(head[:n], bom)
}

// modeOfJSON looks at the first line that is not blank.
func modeOfJSON(src *corpus.Source) (string, error) {
	if err := rawfile.RefuseText(src, src.Size, src.Name); err != nil {
		return "", err
	}
	var buf []byte
	for size := int64(4 << 10); ; size *= 4 {
		n := min(size, src.Size)
		buf = make([]byte, n)
		m, err := src.ReadAt(buf, 0)
		if err != nil && (err != io.EOF || int64(m) < n) {
			return "", err
		}
		text := bytes.TrimLeft(bytes.TrimPrefix(buf[:m], bom), " \t\r\n")
		if len(text) == 0 && n < src.Size {
			continue
		}
		if len(text) == 0 {
			return "", &pipeline.RefusedError{File: src.Name, Offset: -1, Reason: "no JSON in the file"}
		}
		if text[0] == '[' {
			return inArray, nil
		}
		if end := bytes.IndexByte(text, '\n'); end >= 0 || n == src.Size {
			if end < 0 {
				end = len(text)
			}
			if text[0] == '{' {
				if _, whole := rawjson.Value(text[:end]); !whole && bytes.IndexByte(text, '\n') >= 0 && !damaged(text[:end]) {
					return oneByOne, nil
				}
			}
			return inLines, nil
		}
		if size > rawjson.MaxElement {
			return inLines, nil
		}
	}
}

// damaged reports whether a line that holds no whole object would not be the
// start of one that goes on behind a line feed either: it ends inside a text.
func damaged(line []byte) bool {
	in := false
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && in:
			i++
		case line[i] == '"':
			in = !in
		}
	}
	return in
}

// A scanWalker walks over what a rawjson.Scanner finds.
type scanWalker struct {
	s    *rawjson.Scanner
	mode string
	el   Element
}

// Next finds the next element.
func (w *scanWalker) Next() *Element {
	e := w.s.Next()
	if e == nil {
		return nil
	}
	w.el = Element{Index: e.Index, From: e.From, Offset: e.Offset, To: e.Offset + int64(len(e.Bytes)), Bytes: e.Bytes, Name: e.Name, Where: e.Array, JSON: true, Fields: e.Fields}
	return &w.el
}

// Err returns why the walk ended early.
func (w *scanWalker) Err() error { return w.s.Err() }

// Mode is what the file is.
func (w *scanWalker) Mode() string { return w.mode }

// Array is the layout of JSON documents whose elements are the items of one
// array, such as {"questions": [...]}, or of the document itself if it has no
// name.
type Array struct{ Name string }

// Walk walks over the items of the array.
func (l Array) Walk(src *corpus.Source, at *Span) Walker {
	if at != nil {
		return &scanWalker{s: rawjson.NewSection(src, at.From, at.To, l.Name, at.Index)}
	}
	if l.Name == "" {
		return &scanWalker{s: rawjson.NewScanner(src, src.Size)}
	}
	return &scanWalker{s: rawjson.NewScanner(src, src.Size, l.Name)}
}

// Members is the layout of JSON documents that are one object, whose members are
// the elements.
type Members struct{}

// Walk walks over the members of the document.
func (Members) Walk(src *corpus.Source, at *Span) Walker {
	if at != nil {
		return &scanWalker{s: rawjson.NewMemberSection(src, at.From, at.To, at.Index)}
	}
	return &scanWalker{s: rawjson.NewMembers(src, src.Size)}
}

// A failed walk finds nothing.
type failed struct{ err error }

// Next finds nothing.
func (failed) Next() *Element { return nil }

// Err returns why.
func (f failed) Err() error { return f.err }

// Mode is nothing.
func (failed) Mode() string { return "" }
