package model

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"espalier/tokenize/chars"
	"espalier/tokenize/trie"
)

// An Added is a token that is cut out of the text before anything else.
type Added struct {
	Text           string
	ID             int32
	LStrip, RStrip bool // takes the white space to its left, right
	SingleWord     bool // only where no letter, digit or _ is beside it
	Special        bool
}

// A Cutter finds added tokens: the leftmost, of those that begin there the
// longest. It is immutable and safe for concurrent use.
type Cutter struct {
	tokens []Added
	trie   *trie.Trie
	first  byte // what all begin with, if same
	same   bool
	heads  [256]bool
	table  *chars.Table
	python bool // white space as Python has it
}

// NewCutter returns a cutter; python says whose white space the tokens take.
func NewCutter(tokens []Added, python bool) (*Cutter, error) {
	c := &Cutter{tokens: tokens, table: chars.Load(), python: python, same: len(tokens) > 0}
	keys := make([]string, len(tokens))
	for i, t := range tokens {
		if t.Text == "" {
			return nil, fmt.Errorf("added token %d: empty", t.ID)
		}
		keys[i] = t.Text
		c.heads[t.Text[0]] = true
		c.same = c.same && t.Text[0] == tokens[0].Text[0]
	}
	if c.same {
		c.first = tokens[0].Text[0]
	}
	var err error
	c.trie, err = trie.New(keys)
	return c, err
}

// A Part of a text: an added token or what is between two.
type Part struct {
	Start, End int
	Added      *Added // nil: ordinary text
}

// Cuts goes through the parts of a text.
type Cuts struct {
	c    *Cutter
	text string
	at   int // where the next part begins
	next Part
}

// Cut begins to cut a text.
func (c *Cutter) Cut(text string) Cuts { return Cuts{c: c, text: text} }

// Next returns the next part; the second result is false behind the last one. No
// part is empty.
func (k *Cuts) Next() (Part, bool) {
	if k.next.Added != nil {
		p := k.next
		k.next.Added = nil
		k.at = p.End
		return p, true
	}
	if k.at >= len(k.text) {
		return Part{}, false
	}
	p, ok := k.c.find(k.text, k.at)
	if !ok {
		p := Part{Start: k.at, End: len(k.text)}
		k.at = len(k.text)
		return p, true
	}
	if p.Start > k.at {
		k.next = p
		return Part{Start: k.at, End: p.Start}, true
	}
	k.at = p.End
	return p, true
}

// find returns the first added token from a place on.
func (c *Cutter) find(text string, from int) (Part, bool) {
	for at := from; at < len(text); at++ {
		if c.same {
			k := strings.IndexByte(text[at:], c.first)
			if k < 0 {
				return Part{}, false
			}
			at += k
		} else if !c.heads[text[at]] {
			continue
		}
		size, n := c.trie.Longest(text[at:])
		if size == 0 {
			continue
		}
		a := &c.tokens[n]
		start, end := at, at+size
		if a.SingleWord && (c.wordBefore(text, start) || c.wordBehind(text, end)) {
			at = end - 1
			continue
		}
		if a.LStrip {
			start = max(from, c.TrimRight(text, start))
		}
		if a.RStrip {
			end = c.TrimLeft(text, end)
		}
		return Part{start, end, a}, true
	}
	return Part{}, false
}

func (c *Cutter) wordBefore(text string, at int) bool {
	r, _ := utf8.DecodeLastRuneInString(text[:at])
	return at > 0 && c.table.Of(r)&chars.Word != 0
}

func (c *Cutter) wordBehind(text string, at int) bool {
	r, _ := utf8.DecodeRuneInString(text[at:])
	return at < len(text) && c.table.Of(r)&chars.Word != 0
}

// space reports whether a character is white space: Python adds four control
// characters to Unicode's.
func (c *Cutter) space(r rune) bool {
	if r < utf8.RuneSelf {
		return r == ' ' || 9 <= r && r <= 13 || c.python && 0x1C <= r && r <= 0x1F
	}
	return c.table.Of(r)&chars.Space != 0
}

// TrimRight returns where the white space before a place begins.
func (c *Cutter) TrimRight(text string, at int) int {
	for at > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:at])
		if !c.space(r) {
			break
		}
		at -= size
	}
	return at
}

// TrimLeft returns where the white space from a place on ends.
func (c *Cutter) TrimLeft(text string, at int) int {
	for at < len(text) {
		r, size := utf8.DecodeRuneInString(text[at:])
		if !c.space(r) {
			break
		}
		at += size
	}
	return at
}
