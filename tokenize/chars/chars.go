// Package chars holds what the public tokenizers think of each code point:
// classes, cases, decompositions and combining marks.
//
// The tables are pinned, as ids must not change with the Go release: they are
// Unicode 14 as Python 3.11 has it, and what the Hugging Face tokenizers library
// 0.22 (called fast here) was measured to do, whose tables are older in part.
//
// A [Table] is immutable and safe for concurrent use.
package chars

import (
	"sort"
	"sync"
)

// Props are the properties of a code point.
type Props uint32

// A Class is a code point's class in the pattern of byte-level BPE.
type Class uint8

// Classes of byte-level BPE.
const (
	Other Class = iota
	Letter
	Number
	White
)

// A Bert is what BERT's cleaning and splitting make of a code point.
type Bert uint8

// Classes of BERT.
const (
	Plain     Bert = iota
	Drop           // removed
	Blank          // white space
	Ideograph      // surrounded by blanks
	Punct          // a word of its own
)

// Properties that a code point has or has not.
const (
	FastMark       Props = 1 << (10 + iota) // category Mn as the fast classes have it
	Mark                                    // category Mn
	Space                                   // str.isspace
	Cased                                   // cased, but for those that are CaseIgnorable
	CaseIgnorable                           // skipped where a final sigma is looked for
	HasLower                                // str.lower changes it
	FastHasLower                            // the fast classes change it
	Decomposes                              // NFD changes it
	FastDecomposes                          // NFD of the fast classes changes it
	Combines                                // its combining class is not 0
	Joins                                   // belongs to the character before, with U+0080 to U+FFFF only
	Word                                    // \w of Python's re
	Digit                                   // \d of Python's re
	fastReorders                            // the fast classes know its combining class
	Composes                                // may change in NFC, alone or behind another
)

// Fast returns the class that the fast tokenizers use.
func (p Props) Fast() Class { return Class(p & 3) }

// Python returns the class that Python's regex module gives.
func (p Props) Python() Class { return Class(p >> 2 & 3) }

// FastBert returns the class in the fast BERT tokenizers.
func (p Props) FastBert() Bert { return Bert(p >> 4 & 7) }

// SlowBert returns the class in the BERT tokenizers written in Python.
func (p Props) SlowBert() Bert { return Bert(p >> 7 & 7) }

const blockBits = 7

// A Table gives the properties of code points.
type Table struct {
	index  [(0x110000 >> blockBits) + 1]uint16
	blocks [][1 << blockBits]Props
}

var table = sync.OnceValue(build)

// Load returns the table, which is made at the first call.
func Load() *Table { return table() }

func build() *Table {
	t := &Table{blocks: make([][1 << blockBits]Props, 0, 1024)}
	const size = 1 << blockBits
	uniform := map[Props]uint16{}
	k := 0
	for b := range t.index {
		first := uint64(b) << blockBits
		for k+1 < len(ranges) && ranges[k+1]>>32 <= first {
			k++
		}
		if k+1 == len(ranges) || ranges[k+1]>>32 >= first+size { // one range covers the block
			p := Props(ranges[k])
			n, ok := uniform[p]
			if !ok {
				n = t.add()
				for i := range t.blocks[n] {
					t.blocks[n][i] = p
				}
				uniform[p] = n
			}
			t.index[b] = n
			continue
		}
		n := t.add()
		j := k
		for i := range t.blocks[n] {
			for j+1 < len(ranges) && ranges[j+1]>>32 <= first+uint64(i) {
				j++
			}
			t.blocks[n][i] = Props(ranges[j])
		}
		t.index[b] = n
	}
	return t
}

func (t *Table) add() uint16 {
	t.blocks = append(t.blocks, [1 << blockBits]Props{})
	return uint16(len(t.blocks) - 1)
}

// Of returns the properties of a code point. Those of values that are none are
// U+10FFFF's.
func (t *Table) Of(r rune) Props {
	if uint32(r) > 0x10FFFF {
		r = 0x10FFFF
	}
	return t.blocks[t.index[r>>blockBits]][r&(1<<blockBits-1)]
}

// Lower returns the lower case of a code point as the fast classes have it.
// U+0130, whose lower case is two characters, gives the first, i.
func Lower(r rune) rune {
	if r == 0x130 {
		return 'i'
	}
	if r < 0x80 {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	k := sort.Search(len(lowers), func(k int) bool { return lowers[k][0] >= r })
	if k < len(lowers) && lowers[k][0] == r {
		return lowers[k][1]
	}
	return r
}
