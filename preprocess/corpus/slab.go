package corpus

import "strings"

// A Slab makes the many small pieces of memory that rows are of a few large
// ones. Those go when nothing is left that was made of them. The zero value is
// ready; it is not safe for concurrent use.
type Slab struct {
	text  strings.Builder
	lists []string
	ints  []int64
}

const (
	slabText = 16 << 10
	slabList = 512
	slabInts = 128
)

// Text returns a text with these bytes.
func (s *Slab) Text(b []byte) string {
	if len(b) > slabText/8 {
		return string(b)
	}
	if s.text.Cap()-s.text.Len() < len(b) {
		s.text = strings.Builder{}
		s.text.Grow(slabText)
	}
	at := s.text.Len()
	s.text.Write(b)
	return s.text.String()[at:]
}

// List returns n empty texts.
func (s *Slab) List(n int) []string {
	if n > slabList/8 {
		return make([]string, n)
	}
	if len(s.lists) < n {
		s.lists = make([]string, slabList)
	}
	list := s.lists[:n:n]
	s.lists = s.lists[n:]
	return list
}

// Ref returns a place that holds a text.
func (s *Slab) Ref(text string) *string {
	p := &s.List(1)[0]
	*p = text
	return p
}

// Int returns a place that holds a number.
func (s *Slab) Int(v int64) *int64 {
	if len(s.ints) == 0 {
		s.ints = make([]int64, slabInts)
	}
	p := &s.ints[0]
	*p = v
	s.ints = s.ints[1:]
	return p
}
