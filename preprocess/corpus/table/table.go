// Package table reads tab-separated tables as GLUE and its kin ship them: a row
// a line, no quoting, columns told by the header's names.
//
// Quotes and backslashes mean nothing; empty lines are passed over and have no
// number; a row with more or fewer columns than the header is a dead letter. Of
// a file without a header the columns are told by their number, which the first
// lines must agree on: nothing is guessed from what texts say.
package table

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"espalier/pipeline"
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/rawfile"
	"espalier/preprocess/rawjson"
)

// A Table describes the tables of a corpus and how their rows become examples.
type Table[F, M any] struct {
	Corpus, Task string
	Text         []string           // the columns of the fields
	Set          func(*F, []string) // fills the fields with their values
	Label        string             // the column of the label, "" if there is none
	Labels       *Labels            // what it holds, nil for a table without labels
	Meta         []string           // more columns that must be there
	SetMeta      func(*M, []string) // fills meta with their values
	Key          string             // the column of the native key; "": rows are known by their number
	Bare         [][]string         // the columns of layouts without a header, each of another number
	CR           bool               // a lone CR ends a line
	Mark         string             // letters that may stand before the header
	Encoding     string             // if none is declared
	// Split returns what tells the split of a row from its meta, "" for a row
	// that is not wanted. If it is nil, rows have the split of their file.
	Split func(src *corpus.Source) (func(meta []string) string, error)
}

// A Shape is where the columns of a file are.
type Shape struct {
	Header  bool     `json:"header,omitempty"`
	Columns []string `json:"columns"`
	Text    []int    `json:"text"`
	Label   int      `json:"label"` // -1 if there is none
	Meta    []int    `json:"meta,omitempty"`
	Key     int      `json:"key"` // -1 if there is none
}

// Format returns the format of the corpus.
func (t *Table[F, M]) Format() corpus.Format[F, M] {
	f := &records.Records[F, M]{Corpus: t.Corpus, Task: t.Task, Layout: layout[F, M]{t}, Decoder: t.decoder}
	if t.Key != "" {
		f.KeyField = t.Key
		f.Rows = func(el *records.Element, row func(name []byte)) {
			var key []byte
			if len(el.Fields) > 0 {
				key = el.Fields[0].Value
			}
			row(key)
		}
	}
	return f
}

// sample is the number of lines that tell the columns of a file without header.
const sample = 16

// shape looks at the first lines of a file.
func (t *Table[F, M]) shape(src *corpus.Source) (*Shape, error) {
	lines := rawfile.NewLines(src, src.Size)
	lines.CR = t.CR
	var first []string
	counts := map[int]int{}
	for n := 0; n < sample; {
		l := lines.Next()
		if l == nil {
			break
		}
		text := l.Text
		if l.N == 1 {
			if t.Mark != "" && strings.HasPrefix(string(text), t.Mark) {
				text = text[len(t.Mark):]
			}
			first = strings.Split(string(text), "\t")
		}
		if len(text) > 0 {
			counts[strings.Count(string(text), "\t")+1]++
			n++
		}
	}
	if err := lines.Err(); err != nil {
		return nil, &pipeline.RefusedError{File: src.Name, Line: 1, Offset: -1, Reason: err.Error()}
	}
	s, missing := t.find(first)
	if missing == "" {
		s.Header = true
		return s, nil
	}
	most := 0
	for n, lines := range counts {
		if lines > counts[most] || lines == counts[most] && n > most {
			most = n
		}
	}
	for _, columns := range t.Bare {
		if len(columns) == most {
			s, missing := t.find(columns)
			if missing != "" {
				return nil, errors.New("table: a layout without " + missing)
			}
			return s, nil
		}
	}
	return nil, &pipeline.RefusedError{File: src.Name, Line: 1, Offset: -1, Field: missing, Reason: "missing column in header"}
}

// find looks for the wanted columns among others and returns the first one that
// is missing.
func (t *Table[F, M]) find(columns []string) (s *Shape, missing string) {
	s = &Shape{Columns: columns, Label: -1, Key: -1}
	at := func(name string) int {
		i := slices.Index(columns, name)
		if i < 0 {
			missing = cmp.Or(missing, name)
		}
		return i
	}
	for _, name := range t.Text {
		s.Text = append(s.Text, at(name))
	}
	for _, name := range t.Meta {
		s.Meta = append(s.Meta, at(name))
	}
	if t.Key != "" {
		s.Key = at(t.Key)
	}
	if t.Label != "" {
		s.Label = slices.Index(columns, t.Label) // test files have none
	}
	return s, missing
}

// layout is how rows lie in a table.
type layout[F, M any] struct{ t *Table[F, M] }

// Walk walks over the rows of a table.
func (l layout[F, M]) Walk(src *corpus.Source, at *records.Span) records.Walker {
	w := &walker{src: src}
	if at != nil {
		if w.err = json.Unmarshal([]byte(at.Mode), &w.shape); w.err != nil {
			return w
		}
		w.lines = rawfile.NewLinesAt(src, at.From, at.To, at.Line)
		w.lines.CR = l.t.CR
		w.index = at.Index
		return w
	}
	refuse := rawfile.RefuseLines
	if l.t.CR {
		refuse = rawfile.RefuseText
	}
	if w.err = refuse(src, src.Size, src.Name); w.err != nil {
		return w
	}
	if w.shape, w.err = l.t.shape(src); w.err != nil {
		return w
	}
	if l.t.Split != nil {
		if _, w.err = l.t.Split(src); w.err != nil {
			return w
		}
	}
	w.lines = rawfile.NewLines(src, src.Size)
	w.lines.CR = l.t.CR
	if w.shape.Header {
		w.lines.Next()
	}
	return w
}

type walker struct {
	src   *corpus.Source
	lines *rawfile.Lines
	shape *Shape
	el    records.Element
	key   [1]rawjson.Field
	index int64
	err   error
}

// Next finds the next row.
func (w *walker) Next() *records.Element {
	for w.err == nil {
		l := w.lines.Next()
		if l == nil {
			if err := w.lines.Err(); err != nil {
				w.err = &pipeline.RefusedError{File: w.src.Name, Line: w.el.Line + 1, Offset: -1, Reason: err.Error()}
			}
			return nil
		}
		if len(l.Text) == 0 {
			continue
		}
		w.el = records.Element{
			Index: w.index, First: l.N, Line: l.N, From: l.Offset, Offset: l.Offset + int64(len(l.Raw)-len(l.Text)), To: l.Offset + int64(len(l.Raw)), Bytes: l.Text,
		}
		w.index++
		if w.shape.Key >= 0 {
			if cell, ok := cellOf(l.Text, w.shape.Key); ok {
				w.key[0].Value = cell
				w.el.Fields = w.key[:]
			}
		}
		return &w.el
	}
	return nil
}

// Err returns why the walk ended early.
func (w *walker) Err() error { return w.err }

// Mode is the shape of the file.
func (w *walker) Mode() string {
	if w.shape == nil {
		return ""
	}
	b, err := json.Marshal(w.shape)
	if err != nil {
		panic("table: shape")
	}
	return string(b)
}

// cellOf returns the cell of a column.
func cellOf(line []byte, column int) ([]byte, bool) {
	for ; ; column-- {
		end := indexTab(line)
		if column == 0 {
			return line[:end], true
		}
		if end == len(line) {
			return nil, false
		}
		line = line[end+1:]
	}
}

// columnsWanted words the reason for a row of the wrong width.
func columnsWanted(got, want int) string {
	return fmt.Sprintf("%d columns where %d are expected", got, want)
}
