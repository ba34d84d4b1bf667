package ptb

import (
	"bytes"
	"unicode/utf8"

	"espalier/evaluate/pytext"
)

// Filter removes from a line of tokens what the caption tools call
// punctuation, in place, and returns the shorter line. Tokens are what stands
// between single blanks. Bracket names such as "-lrb-" stay: the tools' list has
// them in upper case, and the line is in lower case.
func Filter(line []byte) []byte {
	for len(line) > 0 { // a token of its own may end in a blank of another kind
		r, n := utf8.DecodeLastRune(line)
		if !pytext.IsSpace(r) {
			break
		}
		line = line[:len(line)-n]
	}
	out := line[:0]
	for first := true; len(line) > 0 || first; {
		word, rest, more := bytes.Cut(line, []byte{' '})
		if !Punctuation(word) {
			if !first {
				out = append(out, ' ')
			}
			out = append(out, word...)
			first = false
		}
		if !more {
			break
		}
		line = rest
	}
	return out
}

// Punctuation reports that Filter removes a token.
func Punctuation(word []byte) bool {
	if len(word) > 0 && word[0] >= 'a' { // as all but a few words
		return false
	}
	switch string(word) {
	case "''", "'", "``", "`", ".", "?", "!", ",", ":", "-", "--", "...", ";",
		"-LRB-", "-RRB-", "-LCB-", "-RCB-":
		return true
	}
	return false
}
