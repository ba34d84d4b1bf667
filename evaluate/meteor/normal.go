package meteor

import (
	"regexp"
	"strings"
	"sync"
	"unicode"

	"espalier/evaluate/pytext"
)

// rules are replacements of one pattern by another.
type rules []rule

type rule struct {
	pattern func() *regexp.Regexp // compiled when it is needed
	by      string
}

func newRules(pairs ...string) rules {
	var out rules
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, rule{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pairs[i]) }), pairs[i+1]})
	}
	return out
}

func (r rules) apply(s string) string {
	for _, x := range r {
		s = x.pattern().ReplaceAllString(s, x.by)
	}
	return s
}

var (
	// Letters are Latin and Cyrillic ones; all others stand alone.
	marks       = newRules(`([^a-zA-Z0-9\x{00C0}-\x{024F}\x{0400}-\x{052F}\s.'`+"`"+`,\-‘’])`, " $1 ")
	commas      = newRules(`([^\p{N}]),([^\p{N}])`, "$1 , $2", `(\p{N}),([^\p{N}])`, "$1 , $2", `([^\p{N}]),(\p{N})`, "$1 , $2")
	quotes      = strings.NewReplacer("`", "'", "‘", "'", "’", "'")
	double      = strings.NewReplacer("''", ` " `, "“", ` " `, "”", ` " `)
	dashes      = newRules(`–`, "-", `--`, "-", `([\p{L}\p{N}.])-([\p{L}\p{N}])`, "$1 $2")
	apostrophes = newRules(`([^\p{L}])'([^\p{L}])`, "$1 ' $2", `([^\p{L}\p{N}])'(\p{L})`, "$1 ' $2", `(\p{L})'([^\p{L}])`, "$1 ' $2",
		`(\p{L})'(\p{L})`, "$1 '$2", `(\p{N})'(s)`, "$1 's")
	dots = newRules(`(\.\.+)`, " $1 ")
)

// Plain reports text that Words only splits at its blanks.
func Plain(s string) bool {
	blank := true
	for i := range len(s) {
		c := s[i]
		switch {
		case c == ' ' && !blank:
			blank = true
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			blank = false
		default:
			return false
		}
	}
	return !blank
}

// Words separates punctuation from words, lowers case and splits at blanks.
func (d *Data) Words(s string) []string { return strings.Fields(d.normalise(s)) }

func (d *Data) normalise(s string) string {
	if Plain(s) {
		return s
	}
	s = marks.apply(" " + s + " ")
	s = dots.apply(s)
	s = commas.apply(s)
	s = double.Replace(quotes.Replace(s))
	s = dashes.apply(s)
	s = apostrophes.apply(s)
	words := strings.Fields(s)
	for i, w := range words {
		stem, dot := strings.CutSuffix(w, ".")
		if !dot || strings.Trim(stem, ".") == "" {
			continue
		}
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		words[i] = d.lastDot(stem, next)
	}
	return pytext.Lower(strings.Join(words, " "))
}

// lastDot treats a word that ends with a dot.
func (d *Data) lastDot(stem, next string) string {
	first := []rune(next + " ")[0]
	switch kind, known := d.prefixes[stem]; {
	case strings.Contains(stem, ".") && strings.IndexFunc(stem, unicode.IsLetter) >= 0:
		return strings.ReplaceAll(stem, ".", "")
	case known && !kind, unicode.IsLower(first), known && kind && unicode.IsDigit(first):
		return stem + "."
	}
	return stem + " ."
}
