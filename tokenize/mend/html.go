package mend

import (
	"html"
	"strconv"
	"strings"
	"unicode/utf8"
)

// entity returns what an HTML5 entity stands for; the name is without the
// ampersand and with the semicolon, which a few go without.
func entity(name string) (string, bool) {
	if name == "" || strings.ContainsAny(name, "#&") {
		return "", false
	}
	s := html.UnescapeString("&" + name)
	if s == "&"+name {
		return "", false
	}
	if strings.HasSuffix(name, ";") { // not that of a shorter name, with the rest behind it
		return s, !strings.HasSuffix(s, ";") || name == "semi;"
	}
	for k := len(name) - 1; k > 1; k-- {
		if s == html.UnescapeString("&"+name[:k])+name[k:] && html.UnescapeString("&"+name[:k]) != "&"+name[:k] {
			return "", false
		}
	}
	return s, true
}

// entitiesWithSemicolon replaces entities, of which the name may be in capitals,
// and numbers of characters that end with a semicolon.
func entitiesWithSemicolon(text string) string {
	var b strings.Builder
	for {
		k := strings.IndexByte(text, '&')
		if k < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:k])
		text = text[k:]
		end := 1
		if end < len(text) && text[end] == '#' {
			end++
		}
		name := end
		for end < len(text) && end-name < 24 && (isLetter(rune(text[end])) || isDigit(text[end])) {
			end++
		}
		if end == name || end == len(text) || text[end] != ';' {
			b.WriteByte('&')
			text = text[1:]
			continue
		}
		end++
		whole := text[:end]
		to := whole
		if s, ok := entity(whole[1:]); ok {
			to = s
		} else if s, ok := capitals[whole[1:]]; ok {
			to = s
		} else if whole[1] == '#' {
			if s := Unescape(whole); !strings.Contains(s, ";") {
				to = s
			}
		}
		b.WriteString(to)
		text = text[end:]
	}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// Unescape replaces entities, also those without a semicolon that HTML5 knows,
// and numbers of characters, as Python's html.unescape does.
func Unescape(text string) string {
	if strings.IndexByte(text, '&') < 0 {
		return text
	}
	var b strings.Builder
	for {
		k := strings.IndexByte(text, '&')
		if k < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:k])
		text = text[k:]
		to, size := reference(text)
		b.WriteString(to)
		text = text[size:]
	}
}

// reference returns what the text's beginning, an ampersand, becomes and its
// length.
func reference(text string) (string, int) {
	if len(text) > 1 && text[1] == '#' {
		end, digits, base := 2, isDigit, 10
		if len(text) > 2 && text[2]|0x20 == 'x' {
			end, digits, base = 3, isHex, 16
		}
		begin := end
		for end < len(text) && digits(text[end]) {
			end++
		}
		if end == begin {
			return "&", 1
		}
		n, err := strconv.ParseUint(text[begin:end], base, 32)
		if err != nil {
			n = 1 << 31
		}
		if end < len(text) && text[end] == ';' {
			end++
		}
		return character(n), end
	}
	end := 1
	for n := 0; end < len(text) && n < 32; n++ {
		if strings.IndexByte("\t\n\f <&#;", text[end]) >= 0 {
			break
		}
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	if end == 1 {
		return "&", 1
	}
	if end < len(text) && text[end] == ';' {
		end++
	}
	name := text[1:end]
	if s, ok := entity(name); ok {
		return s, end
	}
	for k := min(len(name)-1, 6); k > 1; k-- { // none without a semicolon is longer
		if name[k-1] == ';' {
			continue
		}
		if s, ok := entity(name[:k]); ok {
			return s + name[k:], end
		}
	}
	return text[:end], end
}

// character returns the character of a number, Windows-1252's for those of C1
// control characters, and nothing for other control characters and for numbers
// that are no characters.
func character(n uint64) string {
	switch {
	case n == 0 || n > 0x10FFFF || 0xD800 <= n && n <= 0xDFFF:
		return "\uFFFD"
	case n == '\r':
		return "\r"
	case 0x80 <= n && n < 0xA0:
		return string(windows1252(rune(n)))
	case n < 9 || n == 0x0B || 0x0E <= n && n < 0x20 || n == 0x7F || 0xFDD0 <= n && n <= 0xFDEF || n&0xFFFE == 0xFFFE:
		return ""
	}
	return string(rune(n))
}
