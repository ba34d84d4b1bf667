package records

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"espalier/pipeline"
	"espalier/preprocess/corpus"
	"espalier/preprocess/rawfile"
	"espalier/preprocess/rawjson"
)

// CSV is the layout of RFC 4180: commas, quotes where a field needs them, doubled
// inside, and a first record with the names of columns. Fields may hold line
// ends. Lines that are empty are passed over. The fields of an element are its
// texts by column.
type CSV struct {
	Want []string // columns that must be there
}

// Walk walks over the records of a file.
func (l CSV) Walk(src *corpus.Source, at *Span) Walker {
	w := &csvWalker{lines: newLineWalker(src, at)}
	if at != nil {
		w.index = at.Index
		w.columns, w.err = ofMode(at.Mode)
		return w
	}
	el := w.record()
	if w.err != nil || w.lines.err != nil || el == nil {
		return w
	}
	for _, f := range el.Fields {
		w.columns = append(w.columns, string(f.Value))
	}
	w.err = wanted(src.Name, w.columns, l.Want)
	return w
}

// wanted refuses a file whose header lacks a column.
func wanted(file string, columns, want []string) error {
	for _, name := range want {
		found := false
		for _, c := range columns {
			found = found || c == name
		}
		if !found {
			return &pipeline.RefusedError{File: file, Line: 1, Offset: 0, Field: name, Reason: "missing column in header"}
		}
	}
	return nil
}

type csvWalker struct {
	lines   *lineWalker
	columns []string // nil while the header is read
	index   int64
	el      Element
	buf     []byte // a record of several lines
	texts   []byte // fields without their quotes
	err     error
}

// Next finds the next record.
func (w *csvWalker) Next() *Element {
	if w.err != nil {
		return nil
	}
	el := w.record()
	if el == nil {
		return nil
	}
	el.Index = w.index
	w.index++
	el.Fault = w.fault(el)
	return el
}

func (w *csvWalker) column(i int) string {
	if i < len(w.columns) {
		return w.columns[i]
	}
	return ""
}

// fault says what is wrong with a record's fields.
func (w *csvWalker) fault(el *Element) Fault {
	if el.Fault.Bad() {
		return el.Fault
	}
	return columnFault(el.Fields, w.columns, "fields")
}

func columnFault(fields []rawjson.Field, columns []string, what string) Fault {
	if n := len(fields); n != len(columns) {
		f := Fault{Reason: fmt.Sprintf("%d %s where %d are expected", n, what, len(columns))}
		if n < len(columns) {
			f.Field = columns[n]
		}
		return f
	}
	for i := range fields {
		if !utf8.Valid(fields[i].Value) {
			return Fault{Field: columns[i], Reason: BadUTF8}
		}
	}
	return Fault{}
}

// record reads the lines of the next record and takes its fields apart.
func (w *csvWalker) record() *Element {
	line := w.lines.line()
	for line != nil && len(line.Bytes) == 0 {
		line = w.lines.line()
	}
	if line == nil {
		return nil
	}
	w.el = *line
	w.el.columns = w.columns
	w.buf = w.buf[:0]
	var q quoting
	for q.feed(line.Bytes); q == quoted; q.feed(line.Bytes) {
		if len(w.buf) == 0 {
			w.buf = append(w.buf, line.Bytes...)
		}
		end := w.lines.base + w.lines.endOfLine()
		if line = w.lines.line(); line == nil || len(w.buf) > rawjson.MaxElement {
			if w.lines.err == nil {
				w.err = &pipeline.RefusedError{File: w.lines.src.Name, Line: w.el.First, Offset: w.el.Offset, Field: w.column(w.split(w.buf)), Reason: "quote is never closed"}
			}
			return nil
		}
		w.buf = append(w.buf, "\r\n"[2-min(line.From-end, 2):]...)
		w.buf = append(w.buf, line.Bytes...)
		w.el.Line, w.el.To, w.el.Bytes = line.Line, line.To, w.buf
	}
	w.split(w.el.Bytes)
	return &w.el
}

// A quoting is where in a record the next byte stands.
type quoting byte

const (
	fieldStart quoting = iota
	unquoted
	quoted
	afterQuote
)

// feed goes over a line. What is quoted stays so at its end.
func (q *quoting) feed(line []byte) {
	if *q == fieldStart && bytes.IndexByte(line, '"') < 0 {
		return
	}
	for _, c := range line {
		switch {
		case c == '"' && (*q == fieldStart || *q == afterQuote):
			*q = quoted
		case c == '"' && *q == quoted:
			*q = afterQuote
		case *q == quoted:
		case c == ',':
			*q = fieldStart
		default:
			*q = unquoted
		}
	}
	if *q != quoted {
		*q = fieldStart
	}
}

// split takes a record apart. It returns the number of the field whose quote is
// open at the end, or a negative number.
func (w *csvWalker) split(b []byte) (open int) {
	w.el.Fields, w.el.Fault = w.el.Fields[:0], Fault{}
	w.texts = w.texts[:0]
	for i := 0; ; {
		var text []byte
		if i < len(b) && b[i] == '"' {
			var ok bool
			if text, i, ok = w.quoted(b, i+1); !ok {
				return len(w.el.Fields)
			}
			if i < len(b) && b[i] != ',' {
				if !w.el.Fault.Bad() {
					w.el.Fault = Fault{Field: w.column(len(w.el.Fields)), Reason: "text after a closing quote"}
				}
				for i < len(b) && b[i] != ',' {
					i++
				}
			}
		} else {
			n := bytes.IndexByte(b[i:], ',')
			if n < 0 {
				n = len(b) - i
			}
			text = b[i : i+n]
			i += n
		}
		w.el.Fields = append(w.el.Fields, rawjson.Field{Value: text})
		if i >= len(b) {
			return -1
		}
		i++ // the comma
	}
}

// quoted reads on from behind an opening quote to behind the closing one.
func (w *csvWalker) quoted(b []byte, i int) (text []byte, end int, ok bool) {
	mark, from := len(w.texts), i
	for {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return nil, len(b), false
		}
		i += n
		if i+1 < len(b) && b[i+1] == '"' {
			w.texts = append(w.texts, b[from:i+1]...)
			i += 2
			from = i
			continue
		}
		if len(w.texts) == mark {
			return b[from:i], i + 1, true
		}
		w.texts = append(w.texts, b[from:i]...)
		return w.texts[mark:len(w.texts):len(w.texts)], i + 1, true
	}
}

// Err returns why the walk ended early.
func (w *csvWalker) Err() error {
	if w.err != nil {
		return w.err
	}
	return w.lines.Err()
}

// Mode has the names of the columns.
func (w *csvWalker) Mode() string { return modeOf(w.columns) }

// TSV is the layout of lines with columns between TABs. Quotes mean nothing. A
// line of another number of columns cannot be used.
type TSV struct {
	Columns []string
	Header  bool // the first line has the names of the columns, in any order
}

// Walk walks over the lines of a file.
func (l TSV) Walk(src *corpus.Source, at *Span) Walker {
	w := &tsvWalker{lineWalker: newLineWalker(src, at), columns: l.Columns}
	if at == nil {
		w.err = rawfile.RefuseLines(src, src.Size, src.Name)
	}
	switch {
	case at != nil:
		w.columns, w.err = ofMode(at.Mode)
	case l.Header && w.err == nil:
		if el := w.line(); el != nil {
			w.columns = nil
			for _, name := range bytes.Split(el.Bytes, []byte{'\t'}) {
				w.columns = append(w.columns, string(name))
			}
			w.err = wanted(src.Name, w.columns, l.Columns)
		}
	}
	return w
}

type tsvWalker struct {
	*lineWalker
	columns []string
	fields  []rawjson.Field
}

// Next finds the next line.
func (w *tsvWalker) Next() *Element {
	el := w.lineWalker.Next()
	if el == nil {
		return nil
	}
	w.fields = w.fields[:0]
	for rest, more := el.Bytes, true; more; {
		var text []byte
		text, rest, more = bytes.Cut(rest, []byte{'\t'})
		w.fields = append(w.fields, rawjson.Field{Value: text})
	}
	el.Fields, el.columns = w.fields, w.columns
	el.Fault = columnFault(el.Fields, w.columns, "columns")
	return el
}

// Mode has the names of the columns.
func (w *tsvWalker) Mode() string { return modeOf(w.columns) }

// Column returns the text of a column of a CSV or TSV element, nil if there is
// no such column.
func (el *Element) Column(name string) []byte {
	for i, c := range el.columns {
		if c == name && i < len(el.Fields) {
			return el.Fields[i].Value
		}
	}
	return nil
}
