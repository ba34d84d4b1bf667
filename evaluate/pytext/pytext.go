// Package pytext does to text what methods of Python's str do, since the
// reference tools are written in it: Lower, Strip, Fields. All functions are
// safe for concurrent use.
package pytext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsSpace reports white space as str.isspace has it: Go's, and the separators
// U+001C to U+001F.
func IsSpace(r rune) bool { return r >= 0x1c && r <= 0x1f || unicode.IsSpace(r) }

// Strip removes white space at both ends.
func Strip(s string) string { return strings.TrimFunc(s, IsSpace) }

// StripRight removes white space at the end.
func StripRight(s string) string { return strings.TrimRightFunc(s, IsSpace) }

// Fields returns the words between runs of white space.
func Fields(s string) []string {
	out := make([]string, 0, strings.Count(s, " ")+1)
	from := 0
	for i := 0; i < len(s); {
		n := spaceAt(s, i)
		if n == 0 {
			i++
			continue
		}
		if from < i {
			out = append(out, s[from:i])
		}
		i += n
		from = i
	}
	if from < len(s) {
		out = append(out, s[from:])
	}
	return out
}

// spaceAt returns the length of the white space that is the character at a
// place, 0 if it is none, or the place is inside a character.
func spaceAt(s string, i int) int {
	switch c := s[i]; {
	case c == ' ', c >= '\t' && c <= '\r', c >= 0x1c && c <= 0x1f:
		return 1
	case c == 0xc2, c >= 0xe1 && c <= 0xe3: // begin all wider ones
		if r, n := utf8.DecodeRuneInString(s[i:]); IsSpace(r) {
			return n
		}
	}
	return 0
}

// Lower returns s in lower case by the full mapping of Unicode: U+0130 becomes
// two characters, and a capital sigma at the end of a word its final form.
func Lower(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return lower(s)
		}
	}
	return strings.ToLower(s)
}

func lower(s string) string {
	if !strings.ContainsAny(s, "\u0130\u03a3") {
		return strings.ToLower(s)
	}
	var b strings.Builder
	for i, r := range s {
		switch r {
		case 0x130:
			b.WriteString("i\u0307")
		case 0x3a3:
			if final(s, i) {
				b.WriteRune(0x3c2)
			} else {
				b.WriteRune(0x3c3)
			}
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// final reports that the sigma at i follows a cased character and none follows
// it, case-ignorable ones passed over.
func final(s string, i int) bool {
	before := false
	for j := i; j > 0; {
		r, n := utf8.DecodeLastRuneInString(s[:j])
		j -= n
		if !ignorable(r) {
			before = cased(r)
			break
		}
	}
	if !before {
		return false
	}
	for _, r := range s[i+2:] {
		if !ignorable(r) {
			return !cased(r)
		}
	}
	return true
}

func cased(r rune) bool {
	return unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r) ||
		unicode.Is(unicode.Other_Uppercase, r) || unicode.Is(unicode.Other_Lowercase, r)
}

func ignorable(r rune) bool {
	return strings.ContainsRune("'.:^`\u00ad\u00b7\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a", r) ||
		unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}
