package ptb

import (
	"strings"
	"unicode"
)

// lower is Java's String.toLowerCase in the root locale: the full mapping of
// U+0130 and the final form of sigma.
func lower(s string) string {
	if !strings.ContainsAny(s, "\u0130\u03a3") {
		return strings.ToLower(s)
	}
	rs := []rune(s)
	var cuts []bool
	var b strings.Builder
	for i, r := range rs {
		switch r {
		case 0x130:
			b.WriteString("i\u0307")
		case 0x3a3:
			if cuts == nil {
				cuts = wordCuts(rs)
			}
			if finalSigma(rs, cuts, i) {
				b.WriteRune(0x3c2)
			} else {
				b.WriteRune(0x3c3)
			}
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// finalSigma reports whether the sigma at i stands at the end of a word: after
// a cased letter and before none, as far as Java's word goes.
func finalSigma(rs []rune, cuts []bool, i int) bool {
	for j := i; !cuts[j]; j-- {
		if !cased(rs[j-1]) {
			continue
		}
		for k := i + 1; !cuts[k]; k++ {
			if cased(rs[k]) {
				return false
			}
		}
		return true
	}
	return false
}

func cased(r rune) bool {
	return unicode.In(r, unicode.Ll, unicode.Lu, unicode.Lt) || r == 0x345 || r == 0x37a ||
		r >= 0x2b0 && r <= 0x2b8 || r == 0x2c0 || r == 0x2c1 || r >= 0x2e0 && r <= 0x2e4 ||
		r >= 0x1d2c && r <= 0x1d61 || r >= 0x2160 && r <= 0x217f || r >= 0x24b6 && r <= 0x24e9
}

// Classes of characters of Java's word iterator.
type wordClass uint8

const (
	other wordClass = iota
	letter
	digit
	blank
	kanji
	hiragana
	katakana
	diacritic // of kana, which joins the run before it
	danda
	mark   // joins the character before it
	format // is nowhere a boundary
)

func classOf(r rune) wordClass {
	switch {
	case r == 0x3005, r >= 0x4e00 && r <= 0x9fa5, r >= 0xf900 && r <= 0xfa2d:
		return kanji
	case r >= 0x3041 && r <= 0x3094, r == 0x309d, r == 0x309e:
		return hiragana
	case r >= 0x30a1 && r <= 0x30fa, r == 0x30fd, r == 0x30fe:
		return katakana
	case r >= 0x3099 && r <= 0x309c, r == 0x30fb, r == 0x30fc:
		return diacritic
	case r == 0x964, r == 0x965:
		return danda
	case r == 0xad:
		return other
	case unicode.Is(unicode.Cf, r):
		return format
	case unicode.In(r, unicode.Mn, unicode.Me):
		return mark
	case unicode.IsLetter(r):
		return letter
	case unicode.IsNumber(r):
		return digit
	case r == '\t', unicode.Is(unicode.Zs, r):
		return blank
	}
	return other
}

// voiced are kana's sound marks, which are marks anywhere else.
func voiced(r rune) bool { return r == 0x3099 || r == 0x309a }

func midWord(r rune) bool {
	return r == '"' || r == '\'' || r == '.' || r == 0xad || r == 0x2027 || r != 0x30fb && unicode.In(r, unicode.Pd, unicode.Pc)
}

func midNumber(r rune) bool {
	return r == '"' || r == '\'' || r == '.' || r == ',' || r == 0x66b
}

func preNumber(r rune) bool {
	return r == '#' || r == '.' || r != 0xa2 && unicode.Is(unicode.Sc, r)
}

func postNumber(r rune) bool {
	return r == '%' || r == '&' || r == 0xa2 || r == 0x66a || r == 0x2030 || r == 0x2031
}

// A wordScan cuts text as Java's BreakIterator cuts words.
type wordScan struct {
	rs []rune
	at int
}

// wordCuts reports for each place of rs, its end included, whether Java's word
// iterator has a boundary there.
func wordCuts(rs []rune) []bool {
	cuts := make([]bool, len(rs)+1)
	w := wordScan{rs: rs}
	for cuts[0] = true; w.at < len(rs); cuts[w.at] = true {
		w.one()
	}
	return cuts
}

// peek returns the next character, format characters passed over, and its
// class.
func (w *wordScan) peek() (rune, wordClass, bool) {
	for ; w.at < len(w.rs); w.at++ {
		if c := classOf(w.rs[w.at]); c != format {
			return w.rs[w.at], c, true
		}
	}
	return 0, other, false
}

// take passes a character and what joins it.
func (w *wordScan) take() {
	for w.at++; w.at < len(w.rs); w.at++ {
		if c := classOf(w.rs[w.at]); c != mark && c != format && !voiced(w.rs[w.at]) {
			return
		}
	}
}

// run takes characters of one class, pieces of it joined by single ones for
// which inner holds.
func (w *wordScan) run(class wordClass, inner func(rune) bool) bool {
	_, c, ok := w.peek()
	if !ok || c != class {
		return false
	}
	for {
		for ok && c == class {
			w.take()
			_, c, ok = w.peek()
		}
		back := w.at
		if r, _, ok := w.peek(); !ok || !inner(r) {
			return true
		}
		w.at++
		if _, c, ok = w.peek(); !ok || c != class {
			w.at = back
			return true
		}
	}
}

// one takes what lies between two boundaries.
func (w *wordScan) one() {
	start := w.at
	r, c, ok := w.peek()
	if !ok {
		return
	}
	switch {
	case c == letter, c == digit:
		w.alternate()
	case preNumber(r):
		w.take()
		if classOf(w.rs[w.at-1]) == mark {
			return
		}
		if _, c, ok := w.peek(); ok && c == digit {
			w.alternate()
		}
	case c == blank:
		for ok && c == blank {
			w.take()
			_, c, ok = w.peek()
		}
	case c == kanji:
		for ok && c == kanji {
			w.take()
			_, c, ok = w.peek()
		}
	case c == hiragana, c == katakana, c == diacritic:
		first := c
		if voiced(r) { // joins nothing here, and nothing joins it but kana
			w.at++
			_, c, ok = w.peek()
		}
		for ok && (c == first || c == diacritic || first == diacritic && (c == hiragana || c == katakana)) {
			if first == diacritic {
				first = c
			}
			w.take()
			_, c, ok = w.peek()
		}
	case c == mark, r == 0xad:
		w.at++
		_, _, _ = w.peek()
	default:
		w.take()
	}
	if w.at == start {
		w.at++
	}
}

// alternate takes words and numbers that follow one another.
func (w *wordScan) alternate() {
	for {
		if w.run(letter, midWord) {
			if _, c, ok := w.peek(); ok && c == danda {
				w.at++
			}
		}
		if !w.run(digit, midNumber) {
			return
		}
		if r, c, ok := w.peek(); ok && c != letter && postNumber(r) {
			w.take()
			return
		}
	}
}
