package rawfile

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// encodings are the encodings of raw files that may be declared. In all of them
// line ends and tabs are the bytes that they are in ASCII.
var encodings = map[string]encoding.Encoding{
	"utf-8":        nil,
	"latin-1":      charmap.ISO8859_1,
	"windows-1252": charmap.Windows1252,
	"gb18030":      simplifiedchinese.GB18030,
}

var encodingNames = map[string]string{"utf8": "utf-8", "latin1": "latin-1", "iso-8859-1": "latin-1", "cp1252": "windows-1252", "gbk": "gb18030", "gb2312": "gb18030"}

// Encoding returns the canonical name of a declared encoding.
func Encoding(name string) (string, error) {
	s := strings.ToLower(name)
	if canonical, ok := encodingNames[s]; ok {
		s = canonical
	}
	if _, ok := encodings[s]; !ok {
		return "", fmt.Errorf("encoding: %q, want utf-8, latin-1, windows-1252 or gb18030", name)
	}
	return s, nil
}

// A Decoder turns text of a declared encoding into UTF-8. It is not safe for
// concurrent use.
type Decoder struct {
	bytes *[256]rune // of an encoding of single bytes
	d     *encoding.Decoder
	buf   []byte
}

// NewDecoder returns the decoder of an encoding; "" is UTF-8.
func NewDecoder(name string) (*Decoder, error) {
	if name == "" {
		return &Decoder{}, nil
	}
	name, err := Encoding(name)
	if err != nil {
		return nil, err
	}
	d := &Decoder{}
	switch e := encodings[name].(type) {
	case nil:
	case *charmap.Charmap:
		d.bytes = new([256]rune)
		for c := range d.bytes {
			d.bytes[c] = e.DecodeByte(byte(c))
			if d.bytes[c] == utf8.RuneError {
				d.bytes[c] = rune(c) // as browsers do: 81 of windows-1252 is U+0081
			}
		}
	default:
		d.d = e.NewDecoder()
	}
	return d, nil
}

// Text returns text as UTF-8. Bytes that are no text of the encoding make it
// invalid UTF-8. The result lives until the next call.
func (d *Decoder) Text(b []byte) []byte {
	if d.bytes == nil && d.d == nil || ascii(b) {
		return b
	}
	d.buf = d.buf[:0]
	if d.bytes != nil {
		for _, c := range b {
			d.buf = utf8.AppendRune(d.buf, d.bytes[c])
		}
		return d.buf
	}
	d.d.Reset()
	d.buf = slices.Grow(d.buf, 3*len(b)+16)
	n, _, err := d.d.Transform(d.buf[:cap(d.buf)], b, true)
	out := d.buf[:n]
	if err != nil || bytes.ContainsRune(out, utf8.RuneError) {
		return append(out, 0xff)
	}
	return out
}

func ascii(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
