// Package porter stems English words as NLTK's PorterStemmer does in its
// default mode, which extends Porter's algorithm of 1980 by later rules of his
// own and by a few of NLTK's.
package porter

import "strings"

// irregular are words with a stem of their own.
var irregular = map[string]string{
	"sky": "sky", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie", "news": "news",
	"innings": "inning", "inning": "inning", "outings": "outing", "outing": "outing", "cannings": "canning", "canning": "canning",
	"howe": "howe", "proceed": "proceed", "exceed": "exceed", "succeed": "succeed",
}

// A suffix is one ending with what replaces it.
type suffix struct {
	from, to string
	ok       func(stem string) bool
}

// Stem returns the stem of a word in lower case.
func Stem(w string) string {
	if s, ok := irregular[w]; ok {
		return s
	}
	if len(w) <= 2 {
		return w
	}
	for _, step := range []func(string) string{plural, past, finalY, step2, step3, step4, finalE, doubleL} {
		w = step(w)
	}
	return w
}

// consonant reports whether the letter at i is one: y is after a vowel or at
// the start.
func consonant(w string, i int) bool {
	switch w[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return false
	case 'y':
		return i == 0 || !consonant(w, i-1)
	}
	return true
}

// measure counts the changes from vowels to consonants.
func measure(w string) int {
	n := 0
	vowel := false
	for i := range len(w) {
		c := consonant(w, i)
		if c && vowel {
			n++
		}
		vowel = !c
	}
	return n
}

func positive(w string) bool { return measure(w) > 0 }
func above1(w string) bool   { return measure(w) > 1 }
func always(string) bool     { return true }

func hasVowel(w string) bool {
	for i := range len(w) {
		if !consonant(w, i) {
			return true
		}
	}
	return false
}

// short reports an ending consonant, vowel, consonant, the last none of w, x
// and y; or a word of a vowel and a consonant.
func short(w string) bool {
	n := len(w)
	if n == 2 {
		return !consonant(w, 0) && consonant(w, 1)
	}
	return n >= 3 && consonant(w, n-3) && !consonant(w, n-2) && consonant(w, n-1) && !strings.ContainsRune("wxy", rune(w[n-1]))
}

// apply replaces the first ending that fits, if its condition holds.
func apply(w string, rules []suffix) string {
	for _, r := range rules {
		if strings.HasSuffix(w, r.from) {
			if stem := w[:len(w)-len(r.from)]; r.ok(stem) {
				return stem + r.to
			}
			return w
		}
	}
	return w
}

func plural(w string) string {
	if len(w) == 4 && strings.HasSuffix(w, "ies") {
		return w[:2] + "e"
	}
	return apply(w, []suffix{{"sses", "ss", always}, {"ies", "i", always}, {"ss", "ss", always}, {"s", "", always}})
}

func past(w string) string {
	if strings.HasSuffix(w, "ied") {
		if len(w) == 4 {
			return w[:3]
		}
		return w[:len(w)-2]
	}
	if strings.HasSuffix(w, "eed") {
		if positive(w[:len(w)-3]) {
			return w[:len(w)-1]
		}
		return w
	}
	stem := ""
	for _, end := range []string{"ed", "ing"} {
		if strings.HasSuffix(w, end) && hasVowel(w[:len(w)-len(end)]) {
			stem = w[:len(w)-len(end)]
			break
		}
	}
	n := len(stem)
	switch {
	case stem == "":
		return w
	case strings.HasSuffix(stem, "at"), strings.HasSuffix(stem, "bl"), strings.HasSuffix(stem, "iz"):
		return stem + "e"
	case n >= 2 && stem[n-1] == stem[n-2] && consonant(stem, n-1):
		if strings.ContainsRune("lsz", rune(stem[n-1])) {
			return stem
		}
		return stem[:n-1]
	case measure(stem) == 1 && short(stem):
		return stem + "e"
	}
	return stem
}

func finalY(w string) string {
	if n := len(w); n > 2 && w[n-1] == 'y' && consonant(w, n-2) {
		return w[:n-1] + "i"
	}
	return w
}

func step2(w string) string {
	if strings.HasSuffix(w, "alli") && positive(w[:len(w)-4]) {
		return step2(w[:len(w)-2])
	}
	return apply(w, []suffix{
		{"ational", "ate", positive},
		{"tional", "tion", positive},
		{"enci", "ence", positive},
		{"anci", "ance", positive},
		{"izer", "ize", positive},
		{"bli", "ble", positive},
		{"alli", "al", positive},
		{"entli", "ent", positive},
		{"eli", "e", positive},
		{"ousli", "ous", positive},
		{"ization", "ize", positive},
		{"ation", "ate", positive},
		{"ator", "ate", positive},
		{"alism", "al", positive},
		{"iveness", "ive", positive},
		{"fulness", "ful", positive},
		{"ousness", "ous", positive},
		{"aliti", "al", positive},
		{"iviti", "ive", positive},
		{"biliti", "ble", positive},
		{"fulli", "ful", positive},
		{"logi", "log", func(stem string) bool { return positive(stem + "l") }},
	})
}

func step3(w string) string {
	return apply(w, []suffix{
		{"icate", "ic", positive},
		{"ative", "", positive},
		{"alize", "al", positive},
		{"iciti", "ic", positive},
		{"ical", "ic", positive},
		{"ful", "", positive},
		{"ness", "", positive},
	})
}

func step4(w string) string {
	return apply(w, []suffix{
		{"al", "", above1},
		{"ance", "", above1},
		{"ence", "", above1},
		{"er", "", above1},
		{"ic", "", above1},
		{"able", "", above1},
		{"ible", "", above1},
		{"ant", "", above1},
		{"ement", "", above1},
		{"ment", "", above1},
		{"ent", "", above1},
		{"ion", "", func(s string) bool { return above1(s) && strings.ContainsRune("st", rune(s[len(s)-1])) }},
		{"ou", "", above1},
		{"ism", "", above1},
		{"ate", "", above1},
		{"iti", "", above1},
		{"ous", "", above1},
		{"ive", "", above1},
		{"ize", "", above1},
	})
}

func finalE(w string) string {
	if !strings.HasSuffix(w, "e") {
		return w
	}
	stem := w[:len(w)-1]
	if m := measure(stem); m > 1 || m == 1 && !short(stem) {
		return stem
	}
	return w
}

func doubleL(w string) string {
	if strings.HasSuffix(w, "ll") && above1(w[:len(w)-1]) {
		return w[:len(w)-1]
	}
	return w
}
