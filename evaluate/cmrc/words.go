package cmrc

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"espalier/evaluate/pytext"
)

// A contraction is two words written as one.
type contraction struct {
	first, second string
	blankAfter    bool // a blank follows, else the end of a word
	blankBefore   bool
}

var contractions = []contraction{
	{first: "can", second: "not"},
	{first: "d", second: "'ye"},
	{first: "gim", second: "me"},
	{first: "gon", second: "na"},
	{first: "got", second: "ta"},
	{first: "lem", second: "me"},
	{first: "more", second: "'n"},
	{first: "wan", second: "na", blankAfter: true},
	{first: "'t", second: "is", blankBefore: true},
	{first: "'t", second: "was", blankBefore: true},
}

// A step replaces matches of a pattern.
type step struct {
	pattern *regexp.Regexp
	with    string
}

func steps(pairs ...string) []step {
	var out []step
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, step{regexp.MustCompile(pairs[i]), pairs[i+1]})
	}
	return out
}

const space = `[\s\x{1c}-\x{1f}\x{85}\pZ\x{0b}]`

var opening = steps(
	"([«“‘„]|`+)", " $1 ",
	`^"`, "``",
	"(``)", " $1 ",
	`([ (\[{<])("|'{2})`, "$1 `` ",
)

var inside = steps(
	`([^.])(\.)([\])}>"'»”’ ]*)`+space+`*$`, "$1 $2 $3 ",
	`([:,])([^\pN])`, " $1 $2",
	`([:,])$`, " $1 ",
	`\.{2,}`, " $0 ",
	`[;@#$%&]`, " $0 ",
	`[\x{2012}-\x{2015}]`, " $0 ",
	`([^.])(\.)([\])}>"']*)`+space+`*$`, "$1 $2$3 ",
	`[?!]`, " $0 ",
	`([^'])' `, "$1 ' ",
	`\*`, " $0 ",
	`[\][(){}<>]`, " $0 ",
	`--`, " -- ",
)

var closing = steps(
	"([»”’])", " $1 ",
	`''`, " '' ",
	`"`, " '' ",
	space+`+`, " ",
	`([^' ])('[sS]|'[mM]|'[dD]|') `, "$1 $2 ",
	`([^' ])('ll|'re|'ve|n't) `, "$1 $2 ",
)

func apply(list []step, s string) string {
	for _, x := range list {
		s = x.pattern.ReplaceAllString(s, strings.ReplaceAll(strings.ReplaceAll(x.with, "$1", "${1}"), "$2", "${2}"))
	}
	return s
}

// split puts blanks where words end.
func split(s string) string {
	s = apply(opening, s)
	s = startingApostrophes(s)
	s = " " + apply(inside, s) + " "
	s = apply(closing, s)
	for _, c := range contractions {
		s = c.split(s)
	}
	return s
}

func isWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r)
}

// wordBefore and wordAt report the character of a word before and at a place.
func wordBefore(s string, i int) bool {
	r, n := utf8.DecodeLastRuneInString(s[:i])
	return n > 0 && isWord(r)
}

func wordAt(s string, i int) bool {
	r, n := utf8.DecodeRuneInString(s[i:])
	return n > 0 && isWord(r)
}

var clitics = []string{"re", "ve", "ll", "m", "t", "s", "d", "n"}

// startingApostrophes sets off apostrophes that begin a word, unless it is a
// clitic.
func startingApostrophes(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		b.WriteByte(s[i])
		if s[i] != '\'' || wordBefore(s, i) || !wordAt(s, i+1) {
			continue
		}
		clitic := false
		for _, c := range clitics {
			if strings.HasPrefix(s[i+1:], c) && !wordAt(s, i+1+len(c)) {
				clitic = true
			}
		}
		if !clitic {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// split sets blanks around both words of a contraction.
func (c contraction) split(s string) string {
	whole := c.first + c.second
	var b strings.Builder
	for from := 0; ; {
		i := strings.Index(s[from:], whole)
		if i < 0 {
			b.WriteString(s[from:])
			return b.String()
		}
		i += from
		end := i + len(whole)
		begins := !wordBefore(s, i)
		start := i
		if c.blankBefore {
			begins = i > from && s[i-1] == ' '
			start--
		}
		ends := !wordAt(s, end)
		if c.blankAfter {
			r, n := utf8.DecodeRuneInString(s[end:])
			ends = n > 0 && pytext.IsSpace(r)
		}
		if !begins || !ends {
			b.WriteString(s[from : i+1])
			from = i + 1
			continue
		}
		b.WriteString(s[from:start])
		b.WriteString(" " + c.first + " " + c.second + " ")
		from = end
	}
}
