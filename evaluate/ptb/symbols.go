package ptb

import (
	"sync"
	"unicode"
)

// A symbol is what the automaton reads: an ASCII character or a class of
// other characters that it never tells apart.
type symbol = uint8

// Symbols beyond ASCII. A character outside the basic plane is two symBad.
const (
	symLetter        symbol = iota + 0x80 // letters and digits of no interest, not upper case
	symUpper                              // upper-case letters
	symMark                               // combining marks and modifier letters
	symDigit                              // decimal digits that are not ASCII
	symSymbol                             // characters that are tokens of their own
	symSuper                              // superscript and subscript digits
	symSoftHyphen                         // U+00AD
	symHyphen                             // U+2010, U+2011, U+058A
	symArabic                             // Arabic decimal and thousands separators
	symLowQuote                           // low and reversed double quotes
	symFractionSlash                      // U+2044
	symIdeoComma                          // U+3001
	symDollar                             // euro and general currency signs
	symCent
	symPound
	symLeftQuote   // U+2018 and its kin
	symLeftAngle   // U+2039
	symRightQuote  // U+2019 and its kin
	symRightAngle  // U+203A
	symLeftDouble  // U+201C and its kin
	symRightDouble // U+201D and its kin
	symDash        // en dash and its kin
	symEllipsis85  // U+0085, read as cp1252
	symEllipsis    // U+2026
	symVulgar      // one-character fractions
	symNBSP
	symWide    // U+2000 to U+200A, U+3000
	symRoman   // U+2160 to U+216F: upper case, but no token
	symCircled // U+24B6 to U+24CF: upper case, tokens of their own
	symLineSep // U+2028, U+2029
	symBad     // what the reference deletes

	numSymbols = int(symBad) + 1
)

// classNames are the letters that stand for symbols in patterns.
var classNames = map[rune]symbolSet{
	'λ': setOf(symLetter), 'Λ': setOf(symUpper), 'μ': setOf(symMark), 'δ': setOf(symDigit), 'ψ': setOf(symSymbol),
	'π': setOf(symSuper), 'σ': setOf(symSoftHyphen), 'η': setOf(symHyphen), 'ρ': setOf(symArabic), 'κ': setOf(symLowQuote),
	'φ': setOf(symFractionSlash), 'ι': setOf(symIdeoComma), 'ε': setOf(symDollar), 'γ': setOf(symCent), 'θ': setOf(symPound),
	'‘': setOf(symLeftQuote), '‹': setOf(symLeftAngle), '’': setOf(symRightQuote), '›': setOf(symRightAngle),
	'“': setOf(symLeftDouble), '”': setOf(symRightDouble), '–': setOf(symDash), '‥': setOf(symEllipsis85), '…': setOf(symEllipsis),
	'½': setOf(symVulgar), 'ν': setOf(symNBSP), 'ω': setOf(symWide), 'Ξ': setOf(symRoman), 'Ω': setOf(symCircled), 'τ': setOf(symLineSep),
	'χ': setOf(symBad),
}

// lineBreaks begin a new line of output.
var lineBreaks = func() symbolSet {
	var s symbolSet
	for _, sym := range []symbol{'\n', '\r', '\v', '\f', symLineSep} {
		s.add(sym)
	}
	return s
}()

func setOf(sym symbol) symbolSet {
	var s symbolSet
	s.add(sym)
	return s
}

// wide()[r-0x80] is the symbol of r.
var wide = sync.OnceValue(func() *[0x10000 - 0x80]symbol {
	var t [0x10000 - 0x80]symbol
	for i := range t {
		t[i] = symBad
	}
	for _, r := range wideRanges {
		for c := int(r.first); c <= int(r.last); c++ {
			t[c-0x80] = r.sym
			if r.sym == symLetter && upper(rune(c)) {
				t[c-0x80] = symUpper
			}
		}
	}
	return &t
})

// upper reports upper case as the reference's Unicode version has it, in which
// Cherokee had one case.
func upper(r rune) bool {
	return unicode.Is(unicode.Lu, r) && (r < 0x13a0 || r > 0x13ff)
}

// symbolOf returns the symbol of r and how many times the automaton reads it.
func symbolOf(r rune) (symbol, int) {
	switch {
	case r < 0x80:
		return symbol(r), 1
	case r > 0xffff:
		return symBad, 2
	}
	return wide()[r-0x80], 1
}
