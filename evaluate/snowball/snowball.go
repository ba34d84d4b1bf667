// Package snowball is the Snowball stemmer of English, known as Porter2
// (Porter 2001), as METEOR 1.5 carries it. It is another algorithm than that of
// evaluate/porter.
//
// All functions are safe for concurrent use.
package snowball

import "slices"

var special = map[string]string{
	"skis": "ski", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie", "idly": "idl", "gently": "gentl", "ugly": "ugli",
	"early": "earli", "only": "onli", "singly": "singl",
	"sky": "sky", "news": "news", "howe": "howe", "atlas": "atlas", "cosmos": "cosmos", "bias": "bias", "andes": "andes",
}

// finished are words that end after step 1a.
var finished = []string{"inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed"}

// A word is being stemmed. Consonant y is 'Y'. Regions r1 and r2 begin at those
// places.
type word struct {
	b      []rune
	r1, r2 int
}

// Stem returns the stem of a word in lower case.
func Stem(s string) string {
	if out, ok := special[s]; ok {
		return out
	}
	w := &word{b: []rune(s)}
	if len(w.b) < 3 {
		return s
	}
	w.prepare()
	w.step1a()
	if !slices.Contains(finished, string(w.b)) {
		w.step1b()
		w.step1c()
		w.step2()
		w.step3()
		w.step4()
		w.step5()
	}
	for i, c := range w.b {
		if c == 'Y' {
			w.b[i] = 'y'
		}
	}
	return string(w.b)
}

func vowel(c rune) bool {
	switch c {
	case 'a', 'e', 'i', 'o', 'u', 'y':
		return true
	}
	return false
}

// prepare marks the consonants y and the regions.
func (w *word) prepare() {
	if w.b[0] == '\'' {
		w.b = w.b[1:]
	}
	for i, c := range w.b {
		if c == 'y' && (i == 0 || vowel(w.b[i-1])) {
			w.b[i] = 'Y'
		}
	}
	w.r1 = -1
	for _, p := range []string{"gener", "commun", "arsen"} {
		if len(w.b) >= len(p) && string(w.b[:len(p)]) == p {
			w.r1 = len(p)
		}
	}
	if w.r1 < 0 {
		w.r1 = w.region(0)
	}
	w.r2 = w.region(w.r1)
}

// region returns the place behind the first consonant that follows a vowel.
func (w *word) region(from int) int {
	for i := from + 1; i < len(w.b); i++ {
		if !vowel(w.b[i]) && vowel(w.b[i-1]) {
			return i + 1
		}
	}
	return len(w.b)
}

func (w *word) ends(s string) bool {
	n := len(w.b) - len(s)
	return n >= 0 && string(w.b[n:]) == s
}

// longest returns the longest of some suffixes that the word ends with.
func (w *word) longest(suffixes ...string) string {
	best := ""
	for _, s := range suffixes {
		if len(s) > len(best) && w.ends(s) {
			best = s
		}
	}
	return best
}

// replace puts text in place of the last n letters.
func (w *word) replace(n int, text string) { w.b = append(w.b[:len(w.b)-n], []rune(text)...) }

// vowelBefore reports a vowel in front of the last n letters.
func (w *word) vowelBefore(n int) bool { return slices.ContainsFunc(w.b[:max(0, len(w.b)-n)], vowel) }

// short reports a short syllable in front of the last n letters.
func (w *word) short(n int) bool {
	b := w.b[:len(w.b)-n]
	k := len(b)
	if k < 2 || vowel(b[k-1]) || !vowel(b[k-2]) {
		return false
	}
	if k == 2 {
		return true
	}
	c := b[k-1]
	return c != 'w' && c != 'x' && c != 'Y' && !vowel(b[k-3])
}

func (w *word) step1a() {
	w.replace(len(w.longest("'", "'s", "'s'")), "")
	switch s := w.longest("sses", "ied", "ies", "us", "ss", "s"); s {
	case "sses":
		w.replace(2, "")
	case "ied", "ies":
		if len(w.b) > 4 {
			w.replace(2, "")
		} else {
			w.replace(1, "")
		}
	case "s":
		if w.vowelBefore(2) {
			w.replace(1, "")
		}
	}
}

func (w *word) step1b() {
	s := w.longest("eed", "eedly", "ed", "edly", "ing", "ingly")
	switch s {
	case "":
		return
	case "eed", "eedly":
		if len(w.b)-len(s) >= w.r1 {
			w.replace(len(s), "ee")
		}
		return
	}
	if !w.vowelBefore(len(s)) {
		return
	}
	w.replace(len(s), "")
	switch w.longest("at", "bl", "iz", "bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt") {
	case "":
		if len(w.b) == w.r1 && w.short(0) {
			w.replace(0, "e")
		}
	case "at", "bl", "iz":
		w.replace(0, "e")
	default:
		w.replace(1, "")
	}
}

func (w *word) step1c() {
	n := len(w.b)
	if n > 2 && (w.b[n-1] == 'y' || w.b[n-1] == 'Y') && !vowel(w.b[n-2]) {
		w.b[n-1] = 'i'
	}
}

var second = map[string]string{
	"tional": "tion", "enci": "ence", "anci": "ance", "abli": "able", "entli": "ent", "izer": "ize", "ization": "ize",
	"ational": "ate", "ation": "ate", "ator": "ate", "alism": "al", "aliti": "al", "alli": "al", "fulness": "ful",
	"ousli": "ous", "ousness": "ous", "iveness": "ive", "iviti": "ive", "biliti": "ble", "bli": "ble", "ogi": "og",
	"fulli": "ful", "lessli": "less", "li": "",
}

var third = map[string]string{
	"tional": "tion", "ational": "ate", "alize": "al", "icate": "ic", "iciti": "ic", "ical": "ic", "ful": "", "ness": "", "ative": "",
}

var (
	secondSuffixes = keys(second)
	thirdSuffixes  = keys(third)
)

func keys(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func (w *word) step2() {
	s := w.longest(secondSuffixes...)
	at := len(w.b) - len(s)
	if s == "" || at < w.r1 {
		return
	}
	switch {
	case s == "ogi" && (at == 0 || w.b[at-1] != 'l'):
	case s == "li" && (at == 0 || !slices.Contains([]rune("cdeghkmnrt"), w.b[at-1])):
	default:
		w.replace(len(s), second[s])
	}
}

func (w *word) step3() {
	s := w.longest(thirdSuffixes...)
	at := len(w.b) - len(s)
	if s == "" || at < w.r1 || s == "ative" && at < w.r2 {
		return
	}
	w.replace(len(s), third[s])
}

func (w *word) step4() {
	s := w.longest("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ism", "ate", "iti", "ous", "ive", "ize", "ion")
	at := len(w.b) - len(s)
	if s == "" || at < w.r2 || s == "ion" && (at == 0 || w.b[at-1] != 's' && w.b[at-1] != 't') {
		return
	}
	w.replace(len(s), "")
}

func (w *word) step5() {
	at := len(w.b) - 1
	switch {
	case w.ends("e") && (at >= w.r2 || at >= w.r1 && !w.short(1)), w.ends("l") && at >= w.r2 && at > 0 && w.b[at-1] == 'l':
		w.replace(1, "")
	}
}
