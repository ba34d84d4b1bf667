// Package trie finds the pieces of a vocabulary that begin at a place of a text.
//
// A [Trie] is a double array (Aoe, An Efficient Digital Search Algorithm by
// Using a Double-Array Structure, 1989) whose children are found by exclusive
// or, as Darts-clone does it: the child of a node with base b by byte c is unit
// b^c, which says that c leads to it. No two nodes share a base, so that this
// check suffices. A trie is immutable and safe for concurrent use.
package trie

import "fmt"

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
	b := newBuilder(keys, keep)
	if err := b.insert(0, 0, len(b.items), 0); err != nil {
		return nil, err
	}
	return &Trie{units: b.units, root: b.units[0]}, nil
}
