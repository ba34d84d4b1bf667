package rawjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

const window = 1 << 20 // bytes read at once

// A Field is one member of an element that is an object, undecoded.
type Field struct {
	Name  []byte // between the quotes, as it stands
	Value []byte
}

// An Element is one element of an array of the document.
type Element struct {
	Array  string // the array's name; "" if it is the document itself
	Name   []byte // between the quotes, as it stands, if it is a member of the document
	Index  int64  // from 0
	From   int64  // offset of its first byte, that of the name if it has one
	Offset int64  // of the value's first byte
	Bytes  []byte
	// Fields are the members of an object in their order, as far as its
	// structure is sound: enough for keys and joins, no proof of validity.
	Fields []Field
}

// Kind tells what the element is by its first byte.
func (e *Element) Kind() Kind { return kindOf[e.Bytes[0]] }

// Field returns the undecoded value of a member, nil if there is none. Of
// repeated names the last counts.
func (e *Element) Field(name string) []byte {
	for i := len(e.Fields) - 1; i >= 0; i-- {
		if f := &e.Fields[i]; string(f.Name) == name || bytes.IndexByte(f.Name, '\\') >= 0 && decodes(f.Name, name) {
			return f.Value
		}
	}
	return nil
}

func decodes(raw []byte, name string) bool {
	var p Parser
	p.Reset(append(append([]byte{'"'}, raw...), '"'))
	text, _ := p.Text()
	return p.Err() == nil && string(text) == name
}

// A Scanner finds the elements of a document's arrays one after another.
type Scanner struct {
	r       io.ReaderAt
	base    int64 // offset of buf[0]
	end     int64 // where reading stops
	window  int
	buf     []byte
	i       int // next byte in buf
	section bool
	want    []string // arrays whose elements are handed out
	seen    []string // names of members so far
	named   bool     // elements are the members of the document
	name    []byte   // of the element, if named
	keep    map[string][]byte
	state   state
	quiet   bool // inside an array that is not wanted
	el      Element
	err     error
}

type state byte

const (
	atStart state = iota
	inDocument
	inArray
	atEnd
)

// NewScanner scans a document of size bytes: an object, of whose members the
// named arrays are wanted and required, or, if no names are given, an array. A
// byte order mark is dropped.
func NewScanner(r io.ReaderAt, size int64, arrays ...string) *Scanner {
	return &Scanner{r: r, end: size, want: arrays, window: window}
}

// NewSection scans elements of an array that lie between two offsets, from the
// first byte of the one with the given index to the last byte of another, as an
// earlier scan found them.
func NewSection(r io.ReaderAt, from, to int64, array string, index int64) *Scanner {
	s := &Scanner{r: r, base: from, end: to, section: true, state: inArray, window: window}
	s.el = Element{Array: array, Index: index - 1}
	return s
}

// NewMembers scans a document of size bytes that is an object: its members are
// the elements.
func NewMembers(r io.ReaderAt, size int64) *Scanner {
	return &Scanner{r: r, end: size, named: true, window: window}
}

// NewMemberSection scans members that lie between two offsets, from the first
// byte of a name to the last byte of a value.
func NewMemberSection(r io.ReaderAt, from, to, index int64) *Scanner {
	s := NewSection(r, from, to, "", index)
	s.named = true
	return s
}

// Keep makes the scanner keep the values of the outermost object's members of
// these names, if they are no arrays. It must be called before Next.
func (s *Scanner) Keep(names ...string) {
	s.keep = map[string][]byte{}
	for _, name := range names {
		s.keep[name] = nil
	}
}

// Kept returns a kept value, undecoded, nil if none was met so far.
func (s *Scanner) Kept(name string) []byte { return s.keep[name] }

// Err returns the error that ended the scan: a [*DocumentError] or an error of
// the reader. It is nil at the document's proper end.
func (s *Scanner) Err() error { return s.err }

// Offset returns the place of the next byte to be scanned.
func (s *Scanner) Offset() int64 { return s.base + int64(s.i) }

// Next finds the next element. At the end and after an error it returns nil.
// The element is overwritten by the next call.
func (s *Scanner) Next() *Element {
	for s.err == nil {
		switch s.state {
		case atStart:
			s.start()
		case inDocument:
			s.member()
		case inArray:
			if s.element() && !s.quiet {
				return &s.el
			}
		case atEnd:
			return nil
		}
	}
	return nil
}

// peek returns the next byte that is not blank, 0 at the end.
func (s *Scanner) peek() byte {
	for s.err == nil {
		for s.i < len(s.buf) {
			if c := s.buf[s.i]; c != ' ' && c != '\n' && c != '\r' && c != '\t' {
				return c
			}
			s.i++
		}
		if !s.fill() {
			break
		}
	}
	return 0
}

// fill reads more bytes behind buf[i:], which it moves to the front. It reports
// false at the end.
func (s *Scanner) fill() bool {
	if s.base+int64(len(s.buf)) >= s.end || s.err != nil {
		return false
	}
	if s.i > 0 {
		n := copy(s.buf, s.buf[s.i:])
		s.base += int64(s.i)
		s.buf, s.i = s.buf[:n], 0
	}
	n := len(s.buf)
	if n > MaxElement {
		s.fail(s.base, "", fmt.Sprintf("value of more than %d bytes", MaxElement))
		return false
	}
	grow := max(s.window, n) // at least doubled, so that rescans stay linear
	if left := s.end - s.base - int64(n); int64(cap(s.buf)-n) < min(int64(grow/2), left) {
		s.buf = append(make([]byte, 0, int64(n)+min(int64(grow), left)), s.buf...)
	}
	room := min(int64(cap(s.buf)), s.end-s.base)
	m, err := s.r.ReadAt(s.buf[n:room], s.base+int64(n))
	s.buf = s.buf[:n+m]
	if m == 0 && err != nil {
		if errors.Is(err, io.EOF) {
			s.end = s.base + int64(n)
			return false
		}
		s.err = err
		return false
	}
	return true
}

func (s *Scanner) start() {
	if s.fill(); s.err != nil {
		return
	}
	if bytes.HasPrefix(s.buf, []byte("\xef\xbb\xbf")) {
		s.i = 3
	}
	c := s.peek()
	switch {
	case s.err != nil:
	case c == 0:
		s.fail(s.Offset(), "", "no JSON in the file")
	case s.named && c == '{':
		s.enter("")
	case s.named && kindOf[c] == Invalid:
		s.fail(0, "", "not JSON")
	case s.named:
		s.fail(0, "", Mismatch(kindOf[c], Object))
	case len(s.want) == 0 && c == '[':
		s.enter("")
	case len(s.want) == 0:
		s.fail(s.Offset(), "", Mismatch(kindOf[c], Array))
	case c == '{':
		s.i++
		s.state = inDocument
	case kindOf[c] == Invalid:
		s.fail(s.Offset(), "", "not JSON")
	default:
		s.fail(s.Offset(), "", Mismatch(kindOf[c], Object))
	}
}

func (s *Scanner) enter(name string) {
	s.i++
	s.el = Element{Array: name, Index: -1, Fields: s.el.Fields[:0]}
	s.state = inArray
}

// member reads the next member of the outermost object up to its value's end,
// or into the value if that is an array.
func (s *Scanner) member() {
	c := s.peek()
	if s.err != nil {
		return
	}
	if c == '}' {
		s.i++
		s.finish()
		return
	}
	if len(s.seen) > 0 {
		if c != ',' {
			s.unexpected(c)
			return
		}
		s.i++
		c = s.peek()
	}
	if c != '"' {
		s.unexpected(c)
		return
	}
	raw, ok := s.value()
	if !ok {
		return
	}
	var p Parser
	p.Reset(raw)
	text, _ := p.Text()
	if err := p.Err(); err != nil {
		s.fail(s.Offset()-int64(len(raw))+err.Offset, "", err.Reason)
		return
	}
	name := string(text)
	for _, old := range s.seen {
		if old == name {
			s.fail(s.Offset()-int64(len(raw)), name, "repeated field")
			return
		}
	}
	s.seen = append(s.seen, name)
	if c = s.peek(); c != ':' {
		s.unexpected(c)
		return
	}
	s.i++
	c = s.peek()
	wanted := false
	for _, w := range s.want {
		wanted = wanted || w == name
	}
	switch {
	case s.err != nil:
	case c == '[':
		s.quiet = !wanted
		s.enter(name)
	case kindOf[c] == Invalid:
		s.unexpected(c)
	case wanted:
		s.fail(s.Offset(), name, Mismatch(kindOf[c], Array))
	default:
		at := s.Offset()
		if raw, ok = s.value(); !ok {
			return
		}
		p.Reset(raw)
		p.Skip()
		if p.End(); p.Err() != nil {
			s.fail(at+p.Err().Offset, name, p.Err().Reason)
		} else if _, kept := s.keep[name]; kept {
			s.keep[name] = bytes.Clone(raw)
		}
	}
}

// value reads one value whole and moves behind it.
func (s *Scanner) value() ([]byte, bool) {
	for {
		n, whole := skipValue(s.buf[s.i:])
		if whole || s.section && n > 0 && s.base+int64(len(s.buf)) >= s.end {
			s.i += n
			return s.buf[s.i-n : s.i], true
		}
		if !s.fill() {
			if s.err == nil {
				s.fail(s.end, "", EndsEarly)
			}
			return nil, false
		}
	}
}

// element reads the next element of the array, or past the array's end, when it
// reports false.
func (s *Scanner) element() bool {
	c := s.peek()
	if s.err != nil {
		return false
	}
	if s.section && s.i >= len(s.buf) {
		s.state = atEnd
		return false
	}
	end := byte(']')
	if s.named {
		end = '}'
	}
	if c == end && !s.section {
		s.i++
		s.quiet = false
		if s.el.Array == "" && len(s.want) == 0 {
			s.finish()
		} else {
			s.state = inDocument
		}
		return false
	}
	first := s.el.Index < 0 || s.section && s.el.Bytes == nil
	if !first {
		if c != ',' {
			s.unexpected(c)
			return false
		}
		s.i++
		c = s.peek()
	}
	if c == 0 || c == ']' || c == '}' || c == ',' || c == ':' {
		s.unexpected(c)
		return false
	}
	s.el.Index++
	s.el.Fields = s.el.Fields[:0]
	s.el.From = s.Offset()
	if s.named && !s.readName(c) {
		return false
	}
	for {
		b := s.buf[s.i:]
		n, whole, fields := walk(b, s.el.Fields[:0])
		if whole || s.section && n > 0 && s.base+int64(len(s.buf)) >= s.end {
			s.el.Offset = s.Offset()
			s.el.Name, s.el.Bytes, s.el.Fields = s.name, b[:n], fields
			s.i += n
			return true
		}
		if !s.fill() {
			if s.err == nil {
				s.fail(s.end, "", EndsEarly)
			}
			return false
		}
	}
}

// readName reads the name of a member and the colon behind it.
func (s *Scanner) readName(c byte) bool {
	if c != '"' {
		s.unexpected(c)
		return false
	}
	raw, ok := s.value()
	if !ok {
		return false
	}
	if s.name == nil {
		s.name = []byte{} // an empty name is a name
	}
	s.name = append(s.name[:0], raw[1:len(raw)-1]...)
	if c = s.peek(); c != ':' {
		s.unexpected(c)
		return false
	}
	s.i++
	if c = s.peek(); c == 0 || c == ']' || c == '}' || c == ',' || c == ':' {
		s.unexpected(c)
		return false
	}
	return true
}

// finish checks what stands behind the document.
func (s *Scanner) finish() {
	if c := s.peek(); s.err != nil {
		return
	} else if c != 0 || s.i < len(s.buf) {
		s.fail(s.Offset(), "", "data after the document")
		return
	}
	for _, w := range s.want {
		found := false
		for _, name := range s.seen {
			found = found || name == w
		}
		if !found {
			s.err = &DocumentError{Line: 1, Field: w, Reason: "missing field"}
			return
		}
	}
	s.state = atEnd
}

func (s *Scanner) unexpected(c byte) {
	switch {
	case s.err != nil:
	case c == 0 && s.i >= len(s.buf):
		s.fail(s.end, "", EndsEarly)
	default:
		s.fail(s.Offset(), "", "not JSON")
	}
}

func (s *Scanner) fail(offset int64, field, reason string) {
	if s.err != nil {
		return
	}
	line, err := lineOf(s.r, offset)
	if err != nil {
		s.err = err
		return
	}
	s.err = &DocumentError{Offset: offset, Line: line, Field: field, Reason: reason}
}

// lineOf counts the line feeds before offset.
func lineOf(r io.ReaderAt, offset int64) (int64, error) {
	line := int64(1)
	buf := make([]byte, 64<<10)
	for at := int64(0); at < offset; {
		n, err := r.ReadAt(buf[:min(int64(len(buf)), offset-at)], at)
		line += int64(bytes.Count(buf[:n], []byte{'\n'}))
		if at += int64(n); n == 0 && err != nil {
			if errors.Is(err, io.EOF) {
				break
			}
			return 0, err
		}
	}
	return line, nil
}
