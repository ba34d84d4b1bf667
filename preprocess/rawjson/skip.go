package rawjson

import "bytes"

// The functions of this file find where values end by their quotes, brackets
// and commas. They accept a superset of JSON.

// Value returns the length of the value that b starts with, by its quotes and
// brackets only. Whole is false if b ends before the value surely does.
func Value(b []byte) (n int, whole bool) { return skipValue(b) }

// Members lists the members of an object that b holds, as far as its structure
// is sound: see [Element]. Blanks may stand before the object. It appends to
// fields.
func Members(b []byte, fields []Field) []Field {
	_, _, fields = walk(bytes.TrimLeft(b, " \t\r\n"), fields)
	return fields
}

// skipValue returns the length of the value that b starts with. Whole is false
// if b ends before the value surely does.
func skipValue(b []byte) (n int, whole bool) {
	if len(b) == 0 {
		return 0, false
	}
	switch b[0] {
	case '"':
		return skipText(b)
	case '{', '[':
		return skipNested(b)
	}
	for i, c := range b {
		switch c {
		case ',', ']', '}', ':', ' ', '\n', '\r', '\t', '"', '[', '{':
			return max(i, 1), true
		}
	}
	return len(b), false
}

// skipText skips a string with its quotes.
func skipText(b []byte) (n int, whole bool) {
	end := closing(b, 1)
	return end + 1, end > 0
}

// skipNested skips an object or array by the depth of its brackets.
func skipNested(b []byte) (n int, whole bool) {
	depth, text := 0, uint64(0) // all bits of text are set inside of one
	for i := 0; i < len(b); {
		stop := len(b)
		if i+block <= len(b) {
			quote, escape, open, end := marks((*[block]byte)(b[i:]))
			if escape == 0 {
				inside := within(quote) ^ text
				at, now := outermost(open&^inside, end&^inside, depth)
				if at >= 0 {
					return i + at + 1, true
				}
				depth, text = now, uint64(int64(inside)>>63)
				i += block
				continue
			}
			stop = i + block
		}
		for ; i < stop; i++ {
			if text != 0 {
				if i = closing(b, i); i < 0 {
					return 0, false
				}
				text = 0
				continue
			}
			switch class[b[i]] {
			case cQuote:
				text = ^uint64(0)
			case cOpen:
				depth++
			case cClose:
				if depth--; depth == 0 {
					return i + 1, true
				}
			}
		}
	}
	return 0, false
}

// walk is skipValue, and lists the members if the value is an object whose
// outermost structure is sound.
func walk(b []byte, fields []Field) (n int, whole bool, _ []Field) {
	if len(b) == 0 || b[0] != '{' {
		n, whole = skipValue(b)
		return n, whole, fields
	}
	i := 1
	blank := func() byte {
		for ; i < len(b); i++ {
			if c := b[i]; c != ' ' && c != '\n' && c != '\r' && c != '\t' {
				return c
			}
		}
		return 0
	}
	for {
		c := blank()
		if c == '}' && len(fields) == 0 {
			return i + 1, true, fields
		}
		if c != '"' {
			break
		}
		k, ok := skipText(b[i:])
		if !ok {
			break
		}
		name := b[i+1 : i+k-1]
		if i += k; blank() != ':' {
			break
		}
		i++
		if c = blank(); c == '}' || c == ']' || c == ',' || c == ':' {
			break // no value
		}
		k, ok = skipValue(b[i:])
		if !ok {
			break
		}
		fields = append(fields, Field{Name: name, Value: b[i : i+k]})
		i += k
		if c = blank(); c == '}' {
			return i + 1, true, fields
		} else if c != ',' {
			break
		}
		i++
	}
	if i >= len(b) {
		return 0, false, fields // ran out of bytes, as far as this can tell
	}
	n, whole = skipNested(b)
	return n, whole, fields
}
