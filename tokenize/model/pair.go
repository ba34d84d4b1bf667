package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Truncation says which of two texts loses tokens when they are too many.
type Truncation int

// Ways to truncate.
const (
	NoTruncation Truncation = iota
	LongestFirst            // the longer one
	OnlyFirst
	OnlySecond
)

var truncations = []string{NoTruncation: "none", LongestFirst: "longest-first", OnlyFirst: "only-first", OnlySecond: "only-second"}

// String returns the name, such as "longest-first".
func (t Truncation) String() string { return truncations[t] }

// ParseTruncation returns the truncation of a name other than that of
// NoTruncation.
func ParseTruncation(name string) (Truncation, error) {
	i := slices.Index(truncations, name)
	if i <= 0 {
		return 0, fmt.Errorf("%q, want %s", name, strings.Join(truncations[1:], ", "))
	}
	return Truncation(i), nil
}

// ErrTooShort says that the text that was to lose tokens has not enough of them.
var ErrTooShort = errors.New("text to truncate is too short")

// A Frame says which special ids surround texts and how the texts are cut to a
// length.
type Frame struct {
	Head, Tail []int32 // around one text, or two
	Between    []int32 // two texts
	SecondType int32   // token type of the second text and of Tail behind it

	// Gentle is the way of the classes written in Python. LongestFirst takes the
	// odd place from the second text, not from the shorter one; a text too short
	// to truncate is left whole, which is no error; an empty second text counts.
	Gentle bool
	// OnceTail leaves Tail, or Between, away behind a text that ends with it. Types
	// and Special count it all the same, as the class does, and are longer then.
	OnceTail bool

	// Empty says that an empty second text counts even if Gentle is not set.
	Empty bool

	Pad     int32
	PadType int32

	// Single and Pair, if they are set, say instead of Head, Between and Tail what
	// is around one text and two.
	Single, Pair []Slot
}

// A Slot of a frame is a text or special ids.
type Slot struct {
	Text int8 // 1, 2: the first, the second text; 0: IDs
	IDs  []int32
	Type int32
}

// slots returns what is around one text, or two.
func (f *Frame) slots(two bool) []Slot {
	switch {
	case two && f.Pair != nil:
		return f.Pair
	case f.Single != nil:
		return f.Single
	case two:
		return []Slot{{IDs: f.Head}, {Text: 1}, {IDs: f.Between}, {Text: 2, Type: f.SecondType}, {IDs: f.Tail, Type: f.SecondType}}
	}
	return []Slot{{IDs: f.Head}, {Text: 1}, {IDs: f.Tail}}
}

// Around returns the ids before and behind one text.
func (f *Frame) Around() (head, tail []int32) {
	if f.Single == nil {
		return f.Head, f.Tail
	}
	to := &head
	for _, s := range f.Single {
		if s.Text == 1 {
			to = &tail
		}
		*to = append(*to, s.IDs...)
	}
	return head, tail
}

// Limits are the lengths wanted. The zero value is none.
type Limits struct {
	Truncate Truncation
	Max      int // ids at most, special ones included, if Truncate is set
	Pad      int // ids at least
	PadLeft  bool
}

// An Encoding is what a model reads of one or two texts. The slices are equally
// long, but for OnceTail.
type Encoding struct {
	IDs       []int32
	Types     []int32 // token types: 0, and SecondType for the second text
	Special   []int32 // 1 for special ids that the frame added, and padding
	Attention []int32 // 0 for padding

	Cut int // ids that truncation took away
}

// Join makes an encoding of the ids of a text and, if there are two, of a second
// one. It does not keep the slices.
func (f *Frame) Join(a, b []int32, two bool, l Limits) (Encoding, error) {
	two = two && (f.Gentle || f.Empty || len(b) > 0)
	if !two {
		b = nil
	}
	slots, cut := f.slots(two), 0
	if l.Truncate != NoTruncation {
		added := 0
		for _, s := range slots {
			added += len(s.IDs)
		}
		if l.Max < added {
			return Encoding{}, fmt.Errorf("length of at most %d, but %d special ids", l.Max, added)
		}
		na, nb, err := f.truncate(len(a), len(b), two, l.Max-added, l.Truncate)
		if err != nil {
			return Encoding{}, err
		}
		cut = len(a) - na + len(b) - nb
		a, b = a[:na], b[:nb]
	}
	e := Encoding{Cut: cut}
	put := func(ids []int32, kind, special int32) {
		for _, id := range ids {
			e.IDs, e.Types, e.Special = append(e.IDs, id), append(e.Types, kind), append(e.Special, special)
		}
	}
	end := func(ids, of []int32, kind int32) {
		if f.OnceTail && len(of) > 0 && len(ids) == 1 && of[len(of)-1] == ids[0] {
			e.Types, e.Special = append(e.Types, kind), append(e.Special, 1)
			return
		}
		put(ids, kind, 1)
	}
	var last []int32 // of a text
	for i, s := range slots {
		switch {
		case s.Text == 1:
			put(a, s.Type, 0)
			last = a
		case s.Text == 2:
			put(b, s.Type, 0)
			last = b
		case i > 0:
			end(s.IDs, last, s.Type)
		default:
			put(s.IDs, s.Type, 1)
		}
	}
	for range e.IDs {
		e.Attention = append(e.Attention, 1)
	}
	if n := l.Pad - len(e.IDs); n > 0 {
		pad := func(s *[]int32, v int32) {
			p := slices.Repeat([]int32{v}, n)
			if l.PadLeft {
				*s = append(p, *s...)
			} else {
				*s = append(*s, p...)
			}
		}
		pad(&e.IDs, f.Pad)
		pad(&e.Types, f.PadType)
		pad(&e.Special, 1)
		pad(&e.Attention, 0)
	}
	return e, nil
}

// truncate returns how many ids are kept of texts of a and b.
func (f *Frame) truncate(a, b int, two bool, room int, t Truncation) (int, int, error) {
	over := a + b - room
	if over <= 0 {
		return a, b, nil
	}
	switch t {
	case OnlyFirst:
		if a > over {
			return a - over, b, nil
		}
	case OnlySecond:
		if two && b > over {
			return a, b - over, nil
		}
	default:
		if !two {
			return room, 0, nil
		}
		if f.Gentle { // one at a time from the first if longer, else from the second
			for ; over > 0; over-- {
				if a > b {
					a--
				} else {
					b--
				}
			}
			return a, b, nil
		}
		small := min(a, b)
		large := max(small, room-small)
		if small+large > room {
			small = room / 2
			large = small + room%2
		}
		if a > b {
			return large, small, nil
		}
		return small, large, nil
	}
	if f.Gentle {
		return a, b, nil
	}
	return 0, 0, fmt.Errorf("%w: %d and %d ids for %d places", ErrTooShort, a, b, room)
}
