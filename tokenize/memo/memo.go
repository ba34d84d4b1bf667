// Package memo remembers the ids that words became.
//
// A [Table] has room for a fixed number of words and stops to learn when it is
// full, so that its memory is bounded and a stream of new words costs nothing
// more. Neither lookups nor additions take a lock: a record is written once and
// then published by one atomic store of its slot. A table is safe for concurrent use.
package memo

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// Bounds of a record and of a search.
const (
	MaxKey = 128 // bytes of a word
	maxIDs = 255 // ids of a word
	probes = 16  // slots looked at, so that colliding words take no time
)

// A Ref is where a record is; 0 is none.
type Ref uint32

// A Table maps words to ids and one number.
//
// A record is a head (bytes of the key, ids), the number, the key in words of
// eight bytes filled up with zeros, and two ids a word.
type Table struct {
	slots atomic.Pointer[slots]
	limit int64 // records
	words []uint64

	_    [64]byte     // who only reads shares no cache line with who adds
	used atomic.Int64 // of words
	n    atomic.Int64 // records
	grow sync.Mutex   // held by who makes more slots
}

// Slots are where records are found by their hash: the upper half of a hash, of
// which the upper bits say where to look, and the place of its record, 0 if free.
// Full ones are replaced by more, not changed, so that who reads old ones only
// misses what is new; what somebody adds to old ones at that time is forgotten.
type slots struct {
	list  []atomic.Uint64
	shift uint // of a hash, to a place in the list
}

// newSlots returns slots, whose number is a power of two.
func newSlots(n int) *slots {
	return &slots{make([]atomic.Uint64, n), uint(65 - bits.Len(uint(n)))}
}

// next returns the place behind another one.
func (x *slots) next(at uint64) uint64 { return (at + 1) & uint64(len(x.list)-1) }

// fewSlots is what a table begins with: a short text touches little memory.
const fewSlots = 1 << 14

// New returns a table for 2^logWords words or so.
func New(logWords int) *Table {
	t := &Table{limit: 1 << logWords, words: make([]uint64, 8<<logWords)}
	t.used.Store(1)
	t.slots.Store(newSlots(min(2<<logWords, fewSlots)))
	return t
}

// load returns n bytes of text from i on as a number, 1 <= n <= 8.
func load(text string, i, n int) uint64 {
	if len(text)-i >= 8 {
		return load8(text, i) << (64 - 8*n) >> (64 - 8*n)
	}
	v := uint64(0)
	for k := range n {
		v |= uint64(text[i+k]) << (8 * k)
	}
	return v
}

func load8(text string, i int) uint64 {
	s := text[i : i+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9E3779B97F4A7C15, b^0xD6E8FEB86659FD93)
	return hi ^ lo
}

// Find returns the record of the word text[i:j] and its hash, for Add. A word
// of no or more than MaxKey bytes has no record.
func (t *Table) Find(text string, i, j int) (Ref, uint64) {
	n := j - i
	switch {
	case n <= 0 || n > MaxKey:
		return 0, 0
	case n <= 8:
		a := load(text, i, n)
		h := mix(a, uint64(n))
		return t.short(a, n, h), h
	}
	h := uint64(n)
	for k := i; k < j; k += 8 {
		h = mix(load(text, k, min(8, j-k)), h)
	}
	x := t.slots.Load()
	for at, k := h>>x.shift, 0; k < probes; at, k = x.next(at), k+1 {
		s := x.list[at].Load()
		if s == 0 {
			break
		}
		if s>>32 == h>>32 && t.is(Ref(s), text, i, j) {
			return Ref(s), h
		}
	}
	return 0, h
}

// short returns the record of a word of up to eight bytes.
func (t *Table) short(key uint64, n int, hash uint64) Ref {
	x := t.slots.Load()
	for at, k := hash>>x.shift, 0; k < probes; at, k = x.next(at), k+1 {
		s := x.list[at].Load()
		if s == 0 {
			break
		}
		if s>>32 == hash>>32 {
			r := t.words[uint32(s):]
			if r[2] == key && r[0]&0xFF == uint64(n) {
				return Ref(s)
			}
		}
	}
	return 0
}

// is reports whether a record's key is text[i:j].
func (t *Table) is(r Ref, text string, i, j int) bool {
	w := t.words[r:]
	if w[0]&0xFF != uint64(j-i) {
		return false
	}
	for k, at := i, 2; k < j; k, at = k+8, at+1 {
		if w[at] != load(text, k, min(8, j-k)) {
			return false
		}
	}
	return true
}

// Number returns a record's number.
func (t *Table) Number(r Ref) uint64 { return t.words[r+1] }

// Append appends a record's ids.
func (t *Table) Append(ids []int32, r Ref) []int32 {
	w := t.words[r:]
	head := w[0]
	n := int(head >> 8 & 0xFF)
	w = w[2+(head&0xFF+7)/8:]
	if n == 1 {
		return append(ids, int32(uint32(w[0])))
	}
	for ; n >= 2; n -= 2 {
		ids = append(ids, int32(uint32(w[0])), int32(uint32(w[0]>>32)))
		w = w[1:]
	}
	if n == 1 {
		ids = append(ids, int32(uint32(w[0])))
	}
	return ids
}

// Add makes a record for text[i:j], whose hash Find returned. It does nothing if
// the table is full, the word or its ids are too long, or the word is there.
func (t *Table) Add(text string, i, j int, hash uint64, ids []int32, number uint64) {
	n := j - i
	if n <= 0 || n > MaxKey || len(ids) > maxIDs {
		return
	}
	size := int64(2 + (n+7)/8 + (len(ids)+1)/2)
	if t.n.Load() >= t.limit || t.used.Load()+size > int64(len(t.words)) {
		return
	}
	x := t.slots.Load()
	at := hash >> x.shift
	for k := 0; ; k++ {
		if k == probes {
			return
		}
		s := x.list[at].Load()
		if s == 0 {
			break
		}
		if s>>32 == hash>>32 && t.is(Ref(s), text, i, j) {
			return
		}
		at = x.next(at)
	}
	start := t.used.Add(size) - size
	if start+size > int64(len(t.words)) {
		return
	}
	w := t.words[start : start+size]
	w[0], w[1] = uint64(n)|uint64(len(ids))<<8, number
	w = w[2:]
	for k := i; k < j; k += 8 {
		w[0] = load(text, k, min(8, j-k))
		w = w[1:]
	}
	for k := 0; k < len(ids); k += 2 {
		w[0] = uint64(uint32(ids[k]))
		if k+1 < len(ids) {
			w[0] |= uint64(uint32(ids[k+1])) << 32
		}
		w = w[1:]
	}
	// if somebody else was there first, the record is forgotten
	if x.list[at].CompareAndSwap(0, hash>>32<<32|uint64(start)) && 2*t.n.Add(1) >= int64(len(x.list)) {
		t.more(x)
	}
}

// more puts twice as many slots in the place of full ones. A record for which
// there is no room within the probes is forgotten.
func (t *Table) more(old *slots) {
	if !t.grow.TryLock() {
		return
	}
	defer t.grow.Unlock()
	if t.slots.Load() != old || int64(len(old.list)) >= 2*t.limit {
		return
	}
	x := newSlots(min(4*len(old.list), int(2*t.limit)))
	for i := range old.list {
		s := old.list[i].Load()
		if s == 0 {
			continue
		}
		at := s >> x.shift
		for k := 0; k < probes; k++ {
			if x.list[at].Load() == 0 {
				x.list[at].Store(s)
				break
			}
			at = x.next(at)
		}
	}
	t.slots.Store(x)
}

// End returns where c is next in the text from i on, or the text's end.
func End(text string, i int, c byte) int {
	all := uint64(c) * 0x0101010101010101
	for ; len(text)-i >= 8; i += 8 {
		v := load8(text, i) ^ all
		if zero := (v - 0x0101010101010101) &^ v & 0x8080808080808080; zero != 0 {
			return i + bits.TrailingZeros64(zero)/8
		}
	}
	for i < len(text) && text[i] != c {
		i++
	}
	return i
}
