package trie

import (
	"cmp"
	"errors"
	"math/bits"
	"slices"
	"strings"
)

// A builder lays out units, in blocks of 256. The children of a node lie in one
// block, since a base is combined with their bytes by exclusive or.
type builder struct {
	keys  []string
	items []item // keys to insert, sorted, none twice

	units []uint64
	free  []set // units of each block without a node
	taken []set // bases of each block that a node has
	open  []openBlock

	// Of the nodes on the way to the one at hand: the bytes that lead to their
	// children and where the children's items end.
	labels []byte
	ends   []int32
}

const (
	blockSize = 256
	maxOpen   = 8  // blocks in which places are looked for
	maxFails  = 16 // that a block stays open
)

// An openBlock is a block in which places are looked for, oldest first.
type openBlock struct {
	block, fails int
}

// An item is a key with its first sixteen bytes.
type item struct {
	head, tail uint64
	key, size  int32
}

// eight returns up to eight bytes of a string as a number, the first on top.
func eight(s string) uint64 {
	if len(s) >= 8 {
		s = s[:8]
		return uint64(s[7]) | uint64(s[6])<<8 | uint64(s[5])<<16 | uint64(s[4])<<24 | uint64(s[3])<<32 | uint64(s[2])<<40 | uint64(s[1])<<48 | uint64(s[0])<<56
	}
	v := uint64(0)
	for j := range len(s) {
		v |= uint64(s[j]) << (56 - 8*j)
	}
	return v
}

// at returns a byte of the key.
func (b *builder) at(x *item, depth int) byte {
	switch {
	case depth < 8:
		return byte(x.head >> (56 - 8*depth))
	case depth < 16:
		return byte(x.tail >> (120 - 8*depth))
	}
	return b.keys[x.key][depth]
}

// A set holds bytes.
type set [4]uint64

func (s *set) add(c byte)      { s[c>>6] |= 1 << (c & 63) }
func (s *set) remove(c byte)   { s[c>>6] &^= 1 << (c & 63) }
func (s *set) has(c byte) bool { return s[c>>6]>>(c&63)&1 != 0 }

func newBuilder(keys []string, keep func(int) bool) *builder {
	b := &builder{keys: keys}
	b.byHead(keep)
	b.sort()
	b.grow()
	b.free[0].remove(0) // the root
	b.taken[0].add(0)   // the base of nodes without children
	return b
}

// sort sorts the keys and drops all but the last of equal ones.
func (b *builder) sort() {
	items := b.items
	for i := 0; i < len(items); {
		j := i + 1
		for j < len(items) && items[j].head == items[i].head {
			j++
		}
		if j > i+1 {
			slices.SortFunc(items[i:j], func(x, y item) int {
				if x.tail != y.tail {
					return cmp.Compare(x.tail, y.tail)
				}
				return cmp.Or(strings.Compare(b.keys[x.key], b.keys[y.key]), cmp.Compare(x.key, y.key))
			})
		}
		i = j
	}
	out, nodes := 0, 0
	for i, x := range items {
		if i+1 < len(items) && x.head == items[i+1].head && b.keys[x.key] == b.keys[items[i+1].key] {
			continue
		}
		same := 0
		if out > 0 {
			y := &items[out-1]
			if same = bits.LeadingZeros64(x.head^y.head) / 8; same == 8 {
				s, t := b.keys[x.key], b.keys[y.key]
				for same < len(s) && same < len(t) && s[same] == t[same] {
					same++
				}
			}
		}
		nodes += max(0, int(x.size)-same)
		items[out] = x
		out++
	}
	b.items = items[:out]
	b.units = make([]uint64, 0, (nodes+nodes/8)/blockSize*blockSize+4*blockSize)
}

// byHead makes the items, sorted by their first eight bytes, equal ones in the
// order of the keys.
func (b *builder) byHead(keep func(int) bool) {
	type short struct {
		head uint64
		key  int32
	}
	const digit = 11
	const passes = (64 + digit - 1) / digit
	var counts [passes][1 << digit]int32
	items := make([]short, 0, len(b.keys))
	for i, s := range b.keys {
		if !keep(i) {
			continue
		}
		h := eight(s)
		items = append(items, short{h, int32(i)})
		for k := range counts {
			counts[k][h>>(digit*k)&(1<<digit-1)]++
		}
	}
	other := make([]short, len(items))
	for k := range counts {
		count, shift := &counts[k], digit*k
		if len(items) > 0 && int(count[items[0].head>>shift&(1<<digit-1)]) == len(items) {
			continue // all are equal here
		}
		at := int32(0)
		for i, n := range count {
			count[i] = at
			at += n
		}
		for _, x := range items {
			to := &count[x.head>>shift&(1<<digit-1)]
			other[*to] = x
			*to++
		}
		items, other = other, items
	}
	b.items = make([]item, len(items))
	for i, x := range items {
		s := b.keys[x.key]
		b.items[i] = item{x.head, eight(s[min(8, len(s)):]), x.key, int32(len(s))}
	}
}

// grow adds a block.
func (b *builder) grow() {
	b.open = append(b.open, openBlock{block: len(b.free)})
	if len(b.open) > maxOpen {
		b.open = slices.Delete(b.open, 0, 1)
	}
	n := len(b.units) + blockSize
	b.units = slices.Grow(b.units, blockSize)[:n]
	clear(b.units[n-blockSize:])
	const all = 1<<64 - 1
	b.free = append(b.free, set{all, all, all, all})
	b.taken = append(b.taken, set{})
}

// insert lays out the children of the node at units[node], which items[from:to],
// equal up to depth, pass through.
func (b *builder) insert(node uint32, from, to, depth int) error {
	if from < to && int(b.items[from].size) == depth {
		b.units[node] |= uint64(b.items[from].key+1) << 32
		from++
	}
	if from == to {
		return nil
	}
	first := len(b.labels)
	for i := from; i < to; i++ {
		c := b.at(&b.items[i], depth)
		if n := len(b.labels); n == first || b.labels[n-1] != c {
			b.labels, b.ends = append(b.labels, c), append(b.ends, int32(i))
		}
		b.ends[len(b.ends)-1]++
	}
	last := len(b.labels)
	base, err := b.place(b.labels[first:])
	if err != nil {
		return err
	}
	b.units[node] |= uint64(base)
	free := &b.free[base/blockSize]
	b.taken[base/blockSize].add(byte(base))
	for _, c := range b.labels[first:] {
		free.remove(byte(base) ^ c)
		b.units[base^uint32(c)] = uint64(c)<<55 + 1<<55
	}
	for k := first; k < last; k++ {
		child, end := base^uint32(b.labels[k]), int(b.ends[k])
		if x := &b.items[from]; end == from+1 && int(x.size) == depth+1 {
			b.units[child] |= uint64(x.key+1) << 32
		} else if err := b.insert(child, from, end, depth+1); err != nil {
			return err
		}
		from = end
	}
	b.labels, b.ends = b.labels[:first], b.ends[:first]
	return nil
}

// place finds a base for children with the given bytes.
func (b *builder) place(labels []byte) (uint32, error) {
	for {
		for i := 0; i < len(b.open); i++ {
			o := &b.open[i]
			if base, ok := b.fit(o.block, labels); ok {
				return uint32(o.block)*blockSize + uint32(base), nil
			}
			if o.fails++; o.fails == maxFails {
				b.open = slices.Delete(b.open, i, i+1)
				i--
			}
		}
		if len(b.units) >= 1<<30 {
			return 0, errors.New("trie: too large")
		}
		b.grow()
	}
}

// fit finds a base in a block.
func (b *builder) fit(block int, labels []byte) (base byte, ok bool) {
	free, taken := &b.free[block], &b.taken[block]
	for w, units := range free {
	next:
		for ; units != 0; units &= units - 1 {
			base := byte(w<<6+bits.TrailingZeros64(units)) ^ labels[0]
			if taken.has(base) {
				continue
			}
			for _, c := range labels[1:] {
				if !free.has(base ^ c) {
					continue next
				}
			}
			return base, true
		}
	}
	return 0, false
}
