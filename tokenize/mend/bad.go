package mend

import (
	"sort"

	"espalier/tokenize/chars"
)

// Classes of characters that mojibake is made of, in the order of the table.
const (
	c1 uint32 = 1 << iota
	bad
	law
	currency
	opening
	closing
	numeric
	kaomoji
	upper // accented letters
	lower
	upperCommon
	lowerCommon
	box
	common
	lead2 // may be the first of two, three or four bytes of UTF-8
	lead3
	lead4
	continuation
	continuationStrict
)

// low has the classes of characters below U+0500.
var low = func() (t [0x500]uint32) {
	for _, c := range classes {
		if c[0] < uint32(len(t)) {
			t[c[0]] = c[1]
		}
	}
	return t
}()

// class returns the classes of a character.
func class(r rune) uint32 {
	switch {
	case r < 0:
		return 0
	case int(r) < len(low):
		return low[r]
	case r < 0x2000 || 0x2600 < r && r < 0xF000 || r > 0xFFFF:
		return 0
	}
	k := sort.Search(len(classes), func(k int) bool { return classes[k][0] >= uint32(r) })
	if k < len(classes) && classes[k][0] == uint32(r) {
		return classes[k][1]
	}
	return 0
}

// in reports whether r is one of a few characters.
func in(r rune, set string) bool {
	for _, c := range set {
		if c == r {
			return true
		}
	}
	return false
}

const (
	accented = lower | upper
	anyOf    = accented | box | opening | closing | currency | numeric | law
	twoBytes = "\u20ac\u0153\u0160\u0161\u00a2\u00a3\u0178\u017e\u00a0\u00ad\u00ae\u00a9\u00b0\u00b7\u00bb\u2013\u2014\u00b4"
	arabic   = "\u0178\u0160\u00ae\u00b0\u00b5\u00bb"
	macRoot  = "\u00b1\u2202\u2020\u2260\u00ae\u2122\u00b4\u2264\u2265\u00a5\u00b5\u00f8"
	macA     = "\u00ec\u00ee\u00ef\u00f2\u00f4\u00f6\u00fa\u00f9\u00fb\u2020\u00b0\u00a2\u03c0"
	south    = "\u00b2\u00b5\u00b9\u00bc\u00bd\u00be"
)

// isBad reports whether text holds a sequence of characters that hardly anybody
// writes on purpose (ftfy's badness heuristic).
func (m *Mender) isBad(rs []rune) bool {
	for i, r := range rs {
		if r < 0x80 {
			continue
		}
		if k := class(r); k != 0 && m.badAt(rs, i, k) {
			return true
		}
	}
	return false
}

// badAt reports whether a bad sequence has rs[i], of classes k, as its first
// character beyond ASCII that has a class.
func (m *Mender) badAt(rs []rune, i int, k uint32) bool {
	if k&c1 != 0 {
		return true
	}
	at := func(n int) rune {
		if 0 <= i+n && i+n < len(rs) {
			return rs[i+n]
		}
		return -1
	}
	r, before, next, third := rs[i], at(-1), at(1), at(2)
	kn, kt := class(next), class(third)
	space := func(r rune) bool { return r >= 0 && m.table.Of(r)&chars.Space != 0 }
	small := func(r rune) bool { return 'a' <= r && r <= 'z' }
	switch {
	case k&(anyOf|bad) != 0 && kn&bad != 0,
		k&bad != 0 && kn&anyOf != 0,
		k&(upperCommon|lowerCommon) != 0 && kn&bad != 0 && isLetter(before),
		k&(lower|lowerCommon|box|closing|currency|numeric) != 0 && kn&upper != 0,
		k&(box|closing|currency|numeric) != 0 && kn&lower != 0,
		k&(lower|box|closing) != 0 && kn&currency != 0,
		k&upper != 0 && kn&currency != 0 && space(before),
		k&(upper|box) != 0 && kn&(numeric|law) != 0,
		k&(accented|box|currency|closing) != 0 && kn&opening != 0 && kt&numeric != 0,
		k&(accented|currency|numeric|box|law) != 0 && kn&closing != 0 && kt&opening != 0,
		k&(currency|numeric|box) != 0 && kn&opening != 0,
		k&upper != 0 && kn&(opening|currency) != 0 && small(before),
		k&box != 0 && kn&kaomoji != 0,
		k&(accented|currency|numeric|opening|closing|law) != 0 && kn&box != 0,
		k&box != 0 && kn&closing != 0,
		k&accented != 0 && kn&(opening|closing) != 0 && third >= 0 && m.table.Of(third)&chars.Word != 0,
		(r == 0x152 || r == 0x153) && next >= 0 && !isLetter(next),
		k&upper != 0 && next == 0xB0:
		return true
	}
	return m.badPair(rs, i, before, next, third, kn)
}

// badPair has the sequences of particular characters.
func (m *Mender) badPair(rs []rune, i int, before, next, third rune, kn uint32) bool {
	r := rs[i]
	space := func(r rune) bool { return r >= 0 && m.table.Of(r)&chars.Space != 0 }
	small := func(r rune) bool { return 'a' <= r && r <= 'z' }
	fourth := func() rune {
		if i+3 < len(rs) {
			return rs[i+3]
		}
		return -1
	}
	switch r {
	case 0xC2, 0xC3, 0xCE, 0xD0:
		if kn&(opening|closing) != 0 || in(next, twoBytes) {
			return true
		}
		if r == 0xC3 && (next == 0xA0 || next == 0xA1) {
			return true
		}
		if (r == 0xC2 || r == 0xC3) && next == ' ' {
			if i == 0 || small(before) || space(before) && i >= 2 && small(rs[i-2]) {
				return true
			}
		}
		if r == 0xC2 && i > 0 && (small(before) || in(before, ".,?!") || class(before)&closing != 0) {
			return next == ' ' || kn&(opening|closing) != 0
		}
	case 0xD7:
		return next == 0xB2 || next == 0xB3
	case 0xD8, 0xD9:
		mid := func(r rune) bool { return class(r)&(common|currency|bad|numeric|opening) != 0 || in(r, arabic) }
		return mid(next) && (third == 0xD8 || third == 0xD9) && mid(fourth())
	case 0xE0:
		return in(next, south)
	case 0x221A:
		return in(next, macRoot)
	case 0x2248:
		return next == 0xB0 || next == 0xA2
	case 0x201A:
		return next == 0xC4 && in(third, macA) || (next == 0xE2 || next == 0xF3) && in(third, "\u00e0\u00e4\u00b0\u00ea")
	case 0x432:
		return next == 0x402
	case 0x412, 0x413, 0x420, 0x421:
		if (kn&(c1|bad|opening|closing|currency) != 0 || next == 0xB0 || next == 0xB5) && in(third, "\u0412\u0413\u0420\u0421") {
			return true
		}
		if r == 0x413 && next == 0x45E && third == 0x412 && fourth() == 0x402 && i+6 < len(rs) && rs[i+4] == 0x412 {
			return rs[i+5] != '\n' && (isLetter(rs[i+6]) || rs[i+6] == ' ')
		}
	case 0x3B2:
		return next == 0x20AC && in(third, "\u2122\u00a0\u0386\u00ad\u00ae\u00b0")
	case 0x392, 0x393, 0x39E, 0x39F:
		return (kn&(c1|bad|opening|closing|currency) != 0 || next == 0xB0) && in(third, "\u0392\u0393\u039e\u039f")
	case 0x101:
		return next == 0x20AC
	}
	return false
}
