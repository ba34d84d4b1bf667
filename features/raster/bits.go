package raster

import "encoding/binary"

// bitReader reads the entropy-coded data of a scan. The next bit is the top
// bit of acc. Behind a marker, or the end of the file, it supplies zeros.
type bitReader struct {
	data    []byte
	pos     int
	acc     uint64
	n       int  // bits of acc that count
	phantom int  // zeros supplied behind the end of the data, in all
	ended   bool // pos is at a marker or at the end of the file
}

// fill makes n at least 56.
func (b *bitReader) fill() {
	if b.pos+8 <= len(b.data) {
		w := binary.BigEndian.Uint64(b.data[b.pos:])
		// Without a byte ff there is nothing to unstuff.
		if t := ^w; (t-0x0101010101010101)&^t&0x8080808080808080 == 0 {
			b.acc |= w >> uint(b.n&63)
			b.pos += (63 - b.n) >> 3
			b.n |= 56
			return
		}
	}
	b.fillSlow()
}

func (b *bitReader) fillSlow() {
	b.acc &= ^uint64(0) << uint(64-b.n) // n is below 56 here, so the shift is above 8; n = 0 clears all
	for b.n <= 56 {
		var v byte
		switch {
		case b.ended:
			b.phantom += 8
		case b.pos >= len(b.data):
			b.ended = true
			b.phantom += 8
		default:
			v = b.data[b.pos]
			if v == 0xff {
				next := b.pos + 1
				for next < len(b.data) && b.data[next] == 0xff { // fill bytes before a marker
					next++
				}
				if next < len(b.data) && b.data[next] == 0 {
					b.pos = next + 1
				} else {
					b.ended = true
					b.phantom += 8
					v = 0
				}
			} else {
				b.pos++
			}
		}
		b.acc |= uint64(v) << uint(56-b.n)
		b.n += 8
	}
}

// skip drops k bits that are known to be there.
func (b *bitReader) skip(k int) {
	b.acc <<= uint(k & 63)
	b.n -= k
}

// bits returns the next k bits, k at most 16.
func (b *bitReader) bits(k int) int32 {
	if b.n < k {
		b.fill()
	}
	v := int32(b.acc >> 1 >> uint(63-k))
	b.skip(k)
	return v
}

// bit returns the next bit.
func (b *bitReader) bit() bool {
	if b.n < 1 {
		b.fill()
	}
	v := b.acc>>63 != 0
	b.skip(1)
	return v
}

// starved reports whether zeros behind the end of the data have been consumed.
func (b *bitReader) starved() bool { return b.phantom > b.n }

// startBits begins to read bits at pos.
func (b *bitReader) startBits() {
	b.acc, b.n, b.phantom, b.ended = 0, 0, 0, false
}

// leftover counts bytes of entropy-coded data that were not consumed, padding
// bytes 00 and ff aside, and moves pos to the marker that ends them.
func (b *bitReader) leftover() int {
	n := 0
	for real := b.n - b.phantom; real >= 8; real -= 8 { // whole bytes in acc
		k := real & 7
		if v := byte(b.acc << uint(k) >> 56); v != 0 && v != 0xff {
			n++
		}
		b.acc <<= 8
	}
	for b.pos < len(b.data) {
		v := b.data[b.pos]
		if v == 0xff {
			next := b.pos + 1
			for next < len(b.data) && b.data[next] == 0xff {
				next++
			}
			if next == len(b.data) {
				b.pos = next
				break
			}
			if b.data[next] != 0 {
				break
			}
			b.pos = next + 1
			continue
		}
		if v != 0 {
			n++
		}
		b.pos++
	}
	return n
}

const lookBits = 10

// huffTable decodes one Huffman code.
type huffTable struct {
	// fast, by the next lookBits bits: a coefficient whose code and magnitude
	// both lie within those bits, value<<16 | run<<8 | bits; else a symbol and
	// the bits of its code, symbol<<8 | bits; 0 if the code is longer.
	fast    [1 << lookBits]int32
	look    [1 << lookBits]uint16 // by the same bits: symbol<<8 | bits; 0 if the code is longer
	maxCode [18]int32             // largest code of each length, left-aligned to 16 bits, plus one
	offset  [17]int32             // index of a length's first symbol less its first code
	symbols [256]byte
	bad     bool
}

// build makes the table of counts by length and symbols in order of code, or
// sets bad if the lengths are no prefix code. The code of all ones is reserved;
// DC symbols are lengths of differences, at most 15.
func (t *huffTable) build(counts, symbols []byte, dc bool) {
	t.bad = false
	clear(t.fast[:])
	clear(t.look[:])
	copy(t.symbols[:], symbols)
	code, k := int32(0), int32(0)
	for l := 1; l <= 16; l++ {
		t.offset[l] = k - code
		c := int32(counts[l-1])
		if c > 0 && code+c >= 1<<l {
			t.bad = true
			return
		}
		for range c {
			s := symbols[k]
			if dc && s > 15 {
				t.bad = true
				return
			}
			if l <= lookBits {
				t.enter(code, l, s)
			}
			code++
			k++
		}
		t.maxCode[l] = code << (16 - l)
		code <<= 1
	}
	t.maxCode[17] = 1 << 30
}

// enter fills the entries of a code of l bits.
func (t *huffTable) enter(code int32, l int, s byte) {
	rest := lookBits - l
	run, size := int32(s>>4), int(s&15)
	fast, look := t.fast[code<<rest:][:1<<rest], t.look[code<<rest:][:1<<rest]
	for i := range fast {
		fast[i], look[i] = int32(s)<<8|int32(l), uint16(s)<<8|uint16(l)
		if size > 0 && size <= rest {
			fast[i] = extend(int32(i)>>(rest-size), size)<<16 | run<<8 | int32(l+size)
		}
	}
}

// extend turns size magnitude bits into a signed value (T.81, figure F.12).
func extend(m int32, size int) int32 {
	if size > 0 && m < 1<<(size-1) {
		return m - 1<<size + 1
	}
	return m
}

// symbol decodes one symbol, -1 for a code that the table does not have. At
// least 16 bits must be there.
func (b *bitReader) symbol(t *huffTable) int {
	if e := t.look[b.acc>>(64-lookBits)]; e != 0 {
		b.skip(int(e & 31))
		return int(e >> 8)
	}
	c := int32(b.acc >> 48)
	l := lookBits + 1
	for c >= t.maxCode[l] {
		l++
	}
	if l > 16 {
		return -1
	}
	b.skip(l)
	return int(t.symbols[(c>>(16-l)+t.offset[l])&255])
}
