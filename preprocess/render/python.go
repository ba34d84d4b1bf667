package render

import (
	"math"
	"strconv"
	"strings"
	"unicode"
)

// isSpace reports whether Python's strip and split take a character for a blank.
func isSpace(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f }

// number reads a number as Python's float does; what is none counts as -1.
func number(_ *Template, text string) (Answer, bool) {
	v, ok := pythonFloat(text)
	if !ok {
		v = -1
	}
	return Answer{Class: -1, Number: v, Text: text}, ok
}

// pythonFloat is Python's float of a text: blanks around it, digits of any script
// and single underscores between digits are allowed.
func pythonFloat(text string) (float64, bool) {
	var b strings.Builder
	runes := []rune(strings.TrimFunc(text, isSpace))
	digit := func(i int) bool { return i >= 0 && i < len(runes) && unicode.Is(unicode.Nd, runes[i]) }
	for i, r := range runes {
		switch {
		case unicode.Is(unicode.Nd, r):
			b.WriteByte('0' + byte(digitValue(r)))
		case r == '_':
			if !digit(i-1) || !digit(i+1) {
				return 0, false
			}
		case r < 0x80 && strings.ContainsRune("+-.eE", r), r < 0x80 && unicode.IsLetter(r):
			b.WriteRune(r)
		default:
			return 0, false
		}
	}
	s := b.String()
	switch strings.ToLower(strings.TrimLeft(s, "+-")) {
	case "inf", "infinity", "nan":
	default:
		if strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) && r != 'e' && r != 'E' }) {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(v, 0) {
		return 0, false
	}
	return v, true
}

// digitValue is the value of a decimal digit: each script has its ten in a row,
// but for the five rows of mathematical digits that follow one another.
func digitValue(r rune) int {
	if 0x1d7ce <= r && r <= 0x1d7ff {
		return int(r-0x1d7ce) % 10
	}
	n := 0
	for n < 9 && unicode.Is(unicode.Nd, r-rune(n)-1) {
		n++
	}
	return n
}
