package memo

import "math/bits"

// parts is how many parts of the slots are filled one after another.
const partBits, parts = 8, 1 << 8

// An Index maps a fixed set of keys to their numbers. It is immutable and safe
// for concurrent use.
type Index struct {
	keys  []string
	slots []uint64 // upper half of the hash, number plus one; 0: free
	mask  uint64
	twice []int32 // numbers of the first two equal keys; nil if there are none
}

// NewIndex returns the index of those keys that keep accepts, all if it is nil.
// Of equal keys the last one's number counts.
func NewIndex(keys []string, keep func(int) bool) *Index {
	size := 16
	for size < 2*len(keys) {
		size *= 2
	}
	x := &Index{keys: keys, slots: make([]uint64, size), mask: uint64(size - 1)}
	hashes, count := make([]uint64, 0, len(keys)), [parts + 1]int32{}
	shift := max(bits.Len64(x.mask)-partBits, 0)
	for n, key := range keys {
		h := uint64(0)
		if keep == nil || keep(n) {
			h = hash(key, 0, len(key))
			count[h&x.mask>>shift+1]++
		}
		hashes = append(hashes, h)
	}
	// the slots are filled a part after another, so that they are at hand
	for i := range parts {
		count[i+1] += count[i]
	}
	order := make([]int32, count[parts])
	for n, h := range hashes {
		if keep == nil || keep(n) {
			at := &count[h&x.mask>>shift]
			order[*at] = int32(n)
			*at++
		}
	}
	for _, k := range order {
		n, h := int(k), hashes[k]
		at := h & x.mask
		for x.slots[at] != 0 && (x.slots[at]>>32 != h>>32 || keys[uint32(x.slots[at])-1] != keys[n]) {
			at = (at + 1) & x.mask
		}
		if old := uint32(x.slots[at]); old != 0 && (x.twice == nil || int32(n) < x.twice[1]) {
			x.twice = []int32{int32(old - 1), int32(n)}
		}
		x.slots[at] = h>>32<<32 | uint64(n+1)
	}
	return x
}

// Keys returns the keys, which must not be changed.
func (x *Index) Keys() []string { return x.keys }

// Twice returns the numbers of two equal keys and whether there are such.
func (x *Index) Twice() (first, second int32, ok bool) {
	if x.twice == nil {
		return 0, 0, false
	}
	return x.twice[0], x.twice[1], true
}

// hash returns a hash of text[i:j].
func hash(text string, i, j int) uint64 {
	h := uint64(j - i)
	for k := i; k < j; k += 8 {
		h = mix(load(text, k, min(8, j-k)), h)
	}
	return h
}

// Find returns the number of the key text[i:j], -1 if it is none.
func (x *Index) Find(text string, i, j int) int32 {
	h := hash(text, i, j)
	for at := h & x.mask; ; at = (at + 1) & x.mask {
		s := x.slots[at]
		if s == 0 {
			return -1
		}
		if s>>32 == h>>32 && x.keys[uint32(s)-1] == text[i:j] {
			return int32(uint32(s)) - 1
		}
	}
}
