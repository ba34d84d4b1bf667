package records

import (
	"encoding/json"
	"fmt"

	"espalier/preprocess/corpus"
	"espalier/preprocess/rawjson"
)

// An Element is one piece of a raw file as its layout has it: a line, an item of
// an array, a block of lines. The walker's next call overwrites it.
type Element struct {
	Index  int64  // among the file's elements, from 0
	First  int64  // physical line where it begins, from 1; 0 if the layout has no lines
	Line   int64  // physical line where it ends
	From   int64  // offset of the first byte that is needed to read it again
	Offset int64  // of its first byte
	To     int64  // offset behind its last byte, the end of its line included
	Bytes  []byte // without the end of its last line
	Raw    []byte // what a dead letter keeps, Bytes if nil
	Name   []byte // if it is a member of an object, undecoded
	Where  string // path of the array it stands in
	JSON   bool   // has no place but its path
	// Fields are the members of a JSON object or the texts of a CSV record,
	// where the layout finds them anyway.
	Fields  []rawjson.Field
	columns []string
	// Fault says why the layout cannot take it, though it counts.
	Fault Fault
}

// Member returns the undecoded value of a member of a JSON object.
func (el *Element) Member(name string) []byte {
	if el.Fields == nil {
		el.Fields = rawjson.Members(el.Bytes, nil)
	}
	e := rawjson.Element{Fields: el.Fields}
	return e.Field(name)
}

// Path is the place of the element in a JSON document, such as "images[3]".
func (el *Element) Path() string {
	switch {
	case el.JSON && el.Name != nil:
		return string(el.Name)
	case el.JSON:
		return fmt.Sprintf("%s[%d]", el.Where, el.Index)
	}
	return ""
}

// A Span is where the elements of a slice lie.
type Span struct {
	From  int64  `json:"from"`            // offset of the first byte
	To    int64  `json:"to"`              // offset behind the last byte
	Index int64  `json:"index,omitempty"` // of the first element
	Line  int64  `json:"line,omitempty"`  // of the first element's first byte
	Mode  string `json:"mode,omitempty"`  // what the layout must know of the file
}

// A Walker finds the elements of a file one after another.
type Walker interface {
	Next() *Element // nil at the end and after an error
	Err() error     // may be a *pipeline.RefusedError
	Mode() string   // what sections of the file must be told, known at the end of the walk
}

// A Layout is how elements lie in files.
type Layout interface {
	// Walk walks over a file, or over a span of it that an earlier walk found.
	Walk(src *corpus.Source, at *Span) Walker
}

// A Fault is why an element, or a part of one, cannot be used. The zero Fault is
// none.
type Fault struct {
	Field, Where, Reason string
	Raw                  []byte // what stands there, the element if nil
	// Line and Offset of a part of the element; 0 for the element's own.
	Line, Offset int64
}

// Bad reports whether there is a fault.
func (f Fault) Bad() bool { return f.Reason != "" }

// Reasons that several corpora give.
const (
	Duplicate = "duplicate key"
	Missing   = "missing field"
	NoColumn  = "missing column"
	Empty     = "empty text"
	NoInteger = "number is no integer"
	TooBig    = "number does not fit 64 bits"
	BadUTF8   = "invalid UTF-8"
	NoLabel   = "unknown label"
)

// modeOf and ofMode put names of columns into modes.
func modeOf(columns []string) string {
	b, err := json.Marshal(columns)
	if err != nil {
		panic("records: mode")
	}
	return string(b)
}

func ofMode(mode string) (columns []string, err error) {
	if err := json.Unmarshal([]byte(mode), &columns); err != nil {
		return nil, fmt.Errorf("mode of a slice: %w", err)
	}
	return columns, nil
}
