package recipe

import (
	"fmt"
	"unicode/utf8"

	"espalier/tokenize/model"
	"espalier/tokenize/trie"
	"espalier/tokenize/vocab"
)

// A cutter finds added tokens: the leftmost, of those that begin there the
// longest.
type cutter struct {
	tokens []vocab.Added
	trie   *trie.Trie
	heads  [256]bool
}

func newCutter(tokens []vocab.Added, names []string) (*cutter, error) {
	c := &cutter{tokens: tokens}
	for _, n := range names {
		c.heads[n[0]] = true
	}
	var err error
	if len(tokens) > 0 {
		if c.trie, err = trie.New(names); err != nil {
			return nil, fmt.Errorf("added tokens: %w", err)
		}
	}
	return c, err
}

// A scan is how far a text is gone through.
type scan struct {
	at    int // behind the last token, its white space included
	from  int // where the next token is looked for
	next  cut // found, but not told yet
	done  bool
	queue bool
}

// A cut is a part of a text, or an added token.
type cut struct {
	from, to int
	token    *vocab.Added // nil: ordinary text
}

// next returns the next part of a text, none of which is empty; the second
// result is false behind the last one.
func (c *cutter) next(s *scan, text string) (cut, bool) {
	if s.queue {
		s.queue = false
		return s.next, true
	}
	if s.done {
		return cut{}, false
	}
	for c.trie != nil && s.from < len(text) {
		at := s.from
		if !c.heads[text[at]] {
			s.from++
			continue
		}
		size, n := c.trie.Longest(text[at:])
		if size == 0 {
			s.from++
			continue
		}
		s.from = at + size
		a := &c.tokens[n]
		start, end := at, at+size
		if a.SingleWord && (wordBefore(text, start) || wordBehind(text, end)) {
			continue
		}
		if a.LStrip {
			start = max(trimRight(text, start), s.at)
		}
		if a.RStrip {
			end = trimLeft(text, end)
		}
		before := cut{s.at, start, nil}
		found := cut{start, end, a}
		s.at = end
		if before.from < before.to {
			s.next, s.queue = found, true
			return before, true
		}
		return found, true
	}
	s.done = true
	if s.at < len(text) {
		return cut{s.at, len(text), nil}, true
	}
	return cut{}, false
}

func wordBefore(text string, at int) bool {
	r, _ := utf8.DecodeLastRuneInString(text[:at])
	return at > 0 && word(r)
}

func wordBehind(text string, at int) bool {
	r, _ := utf8.DecodeRuneInString(text[at:])
	return at < len(text) && word(r)
}

// trimRight returns where the white space before a place begins.
func trimRight(text string, at int) int {
	for at > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:at])
		if !white(r) {
			break
		}
		at -= size
	}
	return at
}

// trimLeft returns where the white space from a place on ends.
func trimLeft(text string, at int) int {
	for at < len(text) {
		r, size := utf8.DecodeRuneInString(text[at:])
		if !white(r) {
			break
		}
		at += size
	}
	return at
}

// trim takes white space from the ends of a token's place, counting that of what
// it was made of, as the library does: of one at the beginning of the text, which may have a
// blank that was put there, one less.
func (t trimming) trim(x *model.Token, piece, text string, first bool) {
	blank := func(r rune) bool { return r == blankLetter || white(r) }
	lead, trail := 0, 0
	for _, r := range piece {
		if !blank(r) {
			break
		}
		lead++
	}
	for rest := piece; rest != ""; trail++ {
		r, size := utf8.DecodeLastRuneInString(rest)
		if !blank(r) {
			break
		}
		rest = rest[:len(rest)-size]
	}
	if lead > 0 {
		if (first || x.Start == 0) && t.prefix {
			lead--
		}
		for ; lead > 0 && x.Start < x.End; lead-- {
			_, size := utf8.DecodeRuneInString(text[x.Start:])
			x.Start += int32(size)
		}
	}
	if end := int(x.End); trail > 0 {
		n := 0
		for ; n < trail && end > 0; n++ {
			_, size := utf8.DecodeLastRuneInString(text[:end])
			end -= size
		}
		if n == trail {
			x.End = max(int32(end), x.Start)
		}
	}
}
