package bytebpe

import (
	"strings"
	"unicode/utf8"

	"espalier/tokenize/chars"
)

// ascii has the classes of ASCII characters.
var ascii = func() (c [utf8.RuneSelf]chars.Class) {
	for b := range c {
		switch {
		case 'a' <= b|0x20 && b|0x20 <= 'z':
			c[b] = chars.Letter
		case '0' <= b && b <= '9':
			c[b] = chars.Number
		case b == ' ' || 9 <= b && b <= 13:
			c[b] = chars.White
		}
	}
	return c
}()

// A splitter cuts text into words.
type splitter struct {
	table   *chars.Table
	python  bool // classes of Python's regex module
	clipped bool // CLIP's pattern
	folds   bool // capitals are taken for small letters
}

// at returns the class and length of the character at text[i].
func (s *splitter) at(text string, i int) (chars.Class, int) {
	if c := text[i]; c < utf8.RuneSelf {
		return ascii[c], 1
	}
	r, size := utf8.DecodeRuneInString(text[i:])
	if size == 1 {
		return chars.Other, 1
	}
	p := s.table.Of(r)
	if s.python {
		if r == 0x345 && s.clipped { // as its upper case is a letter it is no "other" without regard to case
			return chars.White, size
		}
		return p.Python(), size
	}
	return p.Fast(), size
}

// run returns the end of the run of characters of a class that goes on at i.
func (s *splitter) run(text string, i int, class chars.Class) int {
	for i < len(text) {
		c, size := s.at(text, i)
		if c != class {
			break
		}
		i += size
	}
	return i
}

// gpt2 returns the end of the word that begins at text[i]:
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
func (s *splitter) gpt2(text string, i int) int {
	if text[i] == '\'' {
		if n := contraction(text, i); n > 0 {
			return i + n
		}
	}
	class, size := s.at(text, i)
	if class != chars.White {
		return s.run(text, i+size, class)
	}
	j := i + size
	if j == len(text) {
		return j
	}
	next, nextSize := s.at(text, j)
	if next != chars.White {
		if text[i] == ' ' {
			return s.run(text, j+nextSize, next)
		}
		return j
	}
	last := j // where the last white character begins
	for j < len(text) {
		c, size := s.at(text, j)
		if c != chars.White {
			return last
		}
		last = j
		j += size
	}
	return j
}

// contraction returns the length of the English contraction at text[i], an
// apostrophe, 0 if there is none.
func contraction(text string, i int) int {
	if len(text)-i < 2 {
		return 0
	}
	switch text[i+1] {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v':
		if len(text)-i > 2 && text[i+2] == 'e' {
			return 3
		}
	case 'l':
		if len(text)-i > 2 && text[i+2] == 'l' {
			return 3
		}
	}
	return 0
}

// anyCase is contraction that takes capitals, and U+017F for an s if long is set,
// as well.
func anyCase(text string, i int, long bool) int {
	if len(text)-i < 2 {
		return 0
	}
	low := func(k int) byte {
		if k < len(text) && text[k] < utf8.RuneSelf {
			return text[k] | 0x20
		}
		return 0
	}
	switch low(i + 1) {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v':
		if low(i+2) == 'e' {
			return 3
		}
	case 'l':
		if low(i+2) == 'l' {
			return 3
		}
	}
	if long && len(text)-i > 2 && text[i+1:i+3] == "\u017f" {
		return 3
	}
	return 0
}

// named returns the length of a special token's name at text[i], in any case
// and with U+017F for an s, and its id if it is as it should be, or would be in
// lower case if folds is set, -1 otherwise.
func named(names []name, text string, i int, folds bool) (int, int32) {
	for _, x := range names {
		at := i
		for k := 0; k < len(x.text); k++ {
			c := x.text[k]
			switch {
			case at < len(text) && (text[at] == c || 'a' <= c && c <= 'z' && text[at] == c-'a'+'A'):
				at++
				continue
			case c == 's' && strings.HasPrefix(text[at:], "\u017f"):
				at += len("\u017f")
				continue
			}
			at = len(text) + 1
			break
		}
		if at > len(text) {
			continue
		}
		if text[i:at] == x.text || folds && at-i == len(x.text) {
			return at - i, x.id
		}
		return at - i, -1
	}
	return 0, -1
}

// clip returns the end of the word that begins at text[i], which is no white
// space:
//
//	's|'t|'re|'ve|'m|'ll|'d|\p{L}+|\p{N}|[^\s\p{L}\p{N}]+
//
// Python takes contractions in capitals too.
func (s *splitter) clip(text string, i int) int {
	if text[i] == '\'' {
		n := contraction(text, i)
		if s.python || s.folds {
			n = anyCase(text, i, s.python)
		}
		if n > 0 {
			return i + n
		}
	}
	class, size := s.at(text, i)
	if class == chars.Number {
		return i + size
	}
	return s.run(text, i+size, class)
}
