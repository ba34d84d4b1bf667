package table

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"espalier/preprocess/corpus/records"
)

// Labels are the labels of a corpus.
type Labels struct {
	names  []string
	none   string // a name for no label
	ids    []int64
	text   []string
	number bool
	free   bool
	bounds [2]float64
}

// A Value is the label of a row. Both are nil if the row has none and the corpus
// has no classes.
type Value struct {
	Text *string
	ID   *int64
}

var noID int64 = -1

// Classes are labels that are told by name or by number.
func Classes(names ...string) *Labels {
	l := &Labels{names: names, text: names}
	for i := range names {
		l.ids = append(l.ids, int64(i))
	}
	return l
}

// Numbers are labels that are numbers of a range.
func Numbers(lowest, highest float64) *Labels {
	return &Labels{number: true, bounds: [2]float64{lowest, highest}}
}

// Texts are labels that may be anything.
func Texts() *Labels { return &Labels{free: true} }

// Or adds a name that stands for no label.
func (l *Labels) Or(none string) *Labels {
	l.none = none
	return l
}

// Named returns the value of a class told by its name.
func (l *Labels) Named(name string) (Value, bool) {
	if name == l.none && name != "" {
		return l.None(), true
	}
	i := slices.Index(l.names, name)
	if i < 0 {
		return Value{}, false
	}
	return l.Class(i), true
}

// Class returns the value of class i.
func (l *Labels) Class(i int) Value { return Value{Text: &l.text[i], ID: &l.ids[i]} }

// Len is the number of classes.
func (l *Labels) Len() int { return len(l.names) }

// None is the value of a row without a label: class -1 where there are classes.
func (l *Labels) None() Value {
	if len(l.names) == 0 {
		return Value{}
	}
	return Value{ID: &noID}
}

// Parse reads a label, or says why it is none. Of classes, blanks around a number
// are allowed and -1 means no label.
func (l *Labels) Parse(cell []byte) (v Value, reason string) {
	switch {
	case l.free:
		if !utf8.Valid(cell) {
			return Value{}, records.BadUTF8
		}
		s := string(cell)
		return Value{Text: &s}, ""
	case len(cell) == 0:
		return Value{}, "empty label"
	case l.number:
		return l.parseNumber(cell)
	}
	for i, name := range l.names {
		if string(cell) == name {
			return l.Class(i), ""
		}
	}
	if string(cell) == l.none {
		return l.None(), ""
	}
	digits := bytes.Trim(cell, " \t\r\n\v\f")
	n, err := strconv.ParseInt(string(digits), 10, 64)
	switch {
	case err != nil, n < -1, n >= int64(len(l.names)):
		return Value{}, records.NoLabel
	case n == -1:
		return l.None(), ""
	}
	return l.Class(int(n)), ""
}

func (l *Labels) parseNumber(cell []byte) (Value, string) {
	text := string(bytes.Trim(cell, " \t\r\n\v\f"))
	if strings.Trim(text, "+-.0123456789eE") != "" {
		return Value{}, "number expected"
	}
	x, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return Value{}, "number expected"
	case x < l.bounds[0] || x > l.bounds[1]:
		return Value{}, "number out of range"
	}
	s := Number(x)
	return Value{Text: &s}, ""
}

// Number writes a number as Python's repr does: the shortest digits that give it
// back, with a point or an exponent.
func Number(x float64) string {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	if a := math.Abs(x); x == 0 || a >= 1e-4 && a < 1e16 {
		s := strconv.FormatFloat(x, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	return strconv.FormatFloat(x, 'e', -1, 64)
}
