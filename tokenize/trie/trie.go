// Package trie finds the pieces of a vocabulary that begin at a place of a text.
//
// A [Trie] is a double array (Aoe, An Efficient Digital Search Algorithm by
// Using a Double-Array Structure, 1989) whose children are found by exclusive
// or, as Darts-clone does it: the child of a node with base b by byte c is unit
// b^c, which says that c leads to it. No two nodes share a base, so that this
// check suffices. A trie is immutable and safe for concurrent use.
package trie

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// MaxKeys is the largest number of keys.
const MaxKeys = 1<<23 - 2

// A Trie maps keys to values.
type Trie struct {
	// A unit has the base of its node in bits 0 to 31, its value plus one in bits
	// 32 to 54 and, in bits 55 to 63, the byte that leads to it plus one.
	units []uint64
	root  uint64
}

// A Node is a place in a trie.
type Node uint64

// Root returns the node of the empty key.
func (t *Trie) Root() Node { return Node(t.root) }

// Step returns the node behind a byte and whether there is one.
func (t *Trie) Step(n Node, c byte) (Node, bool) {
	u := t.units[uint32(n)^uint32(c)]
	return Node(u), u>>55 == uint64(c)+1
}

// Value returns the value of the key that ends at a node, -1 if none does.
func (n Node) Value() int32 { return int32(n>>32&(1<<23-1)) - 1 }

// Find returns the value of a key, -1 if it has none.
func (t *Trie) Find(key string) int32 {
	n := t.Root()
	for i := range len(key) {
		var ok bool
		if n, ok = t.Step(n, key[i]); !ok {
			return -1
		}
	}
	return n.Value()
}

// Longest returns the length and value of the longest key that text begins
// with, 0 and -1 if there is none; the empty key does not count.
func (t *Trie) Longest(text string) (size int, value int32) {
	n := t.Root()
	value = -1
	for i := range len(text) {
		var ok bool
		if n, ok = t.Step(n, text[i]); !ok {
			break
		}
		if v := n.Value(); v >= 0 {
			size, value = i+1, v
		}
	}
	return size, value
}

// New returns a trie whose values are the keys' indices. Of equal keys the last
// one's counts.
func New(keys []string) (*Trie, error) {
	return NewOf(keys, func(int) bool { return true })
}

// NewOf is New with those keys only that keep accepts.
func NewOf(keys []string, keep func(int) bool) (*Trie, error) {
	if len(keys) > MaxKeys {
		return nil, fmt.Errorf("trie: %d keys, at most %d", len(keys), MaxKeys)
	}
	b := builder{keys: keys, head: -1}
	for i := range keys {
		if keep(i) {
			b.order = append(b.order, int32(i))
		}
	}
	b.sort()
	b.grow()
	b.take(0)
	root := uint64(0)
	if err := b.insert(&root, 0, len(b.order), 0); err != nil {
		return nil, err
	}
	return &Trie{units: b.units, root: root}, nil
}

const (
	blockSize = 256
	open      = 16 // blocks at the end in which places are looked for
)

// A builder lays out units. Free units of the open blocks form a ring.
type builder struct {
	keys  []string
	order []int32 // keys to insert, sorted

	units      []uint64
	used       []bool  // bases taken
	next, prev []int32 // of a free unit in the ring; next is -1 if it is not free
	head       int32   // the first free unit, -1: none
}

// An item is a key to be sorted by its first eight bytes.
type item struct {
	head uint64
	key  int32
}

// sort sorts the keys and drops all but the last of equal ones.
func (b *builder) sort() {
	items, other := make([]item, len(b.order)), make([]item, len(b.order))
	for i, k := range b.order {
		head := uint64(0)
		for j, s := 0, b.keys[k]; j < 8 && j < len(s); j++ {
			head |= uint64(s[j]) << (56 - 8*j)
		}
		items[i] = item{head, k}
	}
	for shift := 0; shift < 64; shift += 16 {
		var count [1 << 16]int32
		for i := range items {
			count[uint16(items[i].head>>shift)]++
		}
		at := int32(0)
		for i, n := range count {
			count[i] = at
			at += n
		}
		for _, x := range items {
			k := uint16(x.head >> shift)
			other[count[k]] = x
			count[k]++
		}
		items, other = other, items
	}
	for i := 0; i < len(items); {
		j := i + 1
		for j < len(items) && items[j].head == items[i].head {
			j++
		}
		if j > i+1 {
			slices.SortFunc(items[i:j], func(x, y item) int {
				return cmp.Or(strings.Compare(b.keys[x.key], b.keys[y.key]), cmp.Compare(x.key, y.key))
			})
		}
		i = j
	}
	out := 0
	for i, x := range items {
		if i+1 < len(items) && b.keys[x.key] == b.keys[items[i+1].key] {
			continue
		}
		b.order[out] = x.key
		out++
	}
	b.order = b.order[:out]
}

// grow adds a block and takes what is left of an old one out of the ring.
func (b *builder) grow() {
	n := int32(len(b.units))
	b.units = append(b.units, make([]uint64, blockSize)...)
	b.used = append(b.used, make([]bool, blockSize)...)
	b.next = append(b.next, make([]int32, blockSize)...)
	b.prev = append(b.prev, make([]int32, blockSize)...)
	if closed := n - open*blockSize; closed >= 0 {
		for u := closed; u < closed+blockSize; u++ {
			if b.next[u] >= 0 {
				b.take(u)
			}
		}
	}
	last := n + blockSize - 1
	for u := n; u <= last; u++ {
		b.next[u], b.prev[u] = u+1, u-1
	}
	if b.head < 0 {
		b.head = n
		b.next[last], b.prev[n] = n, last
	} else {
		tail := b.prev[b.head]
		b.next[tail], b.prev[n] = n, tail
		b.next[last], b.prev[b.head] = b.head, last
	}
	if n == 0 {
		b.used[0] = true // the base of nodes without children
	}
}

// take takes a unit out of the ring.
func (b *builder) take(u int32) {
	next, prev := b.next[u], b.prev[u]
	b.next[prev], b.prev[next] = next, prev
	if b.head == u {
		b.head = next
		if next == u {
			b.head = -1
		}
	}
	b.next[u] = -1
}

// insert lays out the children of a node that keys order[from:to], equal up to
// depth, pass through.
func (b *builder) insert(unit *uint64, from, to, depth int) error {
	if from < to && len(b.keys[b.order[from]]) == depth {
		*unit |= uint64(b.order[from]+1) << 32
		from++
	}
	if from == to {
		return nil
	}
	var labels [4]uint64
	first := b.keys[b.order[from]][depth]
	for i := from; i < to; i++ {
		c := b.keys[b.order[i]][depth]
		labels[c>>6] |= 1 << (c & 63)
	}
	base, err := b.place(first, &labels)
	if err != nil {
		return err
	}
	*unit |= uint64(base)
	b.used[base] = true
	for w, set := range labels {
		for ; set != 0; set &= set - 1 {
			b.take(int32(base ^ uint32(w<<6+bits.TrailingZeros64(set))))
		}
	}
	for from < to {
		c := b.keys[b.order[from]][depth]
		end := from + 1
		for end < to && b.keys[b.order[end]][depth] == c {
			end++
		}
		child := uint64(c+0)<<55 + 1<<55
		if err := b.insert(&child, from, end, depth+1); err != nil {
			return err
		}
		b.units[base^uint32(c)] = child
		from = end
	}
	return nil
}

// place finds a base for children with the given bytes, of which first is one.
func (b *builder) place(first byte, labels *[4]uint64) (uint32, error) {
	for {
		for u := b.head; u >= 0; {
			base := uint32(u) ^ uint32(first)
			if !b.used[base] && b.fits(base, labels) {
				return base, nil
			}
			if u = b.next[u]; u == b.head {
				break
			}
		}
		if len(b.units) >= 1<<30 {
			return 0, errors.New("trie: too large")
		}
		b.grow()
	}
}

func (b *builder) fits(base uint32, labels *[4]uint64) bool {
	for w, set := range labels {
		for ; set != 0; set &= set - 1 {
			if b.next[base^uint32(w<<6+bits.TrailingZeros64(set))] < 0 {
				return false
			}
		}
	}
	return true
}
