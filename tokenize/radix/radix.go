// Package radix writes word indices as digits, so that a model needs an
// embedding of some hundred rows instead of one a word (ACORT, section 3.1;
// spec/acort.md 2).
//
// A [Code] maps indices 0 to N-1, of which the last stands for all unknown
// words, to d digits of base v, the most significant first. Token ids are PAD 0,
// a digit of value q as q+1, BOS v+1 and EOS v+2. All functions are pure.
package radix

import "fmt"

// A Code is a way of writing N indices.
type Code struct {
	Base   int // v, the number of digit values
	Digits int // d, the digits of an index
	N      int // number of indices, the unknown word's included
}

// New returns the code of n indices with the fewest digits of the given base.
func New(n, base int) (Code, error) {
	switch {
	case base < 2 || base > 1<<30:
		return Code{}, fmt.Errorf("base: %d, want 2 to 2^30", base)
	case n < 1 || n > 1<<30:
		return Code{}, fmt.Errorf("indices: %d, want 1 to 2^30", n)
	}
	return Code{Base: base, Digits: DigitCount(n, base), N: n}, nil
}

// DigitCount returns the smallest d >= 1 with base^d >= n.
func DigitCount(n, base int) int {
	d := 1
	for p := int64(base); p < int64(n); p *= int64(base) {
		d++
	}
	return d
}

// PublishedDigitCount returns what the published code takes for d: the number of
// digits of n itself instead of n-1, which is one more if n is a power of base.
func PublishedDigitCount(n, base int) int {
	d := 0
	for ; n > 0; n /= base {
		d++
	}
	return d
}

// Pad is the id of padding, whatever the base.
const Pad int32 = 0

// BOS returns the id that begins a sequence.
func (c Code) BOS() int32 { return int32(c.Base) + 1 }

// EOS returns the id that ends a sequence.
func (c Code) EOS() int32 { return int32(c.Base) + 2 }

// Rows returns the number of ids: the rows of an embedding.
func (c Code) Rows() int { return c.Base + 3 }

// Unknown returns the index that stands for all unknown words.
func (c Code) Unknown() int { return c.N - 1 }

// Entries returns how many entries of a word-level sequence, BOS and EOS
// included, fit in maxLen ids.
func (c Code) Entries(maxLen int) int { return (maxLen-2)/c.Digits + 2 }

// Append appends the digits of an index, which must be in [0, N).
func (c Code) Append(ids []int32, index int) []int32 {
	from := len(ids)
	for range c.Digits {
		ids = append(ids, 0)
	}
	for k := len(ids) - 1; k >= from; k-- {
		ids[k] = int32(index%c.Base) + 1
		index /= c.Base
	}
	return ids
}

// Encode appends the ids of a caption: BOS, the digits of its words, EOS, cut to
// maxLen. A caption that is cut loses its EOS and, as a digit group is never
// split, may be longer than maxLen by up to one group less one id; cut reports
// it.
func (c Code) Encode(ids []int32, words []int, maxLen int) (_ []int32, cut bool) {
	ids = append(ids, c.BOS())
	room := c.Entries(maxLen) - 1 // entries behind BOS
	for i, w := range words {
		if i >= room {
			return ids, true
		}
		ids = c.Append(ids, w)
	}
	if len(words) >= room {
		return ids, true
	}
	return append(ids, c.EOS()), false
}

// Decode appends the word indices that generated ids stand for, without an
// initial BOS. It stops at the first EOS. A group that is no index, or that
// holds PAD, BOS or an id out of range, gives the unknown index; an incomplete
// last group is dropped.
func (c Code) Decode(words []int, ids []int32) []int {
	ids = c.beforeEOS(ids)
	for ; len(ids) >= c.Digits; ids = ids[c.Digits:] {
		v, ok := int64(0), true
		for _, id := range ids[:c.Digits] {
			ok = ok && 1 <= id && id <= int32(c.Base)
			v = min(v*int64(c.Base)+int64(id-1), int64(c.N))
		}
		words = append(words, c.index(v, ok))
	}
	return words
}

// DecodePublished is Decode as the published code does it: PAD counts as the
// zero digit and BOS as the digit v, and an incomplete last group is filled with
// zero digits.
func (c Code) DecodePublished(words []int, ids []int32) []int {
	ids = c.beforeEOS(ids)
	for len(ids) > 0 {
		v := int64(0)
		for k := range c.Digits {
			digit := int64(0)
			if k < len(ids) {
				digit = int64(max(ids[k]-1, 0))
			}
			v = min(v*int64(c.Base)+digit, int64(c.N))
		}
		words = append(words, c.index(v, true))
		ids = ids[min(c.Digits, len(ids)):]
	}
	return words
}

func (c Code) beforeEOS(ids []int32) []int32 {
	for i, id := range ids {
		if id == c.EOS() {
			return ids[:i]
		}
	}
	return ids
}

func (c Code) index(v int64, ok bool) int {
	if !ok || v >= int64(c.Unknown()) {
		return c.Unknown()
	}
	return int(v)
}
