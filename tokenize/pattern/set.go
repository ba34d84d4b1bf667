package pattern

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Props are the properties of a code point.
type Props uint32

// Properties that a code point has or has not.
const (
	word     Props = 1 << (9 + iota) // \w of the pattern engine
	Word                             // \w of the other engine, which the library uses at added tokens
	Space                            // white space
	Numeric                          // category N, as the library knows it
	Accent                           // category M, as the library knows it
	category Props = 1<<5 - 1
	script   Props = 1<<9 - 1 - category
)

const blockBits = 7

// A table gives the properties of code points.
type table struct {
	index  [0x110000 >> blockBits]uint16
	blocks [][1 << blockBits]Props
}

var props = sync.OnceValue(func() *table {
	t := &table{}
	same := map[[1 << blockBits]Props]uint16{}
	k := 0
	for b := range t.index {
		var block [1 << blockBits]Props
		for i := range block {
			for k+1 < len(ranges) && ranges[k+1]>>32 <= uint64(b<<blockBits+i) {
				k++
			}
			block[i] = Props(ranges[k])
		}
		n, ok := same[block]
		if !ok {
			n = uint16(len(t.blocks))
			t.blocks = append(t.blocks, block)
			same[block] = n
		}
		t.index[b] = n
	}
	return t
})

// Of returns the properties of a code point.
func Of(r rune) Props {
	t := props()
	return t.blocks[t.index[r>>blockBits]][r&(1<<blockBits-1)]
}

// A span is a range of code points, both ends included.
type span struct{ from, to rune }

// spans are ranges in ascending order that neither meet nor touch.
type spans []span

// tidy sorts ranges and joins those that meet.
func tidy(s spans) spans {
	slices.SortFunc(s, func(a, b span) int { return int(a.from - b.from) })
	out := s[:0]
	for _, x := range s {
		if n := len(out); n > 0 && x.from <= out[n-1].to+1 {
			out[n-1].to = max(out[n-1].to, x.to)
		} else {
			out = append(out, x)
		}
	}
	return out
}

func (s spans) not() spans {
	var out spans
	next := rune(0)
	for _, x := range s {
		if x.from > next {
			out = append(out, span{next, x.from - 1})
		}
		next = x.to + 1
	}
	if next <= utf8.MaxRune {
		out = append(out, span{next, utf8.MaxRune})
	}
	return out
}

func (s spans) and(o spans) spans { return tidy(append(s.not(), o.not()...)).not() }

// where returns the code points whose properties f accepts.
func where(f func(Props) bool) spans {
	var out spans
	for i, x := range ranges {
		to := rune(utf8.MaxRune)
		if i+1 < len(ranges) {
			to = rune(ranges[i+1]>>32) - 1
		}
		if f(Props(x)) {
			out = append(out, span{rune(x >> 32), to})
		}
	}
	return tidy(out)
}

// named returns the code points of a property's name: a category, its first
// letter, or a script.
func named(name string) (spans, bool) {
	plain := strings.NewReplacer(" ", "", "_", "", "-", "").Replace(strings.ToLower(name))
	for i, k := range categories {
		if strings.EqualFold(k, plain) {
			return where(func(p Props) bool { return int(p&category) == i }), true
		}
	}
	if len(plain) == 1 && strings.Contains("lmnpszc", plain) {
		return where(func(p Props) bool { return strings.ToLower(categories[p&category][:1]) == plain }), true
	}
	for i, k := range scripts[1:] {
		if strings.EqualFold(k, plain) {
			return where(func(p Props) bool { return int(p&script>>5) == i+1 }), true
		}
	}
	switch plain {
	case "letter", "mark", "number", "punctuation", "symbol", "separator":
		return where(func(p Props) bool {
			return strings.ToLower(categories[p&category][:1]) == map[string]string{"separator": "z"}[plain] || plain != "separator" && strings.ToLower(categories[p&category][:1]) == plain[:1]
		}), true
	case "any":
		return spans{{0, utf8.MaxRune}}, true
	}
	return nil, false
}

var (
	whites = spans{{9, 13}, {' ', ' '}, {0x85, 0x85}, {0xA0, 0xA0}, {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}}
	lines  = spans{{'\n', '\n'}}
)

func digits() spans {
	return where(func(p Props) bool { return categories[p&category] == "Nd" })
}

func words() spans { return where(func(p Props) bool { return p&word != 0 }) }

const setBits = 8

// A set is a set of code points that is quickly asked.
type set struct {
	ascii  [2]uint64
	index  []uint16
	blocks [][1 << setBits / 64]uint64
}

// none and full are the first blocks of each set.
const none, full = 0, 1

func newSet(s spans) *set {
	x := &set{index: make([]uint16, 0x110000>>setBits), blocks: make([][1 << setBits / 64]uint64, 2, 16)}
	for i := range x.blocks[full] {
		x.blocks[full][i] = 1<<64 - 1
	}
	for _, y := range s {
		for b := y.from >> setBits; b <= y.to>>setBits; b++ {
			from, to := max(y.from, b<<setBits), min(y.to, b<<setBits|(1<<setBits-1))
			if to-from == 1<<setBits-1 {
				x.index[b] = full
				continue
			}
			if x.index[b] == none {
				x.index[b] = uint16(len(x.blocks))
				x.blocks = append(x.blocks, [1 << setBits / 64]uint64{})
			}
			block := &x.blocks[x.index[b]]
			for r := from; r <= to; r++ {
				block[r>>6&3] |= 1 << (r & 63)
			}
		}
	}
	first := x.blocks[x.index[0]]
	x.ascii = [2]uint64{first[0], first[1]}
	return x
}

func (x *set) has(r rune) bool {
	return x.blocks[x.index[r>>setBits]][r>>6&3]>>(r&63)&1 != 0
}

// step returns the length of the character at text[i] if it is in the set, 0 if
// it is not or the text ends. A byte that is not UTF-8 is U+FFFD.
func (x *set) step(text string, i int) int {
	if i >= len(text) {
		return 0
	}
	if c := text[i]; c < utf8.RuneSelf {
		return int(x.ascii[c>>6] >> (c & 63) & 1)
	}
	r, size := utf8.DecodeRuneInString(text[i:])
	if x.has(r) {
		return size
	}
	return 0
}

// size returns how many code points ranges have.
func (s spans) size() int {
	n := 0
	for _, x := range s {
		n += int(x.to-x.from) + 1
	}
	return n
}

// only returns the ASCII letters of ranges and whether they have other letters.
func (s spans) letters() (ascii []rune, other bool) {
	for _, x := range s {
		for r := x.from; r <= min(x.to, 0x7F); r++ {
			if 'a' <= r|0x20 && r|0x20 <= 'z' {
				ascii = append(ascii, r)
			}
		}
		for r := max(x.from, 0x80); r <= x.to && !other; r++ {
			other = strings.HasPrefix(categories[Of(r)&category], "L") || Of(r)&category != 0 && strings.HasPrefix(categories[Of(r)&category], "M")
		}
	}
	return ascii, other
}
