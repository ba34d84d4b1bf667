// Package rawjson reads JSON documents of any size as their publishers ship
// them, in bounded memory and strictly.
//
// It works in two steps. A [Scanner] walks a document whose rows stand in big
// arrays, such as {"images": [...], "annotations": [...]}, and finds where each
// element lies: it looks at quotes, brackets and commas only, so that a damaged
// value costs one element and not the file. A [Parser] then reads one element by
// the letter of RFC 8259: invalid UTF-8, lone surrogates, raw control
// characters, NaN, trailing commas and the like are errors with a place. Of
// repeated names the last wins; names nobody asks for are checked and ignored.
//
// Byte slices handed out point into buffers that the next call may overwrite.
// Neither type is safe for concurrent use.
package rawjson

import "fmt"

// MaxElement is the longest element of an array, or value of the outermost
// object, that a Scanner holds in memory.
const MaxElement = 64 << 20

// maxDepth bounds the nesting that a Parser accepts.
const maxDepth = 1000

// EndsEarly is the reason for JSON that is cut off.
const EndsEarly = "JSON ends early"

// A SyntaxError says where and why bytes are not JSON.
type SyntaxError struct {
	Offset int64 // in what was read: the element for a Parser, the document for a Scanner
	Reason string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.Reason, e.Offset) }

// A DocumentError says that a document cannot be read on from Offset.
type DocumentError struct {
	Offset int64
	Line   int64  // 1-based line of Offset
	Field  string // name of a member that is missing or of the wrong kind
	Reason string
}

func (e *DocumentError) Error() string {
	if e.Field != "" {
		return fmt.Sprintf("line %d: %s: %s", e.Line, e.Field, e.Reason)
	}
	return fmt.Sprintf("line %d, byte %d: %s", e.Line, e.Offset, e.Reason)
}

// A Kind is what a value is.
type Kind byte

// The kinds of JSON values. Invalid is what starts none of them.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	Text
	Array
	Object
)

var kindNames = [...]string{"nothing", "null", "truth value", "number", "text", "array", "object"}

// String returns the kind's name in messages, such as "text".
func (k Kind) String() string { return kindNames[k] }

// want is the name with its article where it takes one.
func (k Kind) want() string {
	switch k {
	case Bool, Number:
		return "a " + kindNames[k]
	case Array, Object:
		return "an " + kindNames[k]
	}
	return kindNames[k]
}

// Mismatch words the reason for a value of the wrong kind, such as "number
// where text is expected".
func Mismatch(got, want Kind) string {
	return got.String() + " where " + want.want() + " is expected"
}

// Kinds and classes of bytes.
const (
	cPlain   = iota // may stand in a string as it is
	cControl        // below 0x20
	cQuote
	cEscape
	cOpen  // { [
	cClose // } ]
	cHigh  // 0x80 and above
)

var class [256]byte

// kindOf tells a value's kind by its first byte.
var kindOf [256]Kind

func init() {
	for c := range class {
		switch {
		case c < 0x20:
			class[c] = cControl
		case c >= 0x80:
			class[c] = cHigh
		}
	}
	class['"'], class['\\'] = cQuote, cEscape
	class['{'], class['['] = cOpen, cOpen
	class['}'], class[']'] = cClose, cClose
	kindOf['n'], kindOf['t'], kindOf['f'], kindOf['"'], kindOf['['], kindOf['{'] = Null, Bool, Bool, Text, Array, Object
	for c := '0'; c <= '9'; c++ {
		kindOf[c] = Number
	}
	kindOf['-'] = Number
}
