package shard

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// AppendJSON appends a row as one JSON object. Null is null; numbers are exact
// when read as float64, and NaN, Infinity and -Infinity are strings; binary is
// base64; times are RFC 3339; structs and maps are objects.
func AppendJSON(b []byte, columns []Column, row []any) []byte {
	b = append(b, '{')
	for i, v := range row {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, columns[i].Name)
		b = append(b, ':')
		b = appendValue(b, v)
	}
	return append(b, '}')
}

func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case uint64:
		return strconv.AppendUint(b, v, 10)
	case float64:
		return appendFloat(b, v)
	case string:
		return appendString(b, v)
	case []byte:
		b = append(b, '"')
		b = base64.StdEncoding.AppendEncode(b, v)
		return append(b, '"')
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, e)
		}
		return append(b, ']')
	case []float32:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendFloat(b, float64(e))
		}
		return append(b, ']')
	case Struct:
		b = append(b, '{')
		for i, f := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, f.Name), ':')
			b = appendValue(b, f.Value)
		}
		return append(b, '}')
	case Map:
		b = append(b, '{')
		for i, p := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendKey(b, p.Key), ':')
			b = appendValue(b, p.Value)
		}
		return append(b, '}')
	case Timestamp:
		return time.Time(v).UTC().AppendFormat(b, `"2006-01-02T15:04:05.999999999Z"`)
	case Date:
		return time.Unix(int64(v)*86400, 0).UTC().AppendFormat(b, `"2006-01-02"`)
	case TimeOfDay:
		return time.Unix(0, int64(v)).UTC().AppendFormat(b, `"15:04:05.999999999"`)
	case Decimal:
		return appendString(b, string(v))
	}
	return appendString(b, fmt.Sprint(v))
}

// appendKey writes a map's key, which JSON wants to be a string.
func appendKey(b []byte, key any) []byte {
	if s, ok := key.(string); ok {
		return appendString(b, s)
	}
	k := appendValue(nil, key)
	if len(k) > 0 && k[0] == '"' {
		return append(b, k...)
	}
	return appendString(b, string(k))
}

func appendFloat(b []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(b, `"-Infinity"`...)
	}
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.AppendFloat(b, f, 'e', -1, 64)
	}
	return strconv.AppendFloat(b, f, 'f', -1, 64)
}

// appendString writes a JSON string. Bytes that are not UTF-8, which other
// writers leave in text columns, become U+FFFD.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			switch {
			case c == '"' || c == '\\':
				b = append(b, '\\', c)
			case c == '\n':
				b = append(b, '\\', 'n')
			case c == '\t':
				b = append(b, '\\', 't')
			case c == '\r':
				b = append(b, '\\', 'r')
			case c < 0x20 || c == 0x7f:
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			default:
				b = append(b, c)
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = append(b, `\ufffd`...)
		case r == 0x2028 || r == 0x2029: // some readers of lines take them for line ends
			b = append(b, `\u202`...)
			b = append(b, hex[r&15])
		default:
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return append(b, '"')
}
