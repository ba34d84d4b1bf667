// Package utf tells whether bytes are UTF-8, 32 of them at a time where the
// processor can, else eight. It says what unicode/utf8 says, and is faster where
// texts are long or Chinese.
package utf

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
	"unsafe"
)

// Highs has the bit of each byte of a word that ASCII does not use.
const Highs = 0x8080808080808080

// Valid reports whether b is UTF-8.
func Valid(b []byte) bool {
	i := 0
	switch n := len(b); {
	case n >= 32:
		i = begun(b, valid(b))
	case n >= 8: // words that cover it, the last of them from its end
		high := le(b) | le(b[n-8:])
		if n > 16 {
			high |= le(b[8:]) | le(b[n-16:])
		}
		if high&Highs == 0 {
			return true
		}
	}
	if n := len(b) - i; n >= 8 && n < 32 {
		if ok, known := short(b[i:]); known {
			return ok
		}
	}
	for i < len(b) {
		for ; i+32 <= len(b); i += 32 {
			c := b[i : i+32]
			if (le(c)|le(c[8:])|le(c[16:])|le(c[24:]))&Highs != 0 {
				break
			}
		}
		switch {
		case i == len(b):
			return true
		case i+8 <= len(b):
			high := le(b[i:]) & Highs
			if high == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(high) / 8
		case b[i] < utf8.RuneSelf:
			i++
			continue
		}
		end := Runes(b, i)
		if end == i {
			return false
		}
		i = end
	}
	return true
}

// Plain returns a place up to which b is UTF-8 and has no quotes, backslashes or
// control characters, at the start of a rune. It need not be the last one.
func Plain(b []byte) int { return begun(b, plain(b)) }

// begun returns where the rune begins that ends behind b[:n], which is UTF-8 but
// for that; n if there is none.
func begun(b []byte, n int) int {
	for k := 1; k <= 3 && k <= n; k++ {
		switch c := b[n-k]; {
		case c < 0x80:
			return n
		case c >= 0xc0:
			if c >= 0xf0 && k < 4 || c >= 0xe0 && k < 3 || k < 2 {
				return n - k
			}
			return n
		}
	}
	return n
}

// ValidString reports whether s is UTF-8.
func ValidString(s string) bool { return Valid(unsafe.Slice(unsafe.StringData(s), len(s))) } // nothing writes to it

func le(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// Runes passes over the runes of several bytes that stand at b[i:]. It returns
// where one byte is a rune, or none begins, or b ends.
func Runes(b []byte, i int) int {
	const (
		// Bits of two runes of three bytes that are the same in all of them.
		mask, three = 0xc0c0f0c0c0f0, 0x8080e08080e0
		// Bits that tell E0 with a second byte below A0, which is overlong, and
		// ED with one from A0 on, a surrogate.
		tell, overlong, surrogate = 0x200f, 0, 0x200d
	)
	for i < len(b) && b[i] >= utf8.RuneSelf {
		if i+8 <= len(b) {
			w := le(b[i:])
			if first := w & tell; w&0xc0c0f0 == 0x8080e0 && first != overlong && first != surrogate {
				i += 3
				if second := w >> 24 & tell; w&mask == three && second != overlong && second != surrogate {
					i += 3
				}
				continue
			}
		}
		_, n := utf8.DecodeRune(b[i:])
		if n == 1 {
			return i
		}
		i += n
	}
	return i
}
