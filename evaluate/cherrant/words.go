package cherrant

import (
	"strings"
	"unicode/utf8"

	"espalier/evaluate/pytext"
	"espalier/tokenize/chars"
)

// A vocabulary cuts text as BERT's tokenizer does, case kept, save that a word
// it cannot cut stays whole.
type vocabulary struct{ pieces map[string]bool }

// longestWord is how many characters a word may have that is cut; unknown
// stands for longer ones.
const (
	longestWord = 100
	unknown     = "[UNK]"
)

func (v *vocabulary) cut(text string) []string {
	table := chars.Load()
	var b strings.Builder
	for _, r := range text {
		switch table.Of(r).SlowBert() {
		case chars.Drop:
		case chars.Blank:
			b.WriteByte(' ')
		case chars.Punct, chars.Ideograph:
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	var out []string
	for _, w := range pytext.Fields(b.String()) {
		out = v.word(out, w)
	}
	return out
}

// word appends the pieces of a word, always the longest that fits.
func (v *vocabulary) word(out []string, w string) []string {
	if utf8.RuneCountInString(w) > longestWord {
		return append(out, unknown)
	}
	before := len(out)
	for from := 0; from < len(w); {
		inside := ""
		if from > 0 {
			inside = "##"
		}
		to := len(w)
		for to > from && !v.pieces[inside+w[from:to]] {
			_, n := utf8.DecodeLastRuneInString(w[from:to])
			to -= n
		}
		if to == from {
			return append(out[:before], w)
		}
		out = append(out, inside+w[from:to])
		from = to
	}
	return out
}
