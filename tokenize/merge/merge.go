// Package merge joins neighbours by a list of merges: of all pairs of neighbours
// that the list names the one that stands first there becomes one symbol, the
// leftmost of equals, until no pair is left (byte-pair encoding).
//
// A [Table] is the list; once it is filled it is immutable and safe for
// concurrent use. A [Merger] has the buffers of one goroutine.
package merge

import (
	"fmt"
	"math/bits"
)

// MaxPieces is the largest vocabulary.
const MaxPieces = 1 << 21

// None is the rank of pairs that no merge joins.
const None = 1<<32 - 1

// fewIDs are the first ids, which those of single bytes are as a rule: pairs of
// two of them, with which most words begin, have a small table of their own.
const fewIDs = 128

// A Table has the rank of each pair's merge and what each merge makes.
//
// A slot holds the ids of a pair, of so many bits as the vocabulary needs, and
// below them the rank plus one: eight bytes, so that much of what text needs
// stays in the processor's cache.
type Table struct {
	slots []uint64 // 0: free
	mask  uint64
	shift uint // where the pair begins
	width uint // bits of an id
	to    []int32
	few   [fewIDs * fewIDs]uint32 // rank plus one
}

// New returns a table without merges that has room for so many, of a vocabulary
// of so many pieces.
func New(pieces, merges int) (*Table, error) {
	size := 16
	for size < 2*merges {
		size *= 2
	}
	width := uint(bits.Len(uint(pieces)))
	if pieces > MaxPieces || bits.Len(uint(merges)+1) > int(64-2*width) || merges >= None {
		return nil, fmt.Errorf("%d pieces and %d merges: too many", pieces, merges)
	}
	return &Table{slots: make([]uint64, size), mask: uint64(size - 1), shift: 64 - 2*width, width: width, to: make([]int32, merges)}, nil
}

// Len returns the number of merges.
func (t *Table) Len() int { return len(t.to) }

func (t *Table) key(l, r int32) uint64 { return uint64(l)<<t.width | uint64(r) }

func (t *Table) slot(key uint64) uint64 {
	h := key * 0x9E3779B97F4A7C15
	return (h ^ h>>32) & t.mask
}

// Set makes two neighbours, which are ids of the vocabulary, become one by the
// merge of a rank. Of equal pairs the last one's counts.
func (t *Table) Set(rank int, l, r, to int32) {
	t.to[rank] = to
	key := t.key(l, r)
	at := t.slot(key)
	for t.slots[at] != 0 && t.slots[at]>>t.shift != key {
		at = (at + 1) & t.mask
	}
	t.slots[at] = key<<t.shift | uint64(rank+1)
	if l < fewIDs && r < fewIDs {
		t.few[l*fewIDs+r] = uint32(rank + 1)
	}
}

// Find returns the rank of the merge of two neighbours, None if there is none.
func (t *Table) Find(l, r int32) uint32 {
	if uint32(l|r) < fewIDs {
		return t.few[uint32(l)*fewIDs+uint32(r)] - 1
	}
	return t.find(l, r)
}

// find is Find without the small table.
func (t *Table) find(l, r int32) uint32 {
	key := t.key(l, r)
	for at := t.slot(key); ; at = (at + 1) & t.mask {
		s := t.slots[at]
		if s == 0 {
			return None
		}
		if s>>t.shift == key {
			return uint32(s&(1<<t.shift-1)) - 1
		}
	}
}

// To returns what the merge of a rank makes.
func (t *Table) To(rank uint32) int32 { return t.to[rank] }

// short is the number of symbols up to which the best merge is looked for among
// all pairs.
const short = 40

// A symbol of a long word.
type symbol struct {
	id         int32 // -1: merged into the one before
	prev, next int32 // -1: none
	size       int32
}

// A join of a long word: of the symbol at a place and the next one.
type join struct {
	rank uint32
	at   int32
}

// A Merger joins the symbols of words.
type Merger struct {
	long []symbol
	heap []join
}

// Merge joins symbols and returns those that are left, in the same memory. If
// sizes is not nil, it has a number for each symbol, and of those that are left
// the sums of what they were made of.
func (g *Merger) Merge(t *Table, s, sizes []int32) []int32 {
	if len(s) > short {
		return g.mergeLong(t, s, sizes)
	}
	var ranks [short]uint32
	best, at := uint32(None), 0
	for k := 0; k+1 < len(s); k++ {
		r := t.Find(s[k], s[k+1])
		ranks[k] = r
		if r < best {
			best, at = r, k
		}
	}
	for best != None {
		s[at] = t.to[best]
		n := len(s) - 1
		if sizes != nil {
			sizes[at] += sizes[at+1]
			copy(sizes[at+1:n], sizes[at+2:n+1])
		}
		copy(s[at+1:], s[at+2:])
		copy(ranks[at+1:n], ranks[at+2:len(s)])
		s = s[:n]
		if at+1 < n {
			ranks[at] = t.Find(s[at], s[at+1])
		}
		if at > 0 {
			ranks[at-1] = t.Find(s[at-1], s[at])
		}
		best = None
		for k, r := range ranks[:max(n-1, 0)] {
			if r < best {
				best, at = r, k
			}
		}
	}
	return s
}

// mergeLong is Merge with a heap of joins.
func (g *Merger) mergeLong(t *Table, s, sizes []int32) []int32 {
	g.long, g.heap = g.long[:0], g.heap[:0]
	for k, id := range s {
		x := symbol{id: id, prev: int32(k - 1), next: int32(k + 1)}
		if sizes != nil {
			x.size = sizes[k]
		}
		g.long = append(g.long, x)
	}
	g.long[len(s)-1].next = -1
	for k := range int32(len(s) - 1) {
		g.consider(t, k)
	}
	for k := len(g.heap)/2 - 1; k >= 0; k-- {
		g.sink(k)
	}
	for len(g.heap) > 0 {
		top := g.heap[0]
		last := len(g.heap) - 1
		g.heap[0] = g.heap[last]
		g.heap = g.heap[:last]
		g.sink(0)
		l := &g.long[top.at]
		if l.id < 0 || l.next < 0 {
			continue
		}
		r := &g.long[l.next]
		if t.Find(l.id, r.id) != top.rank {
			continue
		}
		l.id = t.to[top.rank]
		l.size += r.size
		r.id = -1
		l.next = r.next
		if r.next >= 0 {
			g.long[r.next].prev = top.at
		}
		from := len(g.heap)
		if l.prev >= 0 {
			g.consider(t, l.prev)
		}
		g.consider(t, top.at)
		for ; from < len(g.heap); from++ {
			g.rise(from)
		}
	}
	s = s[:0]
	for k := int32(0); k >= 0; k = g.long[k].next {
		if sizes != nil {
			sizes[len(s)] = g.long[k].size
		}
		s = append(s, g.long[k].id)
	}
	return s
}

// consider adds the join of a symbol and the next one, if there is one.
func (g *Merger) consider(t *Table, at int32) {
	l := &g.long[at]
	if l.next < 0 {
		return
	}
	if rank := t.Find(l.id, g.long[l.next].id); rank != None {
		g.heap = append(g.heap, join{rank, at})
	}
}

func (j join) before(o join) bool { return j.rank < o.rank || j.rank == o.rank && j.at < o.at }

func (g *Merger) sink(i int) {
	h := g.heap
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && h[c+1].before(h[c]) {
			c++
		}
		if !h[c].before(h[i]) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}

func (g *Merger) rise(i int) {
	h := g.heap
	for i > 0 {
		p := (i - 1) / 2
		if !h[i].before(h[p]) {
			return
		}
		h[i], h[p] = h[p], h[i]
		i = p
	}
}
