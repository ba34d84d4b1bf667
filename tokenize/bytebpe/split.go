package bytebpe

import (
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
	table  *chars.Table
	python bool // classes of Python's regex module
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

// anyCase is contraction that takes capitals, and U+017F for an s, as well.
func anyCase(text string, i int) int {
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
	if len(text)-i > 2 && text[i+1:i+3] == "\u017f" {
		return 3
	}
	return 0
}

// clip returns the end of the word that begins at text[i], which is no white
// space:
//
//	's|'t|'re|'ve|'m|'ll|'d|\p{L}+|\p{N}|[^\s\p{L}\p{N}]+    without regard to case
func (s *splitter) clip(text string, i int) int {
	if text[i] == '\'' {
		if n := anyCase(text, i); n > 0 {
			return i + n
		}
	}
	class, size := s.at(text, i)
	if class == chars.Number {
		return i + size
	}
	return s.run(text, i+size, class)
}
