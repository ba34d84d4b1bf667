package rawjson

import "math/bits"

// block is how many bytes marks tells about at once: bit i of what it returns is
// for byte i.
const block = 64

func marksGeneric(b *[block]byte) (quote, escape, open, end uint64) {
	for i, c := range b {
		bit := uint64(1) << i
		switch class[c] {
		case cQuote:
			quote |= bit
		case cEscape:
			escape |= bit
		case cOpen:
			open |= bit
		case cClose:
			end |= bit
		}
	}
	return quote, escape, open, end
}

// within tells which bytes stand behind an odd number of quotes, themselves
// included.
func within(quote uint64) uint64 {
	quote ^= quote << 1
	quote ^= quote << 2
	quote ^= quote << 4
	quote ^= quote << 8
	quote ^= quote << 16
	return quote ^ quote<<32
}

// outermost follows brackets in their order. It returns the place of the one that
// closes the outermost, or a negative number, and how deep in brackets it ends.
func outermost(open, end uint64, depth int) (at, now int) {
	if n := bits.OnesCount64(end); n < depth {
		return -1, depth + bits.OnesCount64(open) - n
	}
	for all := open | end; all != 0; all &= all - 1 {
		if open&(all&-all) != 0 {
			depth++
		} else if depth--; depth == 0 {
			return bits.TrailingZeros64(all), 0
		}
	}
	return -1, depth
}
