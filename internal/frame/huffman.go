package frame

import (
	"encoding/binary"
	"slices"

	"github.com/klauspost/compress/fse"
)

// longest is the most bits that a code has. Zstd allows one more; with ten, five
// codes and what is left of those before them fit a word.
const longest = 10

// Counts tell how often a block's bytes occur in each of its streams.
type counts [4][256]uint32

// quarter is how many bytes the first three of four streams have.
func quarter(n int) int { return (n + 3) / 4 }

// count counts the bytes of a block: of all four streams at once, so that a byte
// that occurs often does not have to wait for itself.
func (c *counts) count(src []byte) {
	*c = counts{}
	if len(src) < fourStreams {
		for _, b := range src {
			c[0][b]++
		}
		return
	}
	q := quarter(len(src))
	s0, s1, s2, s3 := src[:q], src[q:2*q], src[2*q:3*q], src[3*q:]
	i := 0
	for ; i+8 <= len(s3); i += 8 {
		w0, w1, w2, w3 := le(s0[i:]), le(s1[i:]), le(s2[i:]), le(s3[i:])
		for range 8 {
			c[0][byte(w0)]++
			c[1][byte(w1)]++
			c[2][byte(w2)]++
			c[3][byte(w3)]++
			w0, w1, w2, w3 = w0>>8, w1>>8, w2>>8, w3>>8
		}
	}
	for k, s := range [][]byte{s0, s1, s2, s3} {
		for _, b := range s[i:] {
			c[k][b]++
		}
	}
}

func le(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// A code is a prefix code of bytes. In its table the bits of a byte's code stand
// at the top, and how many they are in the lowest six bits, where all are zero for
// bytes that have none.
type code struct {
	table   [256]uint64
	tree    []byte // how it is told
	fse     fse.Scratch
	weights [256]byte
}

// make makes the code of bytes that occur so often. It reports false if none is
// worth it, or there is only one byte.
func (c *code) make(count *[256]uint32) bool {
	var lengths [256]byte
	if !codeLengths(count, &lengths) {
		return false
	}
	// The longest codes come first, those of one length in the order of bytes.
	var n [longest + 2]uint64
	for _, l := range lengths {
		n[l]++
	}
	var next [longest + 2]uint64
	most := byte(slices.Max(lengths[:]))
	for l, at := most, uint64(0); l > 0; l-- {
		next[l] = at
		at = (at + n[l]) >> 1
	}
	for b, l := range lengths {
		c.table[b] = 0
		if l > 0 {
			c.table[b] = next[l]<<(64-l) | uint64(l)
			next[l]++
		}
	}
	return c.describe(&lengths, most)
}

// describe makes the tree: weights of all bytes up to the last that has a code,
// whose own follows from those before it.
func (c *code) describe(lengths *[256]byte, most byte) bool {
	last := 255
	for lengths[last] == 0 {
		last--
	}
	for b, l := range lengths[:last+1] {
		c.weights[b] = 0
		if l > 0 {
			c.weights[b] = most + 1 - l
		}
	}
	c.fse.TableLog, c.fse.MaxSymbolValue = 6, longest+1
	if packed, err := fse.Compress(c.weights[:last], &c.fse); err == nil && len(packed) < min(128, (last+1)/2) {
		c.tree = append(append(c.tree[:0], byte(len(packed))), packed...)
		return true
	}
	if last > 128 {
		return false
	}
	c.weights[last] = 0
	c.tree = append(c.tree[:0], byte(127+last))
	for b := 0; b < last; b += 2 {
		c.tree = append(c.tree, c.weights[b]<<4|c.weights[b+1])
	}
	return true
}

// size is how many bytes a stream takes whose bytes occur so often.
func (c *code) size(count *[256]uint32) int {
	n := uint64(0)
	for b, v := range count {
		n += uint64(v) * (c.table[b] & 63)
	}
	return int(n/8) + 1 // a bit marks the end
}

// streams appends streams of the given sizes: one, or four.
func (c *code) streams(dst, src []byte, sizes []int) []byte {
	at := len(dst)
	for _, n := range sizes {
		at += n
	}
	dst = slices.Grow(dst, at-len(dst))[:at]
	part := func(k int) []byte { // from the last to the first
		at -= sizes[k]
		return dst[at : at+sizes[k]]
	}
	if len(sizes) == 1 {
		stream{}.rest(part(0), src, &c.table)
		return dst
	}
	q := quarter(len(src))
	s3, s2, s1, s0 := part(3), part(2), part(1), part(0)
	c.two(s0, s1, src[:q], src[q:2*q])
	c.two(s2, s3, src[2*q:3*q], src[3*q:])
	return dst
}

// two writes two streams side by side, the first of at least as many bytes.
func (c *code) two(da, db, sa, sb []byte) {
	var a, b stream
	t := &c.table
	for len(sa) > len(sb) { // at most three
		a.put(t[sa[len(sa)-1]])
		sa = sa[:len(sa)-1]
	}
	a.spill(da)
	i := fives(t, &a, &b, da, db, sa, sb)
	a.rest(da, sa[:i], t)
	b.rest(db, sb[:i], t)
}

func fivesGeneric(t *[256]uint64, to, beside *stream, da, db, sa, sb []byte) int {
	a, b := *to, *beside
	i := len(sa)
	for ; i >= 5 && a.at+8 <= len(da) && b.at+8 <= len(db); i -= 5 {
		x, y := sa[i-5:i:i], sb[i-5:i:i]
		for k := 4; k >= 0; k-- {
			a.put(t[x[k]])
			b.put(t[y[k]])
		}
		a.flush(da)
		b.flush(db)
	}
	*to, *beside = a, b
	return i
}

// A stream is written from its last byte to its first. Its bits that are not
// written yet stand at the top of acc, n of them.
type stream struct {
	acc uint64
	n   uint64
	at  int
}

// put adds the code of a byte. At most five may be put between flushes: what is
// below the code in its entry then never gets among the bits.
func (s *stream) put(e uint64) {
	s.acc = s.acc>>(e&63) | e
	s.n += e & 63
}

// flush writes whole bytes, and up to seven behind them that count for nothing.
func (s *stream) flush(dst []byte) {
	binary.LittleEndian.PutUint64(dst[s.at:], s.acc>>(-s.n&63))
	s.at += int(s.n >> 3)
	s.n &= 7
}

// spill writes whole bytes one by one.
func (s *stream) spill(dst []byte) {
	for ; s.n >= 8; s.n -= 8 {
		dst[s.at] = byte(s.acc >> (64 - s.n))
		s.at++
	}
}

// rest writes the rest of a stream and its end, which is dst's.
func (s stream) rest(dst, src []byte, table *[256]uint64) {
	for i := len(src); i >= 0; i-- {
		e := uint64(1<<63 | 1) // the mark of the end
		if i > 0 {
			e = table[src[i-1]]
		}
		s.put(e)
		s.spill(dst)
	}
	if s.n > 0 {
		dst[s.at] = byte(s.acc >> (64 - s.n))
	}
}

// codeLengths tells how many bits the codes of bytes have that occur so often, 0
// of those that do not. It reports false if fewer than two do.
func codeLengths(count *[256]uint32, lengths *[256]byte) bool {
	var heap [256]uint64 // how often, and which byte
	leaves := heap[:0]
	for b, v := range count {
		lengths[b] = 0
		if v > 0 {
			leaves = append(leaves, uint64(v)<<8|uint64(b))
		}
	}
	if len(leaves) < 2 {
		return false
	}
	slices.Sort(leaves)
	// Huffman's tree: the nodes that are made come in the order of their counts, so
	// that the two least are always at the front of one of the two lists.
	var (
		weight [255]uint64 // of inner nodes
		above  [2 * 256]int16
		leaf   int
		inner  int
	)
	n := len(leaves)
	least := func(made int) (node int, w uint64) {
		if leaf < n && (inner == made || leaves[leaf]>>8 <= weight[inner]) {
			leaf++
			return leaf - 1, leaves[leaf-1] >> 8
		}
		inner++
		return n + inner - 1, weight[inner-1]
	}
	for made := range n - 1 {
		x, v := least(made)
		y, w := least(made)
		weight[made] = v + w
		above[x], above[y] = int16(n+made), int16(n+made)
	}
	var depth [2 * 256]byte
	var of [256]int // how many leaves have a depth
	for node := 2*n - 3; node >= 0; node-- {
		depth[node] = depth[above[node]] + 1
		if node < n {
			of[depth[node]]++
		}
	}
	limit(&of)
	// The least get the longest.
	l := longest
	for _, v := range leaves {
		for of[l] == 0 {
			l--
		}
		of[l]--
		lengths[byte(v)] = byte(l)
	}
	return true
}

// limit shortens codes to the longest that may be. Of two that are too long and
// differ in their last bit, one becomes a bit shorter than that; for the other, one
// of a shorter length makes room.
func limit(of *[256]int) {
	for l := len(of) - 1; l > longest; l-- {
		for of[l] > 0 {
			k := l - 2
			for of[k] == 0 {
				k--
			}
			of[l] -= 2
			of[l-1]++
			of[k+1] += 2
			of[k]--
		}
	}
}
