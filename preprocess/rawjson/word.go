package rawjson

import (
	"encoding/binary"
	"math/bits"

	"espalier/internal/utf"
)

// The functions of this file look at eight bytes at once. Where a byte is to be
// found, its highest bit is set in what they return.

const (
	ones  = 0x0101010101010101
	lows  = 0x7f7f7f7f7f7f7f7f
	highs = utf.Highs
)

func load(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// equal tells the bytes of w that are c.
func equal(w uint64, c byte) uint64 {
	x := w ^ uint64(c)*ones
	return ^((x&lows + lows) | x | lows)
}

// ends tells the bytes of w that may not stand in a text as they are: the first
// of those that it tells is one. Behind it there may be others that are none.
func ends(w uint64) uint64 {
	quote, escape := w^'"'*ones, w^'\\'*ones
	return ((quote-ones)&^quote | (escape-ones)&^escape | (w-' '*ones)&^w) & highs
}

// plain returns the place of the first byte from b[i] on that may not stand in a
// text as it is: a quote, a backslash, a control character, or one that is not
// UTF-8. It is len(b) if there is none.
func plain(b []byte, i int) int {
	if i+8 <= len(b) { // those that end at once are left to the words below
		if w := load(b[i:]); w&highs != 0 || ends(w) == 0 {
			i += utf.Plain(b[i:])
		}
	}
	for i < len(b) {
		if i+8 <= len(b) {
			w := load(b[i:])
			high := w & highs
			if end := ends(w); end != 0 && (high == 0 || end&-end < high&-high) {
				return i + bits.TrailingZeros64(end)/8
			}
			if high == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(high) / 8
		} else if c := class[b[i]]; c == cQuote || c == cEscape || c == cControl {
			return i
		} else if c != cHigh {
			i++
			continue
		}
		end := utf.Runes(b, i)
		if end == i {
			return i
		}
		i = end
	}
	return i
}

// closing returns the place of the quote that ends the text whose inside b[i] is
// in; what follows a backslash is passed over. It is negative if there is none.
func closing(b []byte, i int) int {
	for i < len(b) {
		if i+8 <= len(b) {
			w := load(b[i:])
			found := equal(w, '"') | equal(w, '\\')
			if found == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(found) / 8
		}
		switch b[i] {
		case '"':
			return i
		case '\\':
			i++
		}
		i++
	}
	return -1
}
