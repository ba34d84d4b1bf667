package bytebpe

import "unicode/utf8"

// alphabet writes bytes as characters: visible ones of Latin-1 as themselves,
// the others as those from U+0100 on. Its order in CLIP's vocabulary has visible
// bytes first.
var alphabet, order = letters()

// fromAlphabet has the byte, plus one, that a character below U+0144 stands for.
var fromAlphabet = func() (from [0x144]uint16) {
	for b, s := range alphabet {
		r, _ := utf8.DecodeRuneInString(s)
		from[r] = uint16(b) + 1
	}
	return from
}()

func letters() (alphabet, order [256]string) {
	visible := func(b int) bool { return '!' <= b && b <= '~' || 0xA1 <= b && b <= 0xAC || 0xAE <= b }
	n := 0
	for b := range 256 {
		if visible(b) {
			alphabet[b] = string(rune(b))
			order[n] = alphabet[b]
			n++
		}
	}
	for b, hidden := 0, rune(0x100); b < 256; b++ {
		if !visible(b) {
			alphabet[b] = string(hidden)
			order[n] = alphabet[b]
			hidden++
			n++
		}
	}
	return alphabet, order
}

// visible reports whether all characters of a piece stand for themselves: ASCII
// ones that are seen.
func visible(piece string) bool {
	for i := range len(piece) {
		if c := piece[i]; c <= ' ' || c >= 0x7F {
			return false
		}
	}
	return true
}

// appendBytes appends the bytes that a piece stands for. A piece with characters
// that are not of the alphabet, such as some special tokens, stands for itself.
func appendBytes(dst []byte, piece string) []byte {
	start := len(dst)
	for _, r := range piece {
		if int(r) >= len(fromAlphabet) || fromAlphabet[r] == 0 {
			return append(dst[:start], piece...)
		}
		dst = append(dst, byte(fromAlphabet[r]-1))
	}
	return dst
}
