// Package cmrc scores extracted answers in Chinese as the script of CMRC 2018
// does (version 5): F1 by the longest run of pieces that prediction and answer
// share, exact match of the texts without a list of marks.
//
// The original cuts English inside a text into sentences with a trained model
// before it cuts words; here what stands between Chinese characters is one
// sentence. All functions are safe for concurrent use.
package cmrc

import (
	"slices"
	"strings"

	"espalier/evaluate/pytext"
)

// marks are the characters that count for nothing and stand alone. The original
// lists an ellipsis of two characters too, which no single one can equal.
const marks = "-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』"

// isMark reports a character of marks.
func isMark(r rune) bool { return strings.ContainsRune(marks, r) }

func isHan(r rune) bool { return r >= 0x4e00 && r <= 0x9fa5 }

// prepare is what both scores do first.
func prepare(s string) string { return pytext.Strip(pytext.Lower(s)) }

// Pieces cuts a text into Chinese characters and the words of what stands
// between them, marks left out.
func Pieces(s string) []string {
	var out []string
	var between strings.Builder
	flush := func() {
		if between.Len() > 0 {
			out = append(out, Words(between.String())...)
			between.Reset()
		}
	}
	for _, r := range prepare(s) {
		switch {
		case isMark(r):
		case isHan(r):
			flush()
			out = append(out, string(r))
		default:
			between.WriteRune(r)
		}
	}
	flush()
	return out
}

// plain returns a text without marks.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if isMark(r) {
			return -1
		}
		return r
	}, prepare(s))
}

// shared is the length of the longest run of pieces that both lists have.
func shared(a, b []string) int {
	row := make([]int, len(b)+1)
	best := 0
	for _, x := range a {
		left := 0 // the entry of the row above, one to the left
		for j, y := range b {
			above := row[j+1]
			row[j+1] = 0
			if x == y {
				row[j+1] = left + 1
				best = max(best, row[j+1])
			}
			left = above
		}
	}
	return best
}

// Score returns exact match and F1, each the best over the answers.
func Score(pred string, answers []string) (em, f float64) {
	p, bare := Pieces(pred), plain(pred)
	for _, a := range answers {
		if plain(a) == bare {
			em = 1
		}
		pieces := Pieces(a)
		n := shared(pieces, p)
		if n == 0 {
			continue
		}
		precision, recall := float64(n)/float64(len(p)), float64(n)/float64(len(pieces))
		f = max(f, float64(float64(2*precision)*recall)/(precision+recall))
	}
	return em, f
}

// Words cuts English text as NLTK 3.10.4's word tokenizer, for text in lower
// case.
func Words(s string) []string {
	if simple(s) {
		return pytext.Fields(s)
	}
	return pytext.Fields(split(s))
}

// simple reports text in which there is nothing to cut but blanks.
func simple(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c == ' ' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9') {
			return false
		}
	}
	return !slices.ContainsFunc(contractions, func(c contraction) bool { return strings.Contains(s, c.first+c.second) })
}
