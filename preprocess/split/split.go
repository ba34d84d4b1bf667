// Package split draws reproducible subsets of examples.
//
// Whether a row belongs to a subset depends on its id and a seed alone: each row
// has a [Key], a keyed hash of its stable id, and a draw of K takes the K rows of
// the smallest keys (ties: the smaller id in byte order). Adding a row therefore
// moves at most one other row out of a draw, and a draw of K is part of any
// larger one of the same seed.
//
// A [Draw] holds no more rows than it draws. It is not safe for concurrent use.
package split

import (
	"cmp"
	"container/heap"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// Schema is the schema id of split files.
const Schema = "split/1"

// A Member is a row of a split file: which example is in which split. A split
// file can be published and applied by others.
type Member struct {
	ID    string `parquet:"id" json:"id"` // the example's
	Split string `parquet:"split,dict" json:"split"`
}

// Key is the keyed hash of an id: the first 64 bits, big-endian, of SHA-256 over
// "espalier-split/1", the seed as 64 bits big-endian, and the id.
func Key(seed uint64, id string) uint64 {
	b := make([]byte, 0, 24+len(id))
	b = append(b, "espalier-split/1"...)
	b = binary.BigEndian.AppendUint64(b, seed)
	b = append(b, id...)
	sum := sha256.Sum256(b)
	return binary.BigEndian.Uint64(sum[:8])
}

// In reports whether a key is in a share of num/den of all rows. Shares are
// nested: what is in a small one is in every larger one.
func In(key, num, den uint64) bool {
	if num >= den {
		return true
	}
	limit, _ := bits.Div64(num, 0, den) // num/den of 2^64
	return key < limit
}

// A Row is what a draw needs of an example.
type Row struct {
	ID    string
	Class string // "" if drawn regardless of classes
	Key   uint64
}

func compare(a, b Row) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), strings.Compare(a.ID, b.ID))
}

// A Draw takes the K rows of the smallest keys, of each class or of all.
type Draw struct {
	k       int
	classes map[string]*largest
}

// NewDraw returns a draw of k rows; k < 0 means all.
func NewDraw(k int) *Draw {
	if k < 0 {
		k = math.MaxInt
	}
	return &Draw{k: k, classes: map[string]*largest{}}
}

// Add offers a row to the draw of its class.
func (d *Draw) Add(r Row) {
	h := d.classes[r.Class]
	if h == nil {
		h = new(largest)
		d.classes[r.Class] = h
	}
	switch {
	case len(*h) < d.k:
		heap.Push(h, r)
	case d.k > 0 && compare(r, (*h)[0]) < 0:
		(*h)[0] = r
		heap.Fix(h, 0)
	}
}

// Rows returns what was drawn: classes in byte order, in each of them rows by
// key. A class with fewer than K rows gives all of them.
func (d *Draw) Rows() []Row {
	var names []string
	for c := range d.classes {
		names = append(names, c)
	}
	slices.Sort(names)
	var out []Row
	for _, c := range names {
		rows := slices.Clone(*d.classes[c])
		slices.SortFunc(rows, compare)
		out = append(out, rows...)
	}
	return out
}

// Largest is a heap with the row of the largest key on top.
type largest []Row

func (h largest) Len() int           { return len(h) }
func (h largest) Less(i, k int) bool { return compare(h[i], h[k]) > 0 }
func (h largest) Swap(i, k int)      { h[i], h[k] = h[k], h[i] }
func (h *largest) Push(x any)        { *h = append(*h, x.(Row)) }
func (h *largest) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	*h = (*h)[:last]
	return r
}

// Halves cuts rows in two by key: n/2 of them, rounded down, go to the first
// half. Both are sorted by key.
func Halves(rows []Row) (first, second []Row) {
	sorted := slices.Clone(rows)
	slices.SortFunc(sorted, compare)
	n := len(sorted) / 2
	return sorted[:n], sorted[n:]
}

// HoldOut takes the n rows of the smallest keys out: they are sorted by key, and
// the rest stays in its order.
func HoldOut(rows []Row, n int) (out, rest []Row) {
	d := NewDraw(n)
	for _, r := range rows {
		r.Class = ""
		d.Add(r)
	}
	out = d.Rows()
	taken := make(map[string]bool, len(out))
	for _, r := range out {
		taken[r.ID] = true
	}
	for _, r := range rows {
		if !taken[r.ID] {
			rest = append(rest, r)
		}
	}
	return out, rest
}
