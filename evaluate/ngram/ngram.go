// Package ngram numbers words and n-grams, so that metrics count integers
// instead of comparing strings.
//
// [Words] gives each distinct word a number. A [Table] gives each distinct
// n-gram of one length a number, its key being the number of the (n-1)-gram
// before its last word and that word. Numbers are given in order of first
// occurrence. Neither type may be used by two goroutines at once.
package ngram

import (
	"strings"
	"unicode/utf8"
)

// MaxOrder is the longest n-gram that metrics count.
const MaxOrder = 4

// Words numbers distinct words from 0. The zero Words is empty.
type Words struct {
	ids  map[string]uint32
	text []string
}

// Number returns the number of w, a new one if w was not seen before.
func (v *Words) Number(w string) uint32 {
	if id, ok := v.ids[w]; ok {
		return id
	}
	if v.ids == nil {
		v.ids = make(map[string]uint32)
	}
	id := uint32(len(v.text))
	w = strings.Clone(w) // the caller's line may be long-lived otherwise
	v.ids[w] = id
	v.text = append(v.text, w)
	return id
}

// Bytes is Number of a word in bytes, which it does not keep.
func (v *Words) Bytes(w []byte) uint32 {
	if id, ok := v.ids[string(w)]; ok {
		return id
	}
	return v.Number(string(w))
}

// Merge numbers the words of o, in their order, and returns their numbers here.
func (v *Words) Merge(o *Words) []uint32 {
	here := make([]uint32, len(o.text))
	for i, w := range o.text {
		here[i] = v.Number(w)
	}
	return here
}

// Find returns the number of w if it has one.
func (v *Words) Find(w string) (uint32, bool) {
	id, ok := v.ids[w]
	return id, ok
}

// Word returns the word that has the number id.
func (v *Words) Word(id uint32) string { return v.text[id] }

// Len returns how many words have numbers.
func (v *Words) Len() int { return len(v.text) }

// Fields appends the numbers of the words of s to dst, split where Python's
// str.split() splits: at runs of white space, which include the no-break space
// and the four separators U+001C to U+001F.
func (v *Words) Fields(dst []uint32, s string) []uint32 {
	for len(s) > 0 {
		i := wordEnd(s)
		if i > 0 {
			dst = append(dst, v.Number(s[:i]))
		}
		s = s[i:]
		_, n := utf8.DecodeRuneInString(s)
		s = s[n:]
	}
	return dst
}

// Cut appends the numbers of the pieces of s between single blanks to dst, as
// Python's str.split(" "): an empty string is one empty piece.
func (v *Words) Cut(dst []uint32, s string) []uint32 {
	for {
		i := strings.IndexByte(s, ' ')
		if i < 0 {
			return append(dst, v.Number(s))
		}
		dst = append(dst, v.Number(s[:i]))
		s = s[i+1:]
	}
}

// Split returns the words of s as Fields cuts it.
func Split(s string) []string {
	var out []string
	for len(s) > 0 {
		i := wordEnd(s)
		if i > 0 {
			out = append(out, s[:i])
		}
		s = s[i:]
		_, n := utf8.DecodeRuneInString(s)
		s = s[n:]
	}
	return out
}

// wordEnd returns the length of the run of characters at the start of s that
// are not white space.
func wordEnd(s string) int {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c == ' ' || c >= 0x09 && c <= 0x0d || c >= 0x1c && c <= 0x1f {
				return i
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if wideSpace(r) {
			return i
		}
		i += n
	}
	return len(s)
}

func wideSpace(r rune) bool {
	switch r {
	case 0x85, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000:
		return true
	}
	return r >= 0x2000 && r <= 0x200a
}

// A Table numbers distinct pairs of numbers from 0. The zero Table is empty.
type Table struct {
	keys []uint64 // open addressing, linear probing
	vals []uint32 // number + 1; 0 marks a free slot
	n    int
	used []uint32 // slots in order of numbers, for Reset and All
}

// Key packs the number of an n-gram's first n-1 words and its last word.
func Key(prefix, word uint32) uint64 { return uint64(prefix)<<32 | uint64(word) }

// hash spreads the bits of k (the finaliser of MurmurHash3).
func hash(k uint64) uint64 {
	k ^= k >> 33
	k *= 0xff51afd7ed558ccd
	k ^= k >> 33
	k *= 0xc4ceb9fe1a85ec53
	return k ^ k>>33
}

// Number returns the number of key, a new one if key was not seen before.
func (t *Table) Number(key uint64) uint32 {
	if t.n*2 >= len(t.keys) {
		t.grow(max(16, 2*len(t.keys)))
	}
	mask := uint64(len(t.keys) - 1)
	i := hash(key) & mask
	for t.vals[i] != 0 {
		if t.keys[i] == key {
			return t.vals[i] - 1
		}
		i = (i + 1) & mask
	}
	t.keys[i] = key
	t.n++
	t.vals[i] = uint32(t.n)
	t.used = append(t.used, uint32(i))
	return uint32(t.n - 1)
}

// Find returns the number of key if it has one.
func (t *Table) Find(key uint64) (uint32, bool) {
	if t.n == 0 {
		return 0, false
	}
	mask := uint64(len(t.keys) - 1)
	for i := hash(key) & mask; t.vals[i] != 0; i = (i + 1) & mask {
		if t.keys[i] == key {
			return t.vals[i] - 1, true
		}
	}
	return 0, false
}

// Len returns how many keys have numbers.
func (t *Table) Len() int { return t.n }

// At returns the key that has the number id.
func (t *Table) At(id int) uint64 { return t.keys[t.used[id]] }

// Reset forgets all keys and keeps the memory.
func (t *Table) Reset() {
	for _, i := range t.used {
		t.vals[i] = 0
	}
	t.used = t.used[:0]
	t.n = 0
}

// Bytes returns about how much memory the table holds.
func (t *Table) Bytes() int64 { return int64(len(t.keys))*12 + int64(cap(t.used))*4 }

func (t *Table) grow(size int) {
	old, order := t.keys, t.used
	t.keys, t.vals = make([]uint64, size), make([]uint32, size)
	t.used = make([]uint32, 0, size/2)
	mask := uint64(size - 1)
	for n, slot := range order {
		k := old[slot]
		i := hash(k) & mask
		for t.vals[i] != 0 {
			i = (i + 1) & mask
		}
		t.keys[i], t.vals[i] = k, uint32(n+1)
		t.used = append(t.used, uint32(i))
	}
}
