package word

import (
	"strings"
	"unicode"
)

// Clean turns a raw caption into words as Karpathy's tokens are: lower case,
// hyphens split, other punctuation removed, single blanks. It is for corpora
// that bring no tokens of their own.
func Clean(raw string) string {
	var b strings.Builder
	b.Grow(len(raw))
	gap := false
	for _, r := range raw {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
			if gap && b.Len() > 0 {
				b.WriteByte(' ')
			}
			gap = false
			b.WriteRune(unicode.ToLower(r))
		case unicode.IsSpace(r), unicode.Is(unicode.Pd, r), r == '/', r == '_':
			gap = true
		}
	}
	return b.String()
}
