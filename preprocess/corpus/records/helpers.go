package records

import (
	"iter"

	"espalier/preprocess/rawjson"
)

// Kind tells what a JSON element is by its first byte.
func (el *Element) Kind() rawjson.Kind { return KindOf(el.Bytes) }

// KindOf tells what a JSON value is by its first byte that is not blank.
func KindOf(b []byte) rawjson.Kind {
	var p rawjson.Parser
	p.Reset(b)
	return p.Kind()
}

// KeyName is what names the key of a member of a document: the decoded name if it
// has escapes.
func (el *Element) KeyName() []byte { return decoded(el.Name) }

// Key returns the name of a member of a document, the row's key, or why it cannot
// be one.
func (el *Element) Key(field string) (string, Fault) {
	var p rawjson.Parser
	p.Reset(append(append([]byte{'"'}, el.Name...), '"'))
	text, _ := p.Text()
	if err := p.Err(); err != nil {
		return "", Fault{Field: field, Reason: err.Reason}
	}
	if len(text) == 0 {
		return "", Fault{Field: field, Reason: Empty}
	}
	return string(text), Fault{}
}

// decoded resolves the escapes of a text without its quotes, if it can.
func decoded(raw []byte) []byte {
	for _, c := range raw {
		if c == '\\' {
			var p rawjson.Parser
			p.Reset(append(append([]byte{'"'}, raw...), '"'))
			if text, _ := p.Text(); p.Err() == nil {
				return text
			}
			break
		}
	}
	return raw
}

// ByMember is the Rows of JSON objects that are one row, whose key is a member.
func ByMember(name string) func(el *Element, row func([]byte)) {
	return func(el *Element, row func([]byte)) { row(named(el.Member(name))) }
}

// ByColumn is the Rows of CSV and TSV elements, whose key is a column.
func ByColumn(name string) func(el *Element, row func([]byte)) {
	return func(el *Element, row func([]byte)) { row(el.Column(name)) }
}

// named is what names a key, given the undecoded value of its member.
func named(value []byte) []byte {
	if n := len(value); n >= 2 && value[0] == '"' {
		return decoded(value[1 : n-1])
	}
	return value
}

// KeyOf returns what names the key that is a member of a JSON object, nil if it
// has none.
func KeyOf(object []byte, name string) []byte {
	e := Element{Bytes: object}
	return named(e.Member(name))
}

// Items gives the items of a JSON array, undecoded, as far as its structure is
// sound; none if it is no array.
func Items(p *rawjson.Parser, array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		p.Reset(array)
		if p.Kind() != rawjson.Array || !p.Begin(rawjson.Array) {
			return
		}
		for p.Item() {
			raw := p.Raw()
			if p.Err() != nil || !yield(raw) {
				return
			}
		}
	}
}

// ClassOf returns the number of a class, -1 if it is none.
func ClassOf(label string, classes ...string) int64 {
	for i, c := range classes {
		if c == label {
			return int64(i)
		}
	}
	return -1
}

// Class returns the number of the class that a label names, -1 if there is no
// label, and the fault it was given, or else that there is no such class.
func Class(f Fault, field string, label *string, classes ...string) (int64, Fault) {
	if f.Bad() || label == nil {
		return -1, f
	}
	n := ClassOf(*label, classes...)
	if n < 0 {
		f = Fault{Field: field, Reason: NoLabel}
	}
	return n, f
}
