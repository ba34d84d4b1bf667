package spm

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"espalier/tokenize/trie"
)

// A normSpec is the file's NormalizerSpec.
type normSpec struct {
	name                     string
	chars                    string
	prefix, collapse, escape bool
	suffix                   bool // of the trainer's spec
}

func newNormSpec() normSpec { return normSpec{prefix: true, collapse: true, escape: true} }

func (s *normSpec) parse(b string, offset int) error {
	return fields(b, offset, func(f field, _ int) error {
		switch {
		case f.is(1, blob):
			s.name = f.bytes
		case f.is(2, blob):
			s.chars = f.bytes
		case f.is(3, varint):
			s.prefix = f.bool()
		case f.is(4, varint):
			s.collapse = f.bool()
		case f.is(5, varint):
			s.escape = f.bool()
		}
		return nil
	})
}

func (s *normSpec) build(users []string) (*Normalizer, error) {
	n := &Normalizer{Name: s.name, Prefix: s.prefix, Collapse: s.collapse, Escape: s.escape, Suffix: s.suffix}
	var err error
	if len(s.chars) > 0 {
		if n.chars, err = parseCharMap(s.chars); err != nil {
			return nil, fmt.Errorf("character map: %w", err)
		}
	}
	if len(users) > 0 {
		if n.users, err = trie.New(users); err != nil {
			return nil, err
		}
		for _, u := range users {
			n.heads[u[0]] = true
		}
	}
	return n, nil
}

// A Normalizer makes of a text what pieces are looked for in. Each byte that
// begins no well-formed sequence becomes U+FFFD.
type Normalizer struct {
	Name     string
	Prefix   bool // a blank is put in front, or behind if Suffix
	Collapse bool // blanks at both ends go, runs of them become one
	Escape   bool // blanks become marks
	Suffix   bool

	chars *charMap   // nil: characters stay as they are
	users *trie.Trie // user-defined pieces, left as they are; nil if there are none
	heads [256]bool  // their first bytes
}

// Identity reports whether characters other than blanks stay as they are.
func (n *Normalizer) Identity() bool { return n.chars == nil }

// ByWord reports whether what lies between two blanks becomes the same,
// whatever text surrounds it, and always begins with a mark of its own.
func (n *Normalizer) ByWord() bool {
	return n.Prefix && n.Collapse && n.Escape && !n.Suffix && (n.chars == nil || !n.chars.joins(' '))
}

// WithoutPrefix returns the normalizer that puts no blank in front.
func (n *Normalizer) WithoutPrefix() *Normalizer {
	c := *n
	c.Prefix = false
	return &c
}

// next returns what the beginning of a text becomes and its length.
func (n *Normalizer) next(text string) (to string, size int) {
	if n.heads[text[0]] {
		if size, _ := n.users.Longest(text); size > 0 {
			return text[:size], size
		}
	}
	if n.chars != nil {
		if to, size := n.chars.longest(text); size > 0 {
			return to, size
		}
	}
	r, size := utf8.DecodeRuneInString(text)
	if r == utf8.RuneError && size == 1 {
		return "\uFFFD", 1
	}
	return text[:size], size
}

// Append appends the normal form of a text.
func (n *Normalizer) Append(dst []byte, text string) []byte {
	dst, _ = n.normalize(dst, nil, text, false)
	return dst
}

// AppendMapped is Append that tells where in the text each byte comes from: for
// each appended byte, and for the end, from has one place.
func (n *Normalizer) AppendMapped(dst []byte, from []int32, text string) ([]byte, []int32) {
	return n.normalize(dst, from, text, true)
}

func (n *Normalizer) normalize(dst []byte, from []int32, text string, mapped bool) ([]byte, []int32) {
	at := 0 // consumed bytes of text
	if n.Collapse {
		for at < len(text) {
			to, size := n.next(text[at:])
			if to != " " {
				break
			}
			at += size
		}
	}
	if at == len(text) {
		if mapped {
			from = append(from, int32(at))
		}
		return dst, from
	}
	start, space := len(dst), " "
	if n.Escape {
		space = Mark
	}
	put := func(s string) {
		dst = append(dst, s...)
		if mapped {
			for range len(s) {
				from = append(from, int32(at))
			}
		}
	}
	if n.Prefix && !n.Suffix {
		put(space)
	}
	before := n.Collapse // a blank, or nothing, is before
	for at < len(text) {
		if c := text[at]; c > ' ' && c < 0x80 && !n.heads[c] && (at+1 == len(text) || text[at+1] < 0x80) && (n.chars == nil || n.chars.ascii[c]) {
			dst = append(dst, c)
			if mapped {
				from = append(from, int32(at))
			}
			before = false
			at++
			continue
		}
		to, size := n.next(text[at:])
		if before {
			to = strings.TrimLeft(to, " ")
		}
		if to != "" {
			before = n.Collapse && to[len(to)-1] == ' '
			for n.Escape {
				k := strings.IndexByte(to, ' ')
				if k < 0 {
					break
				}
				put(to[:k])
				put(space)
				to = to[k+1:]
			}
			put(to)
		}
		at += size
	}
	if n.Collapse {
		for bytes.HasSuffix(dst[start:], []byte(space)) {
			dst = dst[:len(dst)-len(space)]
			if mapped {
				at = int(from[len(from)-len(space)])
				from = from[:len(from)-len(space)]
			}
		}
	}
	if n.Prefix && n.Suffix {
		put(space)
	}
	if mapped {
		from = append(from, int32(at))
	}
	return dst, from
}

// Plain reports whether a text is of blanks and visible ASCII characters that
// stay what they are.
func (n *Normalizer) Plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7F || n.chars != nil && !n.chars.ascii[c] {
			return false
		}
	}
	return true
}

// AppendByCluster appends the text as the converted (fast) Hugging Face classes
// map its characters: grapheme clusters of less than six bytes become what their
// shortest key stands for, all others are mapped a character at a time. Blanks
// stay. Joins reports whether a character belongs to the one before. For each
// appended byte, and for the end, from gets a place in the text.
func (n *Normalizer) AppendByCluster(dst []byte, from []int32, text string, joins func(r rune) bool) ([]byte, []int32) {
	put := func(s string, at int) {
		dst = append(dst, s...)
		for range len(s) {
			from = append(from, int32(at))
		}
	}
	for at := 0; at < len(text); {
		end := Cluster(text, at, joins)
		cluster := text[at:end]
		if len(cluster) < 6 && n.chars != nil {
			if to, size := n.chars.shortest(cluster); size > 0 {
				put(to, at)
				at = end
				continue
			}
		}
		for at < end {
			r, size := utf8.DecodeRuneInString(text[at:end])
			c := text[at : at+size]
			if r == utf8.RuneError && size == 1 {
				c = "\uFFFD"
			}
			if n.chars != nil {
				if to, hit := n.chars.shortest(c); hit > 0 {
					c = to
				}
			}
			put(c, at)
			at += size
		}
	}
	return dst, append(from, int32(len(text)))
}

// Cluster returns where the grapheme cluster that begins at a place ends, as far
// as it matters to clusters of less than six bytes. Joins reports whether a
// character belongs to the one before.
func Cluster(text string, at int, joins func(r rune) bool) int {
	r, size := utf8.DecodeRuneInString(text[at:])
	end := at + size
	if r == '\r' && end < len(text) && text[end] == '\n' {
		return end + 1
	}
	if breaks(r) {
		return end
	}
	for end < len(text) {
		r, size := utf8.DecodeRuneInString(text[end:])
		if !joins(r) {
			break
		}
		end += size
	}
	return end
}

// breaks reports whether nothing joins a character: a control character.
func breaks(r rune) bool {
	return r < 0x20 || 0x7F <= r && r < 0xA0 || r == 0xAD || r == 0x61C || r == 0x180E || r == 0x200B || r == 0x200E || r == 0x200F ||
		0x2028 <= r && r <= 0x202E || 0x2060 <= r && r <= 0x206F || r == 0xFEFF || 0xFFF0 <= r && r <= 0xFFFB
}
