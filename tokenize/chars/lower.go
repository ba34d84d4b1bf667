package chars

import "unicode/utf8"

// AppendLower appends the lower case of s as Python's str.lower has it: a capital
// sigma at the end of a word becomes a final one.
func (t *Table) AppendLower(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == 0x130:
			dst = append(dst, "i\u0307"...)
		case r == 0x3A3 && t.finalSigma(s, i, i+size):
			dst = append(dst, "\u03c2"...)
		case t.Of(r)&HasLower != 0:
			dst = utf8.AppendRune(dst, Lower(r))
		default:
			dst = utf8.AppendRune(dst, r)
		}
		i += size
	}
	return dst
}

// finalSigma reports whether a cased letter is before s[i:j] and none is behind
// it, case-ignorable characters left out.
func (t *Table) finalSigma(s string, i, j int) bool {
	for i > 0 {
		r, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
		if p := t.Of(r); p&CaseIgnorable != 0 {
			continue
		} else if p&Cased == 0 {
			return false
		}
		for j < len(s) {
			r, size := utf8.DecodeRuneInString(s[j:])
			j += size
			if p := t.Of(r); p&CaseIgnorable == 0 {
				return p&Cased == 0
			}
		}
		return true
	}
	return false
}

// AppendLowerFast appends the lower case of s a character at a time, as the fast
// classes have it.
func (t *Table) AppendLowerFast(dst []byte, s string) []byte {
	for _, r := range s {
		switch {
		case r == 0x130:
			dst = append(dst, "i\u0307"...)
		default:
			dst = utf8.AppendRune(dst, Lower(r))
		}
	}
	return dst
}
