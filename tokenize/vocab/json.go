// Package vocab reads the files that vocabularies come in: vocab.json,
// merges.txt, tokenizer.json, and CLIP's list of merges.
//
// Files are not trusted: a malformed one is an error that names the place, and
// what is kept is bounded by the file's size.
package vocab

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how deep values may lie in each other.
const maxDepth = 64

// A reader reads JSON without copying it: strings without escapes are parts of
// the file.
type reader struct {
	s     string
	at    int
	depth int
}

func (r *reader) fail(format string, args ...any) error {
	line := 1 + strings.Count(r.s[:r.at], "\n")
	return fmt.Errorf("line %d, offset %d: %w", line, r.at, fmt.Errorf(format, args...))
}

// next returns the next byte that is no white space, 0 at the end.
func (r *reader) next() byte {
	for ; r.at < len(r.s); r.at++ {
		switch c := r.s[r.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

func (r *reader) want(c byte) error {
	if r.next() != c {
		if r.at == len(r.s) {
			return r.fail("truncated")
		}
		return r.fail("%q, want %q", r.s[r.at], c)
	}
	r.at++
	return nil
}

// list calls f at each value of an array or object, which ends with the byte
// end.
func (r *reader) list(begin, end byte, f func() error) error {
	if err := r.want(begin); err != nil {
		return err
	}
	if r.depth++; r.depth > maxDepth {
		return r.fail("values lie more than %d deep", maxDepth)
	}
	defer func() { r.depth-- }()
	if r.next() == end {
		r.at++
		return nil
	}
	for {
		if err := f(); err != nil {
			return err
		}
		switch r.next() {
		case ',':
			r.at++
		case end:
			r.at++
			return nil
		default:
			return r.fail("want ',' or %q", end)
		}
	}
}

// array calls f at each value of an array.
func (r *reader) array(f func() error) error { return r.list('[', ']', f) }

// object calls f at each value of an object.
func (r *reader) object(f func(key string) error) error {
	return r.list('{', '}', func() error {
		key, err := r.str()
		if err != nil {
			return err
		}
		if err := r.want(':'); err != nil {
			return err
		}
		return f(key)
	})
}

// str reads a string.
func (r *reader) str() (string, error) {
	if err := r.want('"'); err != nil {
		return "", err
	}
	start := r.at
	for ; r.at < len(r.s); r.at++ {
		switch c := r.s[r.at]; {
		case c == '"':
			s := r.s[start:r.at]
			r.at++
			return s, nil
		case c == '\\':
			return r.escaped(start)
		case c < ' ':
			return "", r.fail("control character in a string")
		}
	}
	return "", r.fail("truncated")
}

// escaped reads the rest of a string with escapes.
func (r *reader) escaped(start int) (string, error) {
	var b strings.Builder
	b.WriteString(r.s[start:r.at])
	for r.at < len(r.s) {
		c := r.s[r.at]
		r.at++
		switch {
		case c == '"':
			return b.String(), nil
		case c < ' ':
			return "", r.fail("control character in a string")
		case c != '\\':
			b.WriteByte(c)
			continue
		case r.at == len(r.s):
			return "", r.fail("truncated")
		}
		c = r.s[r.at]
		r.at++
		switch c {
		case '"', '\\', '/':
			b.WriteByte(c)
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'u':
			v, err := r.hex()
			if err != nil {
				return "", err
			}
			if utf16.IsSurrogate(v) {
				low := rune(utf8.RuneError)
				if strings.HasPrefix(r.s[r.at:], `\u`) {
					r.at += 2
					if low, err = r.hex(); err != nil {
						return "", err
					}
				}
				if v = utf16.DecodeRune(v, low); v == utf8.RuneError {
					return "", r.fail("half a surrogate pair")
				}
			}
			b.WriteRune(v)
		default:
			return "", r.fail("escape %q", c)
		}
	}
	return "", r.fail("truncated")
}

func (r *reader) hex() (rune, error) {
	if len(r.s)-r.at < 4 {
		return 0, r.fail("truncated")
	}
	v, err := strconv.ParseUint(r.s[r.at:r.at+4], 16, 16)
	if err != nil {
		return 0, r.fail("escape %q", r.s[r.at:r.at+4])
	}
	r.at += 4
	return rune(v), nil
}

// int reads a whole number from 0 to 2^31-1.
func (r *reader) int() (int32, error) {
	r.next()
	start := r.at
	for r.at < len(r.s) && '0' <= r.s[r.at] && r.s[r.at] <= '9' {
		r.at++
	}
	v, err := strconv.ParseInt(r.s[start:r.at], 10, 32)
	if err != nil {
		return 0, r.fail("no id")
	}
	return int32(v), nil
}

// bool reads true or false; null counts as false.
func (r *reader) bool() (bool, error) {
	switch r.next(); {
	case strings.HasPrefix(r.s[r.at:], "true"):
		r.at += 4
		return true, nil
	case strings.HasPrefix(r.s[r.at:], "false"):
		r.at += 5
		return false, nil
	}
	return false, r.null()
}

// isNull reports whether a null is next, and reads it if so.
func (r *reader) isNull() bool {
	if r.next() == 'n' && r.null() == nil {
		return true
	}
	return false
}

func (r *reader) null() error {
	r.next()
	if !strings.HasPrefix(r.s[r.at:], "null") {
		return r.fail("want null, true or false")
	}
	r.at += 4
	return nil
}

// skip reads a value of any kind.
func (r *reader) skip() error {
	switch c := r.next(); {
	case c == '{':
		return r.object(func(string) error { return r.skip() })
	case c == '[':
		return r.array(r.skip)
	case c == '"':
		_, err := r.str()
		return err
	case c == 't' || c == 'f' || c == 'n':
		_, err := r.bool()
		return err
	case c == '-' || '0' <= c && c <= '9':
		start := r.at
		for r.at < len(r.s) && strings.IndexByte("+-.eE0123456789", r.s[r.at]) >= 0 {
			r.at++
		}
		if _, err := strconv.ParseFloat(r.s[start:r.at], 64); err != nil && !errors.Is(err, strconv.ErrRange) {
			return r.fail("no number")
		}
		return nil
	}
	if r.at == len(r.s) {
		return r.fail("truncated")
	}
	return r.fail("%q is no value", r.s[r.at])
}

// done reports an error if anything but white space is left.
func (r *reader) done() error {
	if r.next(); r.at < len(r.s) {
		return r.fail("more behind the end")
	}
	return nil
}
