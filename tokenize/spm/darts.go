package spm

import (
	"errors"
	"fmt"
	"strings"
)

// maxHits is how many keys SentencePiece looks at, at most, that begin at one
// place.
const maxHits = 32

// A charMap is a compiled normaliser: a Darts-clone double array whose values
// are offsets of strings that end with a zero byte. Nothing in it is trusted:
// each step is checked.
type charMap struct {
	units []uint32
	texts string
	ascii [128]bool // bytes that stand for themselves before any ASCII byte
}

// parseCharMap reads the file's precompiled_charsmap.
func parseCharMap(b string) (*charMap, error) {
	if len(b) < 4 {
		return nil, errTruncated
	}
	number := func(i int) uint32 {
		return uint32(b[i]) | uint32(b[i+1])<<8 | uint32(b[i+2])<<16 | uint32(b[i+3])<<24
	}
	size := number(0)
	b = b[4:]
	if uint64(size) > uint64(len(b)) || size%4 != 0 || size == 0 {
		return nil, fmt.Errorf("trie of %d bytes in %d", size, len(b))
	}
	c := &charMap{units: make([]uint32, size/4), texts: b[size:]}
	for i := range c.units {
		c.units[i] = number(4 * i)
	}
	if c.texts == "" || c.texts[len(c.texts)-1] != 0 {
		return nil, errors.New("texts do not end with a zero byte")
	}
	for i := range c.ascii {
		c.ascii[i] = c.plain(byte(i))
	}
	return c, nil
}

// plain reports whether a byte, followed by any ASCII byte or none, is left as
// it is.
func (c *charMap) plain(b byte) bool {
	pos, unit, ok := c.step(c.root(), b)
	if !ok {
		return true
	}
	if unit>>8&1 != 0 {
		if to, ok := c.text(pos); !ok || to != string(rune(b)) {
			return false
		}
	}
	for next := range byte(128) {
		if _, _, ok := c.step(pos, next); ok {
			return false
		}
	}
	return true
}

// offset returns where a unit's children are, relative to it.
func offset(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }

func (c *charMap) root() uint32 { return offset(c.units[0]) }

// step goes from a place, as root and step return it, on with a byte.
func (c *charMap) step(pos uint32, b byte) (next, unit uint32, ok bool) {
	pos ^= uint32(b)
	if pos >= uint32(len(c.units)) {
		return 0, 0, false
	}
	unit = c.units[pos]
	if unit&(1<<31|0xFF) != uint32(b) {
		return 0, 0, false
	}
	return pos ^ offset(unit), unit, true
}

// text returns what the key that ends at a place stands for.
func (c *charMap) text(pos uint32) (string, bool) {
	if pos >= uint32(len(c.units)) {
		return "", false
	}
	at := c.units[pos] & (1<<31 - 1)
	if at >= uint32(len(c.texts)) {
		return "", false
	}
	s := c.texts[at:]
	return s[:strings.IndexByte(s, 0)], true
}

// longest returns what the longest key that text begins with stands for, and
// the key's length, 0 if there is none.
func (c *charMap) longest(text string) (to string, size int) {
	pos := c.root()
	hits := 0
	found := uint32(0)
	for i := 0; i < len(text); i++ {
		next, unit, ok := c.step(pos, text[i])
		if !ok {
			break
		}
		pos = next
		if unit>>8&1 != 0 {
			found, size = pos, i+1
			if hits++; hits == maxHits {
				break
			}
		}
	}
	if size == 0 {
		return "", 0
	}
	to, ok := c.text(found)
	if !ok {
		return "", 0
	}
	return to, size
}

// shortest is longest with the shortest key.
func (c *charMap) shortest(text string) (to string, size int) {
	pos := c.root()
	for i := 0; i < len(text); i++ {
		next, unit, ok := c.step(pos, text[i])
		if !ok {
			break
		}
		pos = next
		if unit>>8&1 != 0 {
			if to, ok := c.text(pos); ok {
				return to, i + 1
			}
			break
		}
	}
	return "", 0
}

// joins reports whether a key may hold the byte and another one; it errs on the
// safe side.
func (c *charMap) joins(b byte) bool {
	if pos, _, ok := c.step(c.root(), b); ok {
		for next := range 256 {
			if _, _, ok := c.step(pos, byte(next)); ok {
				return true
			}
		}
	}
	for i, unit := range c.units {
		if i == 0 {
			continue
		}
		next := uint32(i) ^ offset(unit) ^ uint32(b)
		if next < uint32(len(c.units)) && c.units[next]&(1<<31|0xFF) == uint32(b) {
			return true
		}
	}
	return false
}

// A CharMap is a compiled normaliser by itself, as a tokenizer.json has it. It is
// immutable and safe for concurrent use.
type CharMap struct{ m *charMap }

// ParseCharMap reads a compiled normaliser.
func ParseCharMap(b string) (*CharMap, error) {
	m, err := parseCharMap(b)
	if err != nil {
		return nil, fmt.Errorf("character map: %w", err)
	}
	return &CharMap{m}, nil
}

// Shortest returns what the shortest key that text begins with stands for and
// its length, 0 if there is none.
func (c *CharMap) Shortest(text string) (to string, size int) { return c.m.shortest(text) }

// Plain reports whether an ASCII byte, followed by any or none, stays what it is.
func (c *CharMap) Plain(b byte) bool { return b < 128 && c.m.ascii[b] }
