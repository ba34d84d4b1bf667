package ptb

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// word appends a word of ASCII letters to the present line.
func (t *Tokenizer) word(text []byte) {
	if len(t.line) > 0 {
		t.line = append(t.line, ' ')
	}
	start := len(t.line)
	t.line = append(t.line, text...)
	for i, c := range t.line[start:] {
		if c <= 'Z' {
			t.line[start+i] = c + 'a' - 'A'
		}
	}
}

// token appends what a match becomes to the present line.
func (t *Tokenizer) token(r *rule, text []byte) {
	if r.act == skip {
		return
	}
	if len(t.line) > 0 {
		t.line = append(t.line, ' ')
	}
	switch r.act {
	case emitFixed:
		t.line = append(t.line, r.text...)
		return
	case emitAsDash:
		if n := len(text); n == 3 || n == 4 {
			text = []byte("--")
		}
	}
	start := len(t.line)
	ascii := true
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c >= utf8.RuneSelf:
			ascii = false
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		}
		t.line = append(t.line, c)
	}
	if ascii && plainly(r.act, text) {
		return
	}
	t.line = append(t.line[:start], rewrite(r, string(text))...)
}

// plainly reports that lower case is all that becomes of an ASCII text.
func plainly(act action, text []byte) bool {
	switch act {
	case emit, emitAsDash:
		return true
	case emitNoHyph, emitThenDot, cutTail:
		return len(text) > 0
	case emitQuotes:
		return bytes.IndexByte(text, '&') < 0
	}
	return false
}

// rewrite returns the token of a match that needs more than lower case.
func rewrite(r *rule, s string) string {
	switch r.act {
	case emitQuotes:
		s = quotes.Replace(strings.ReplaceAll(s, "\u00ad", ""))
	case emitNoHyph, emitThenDot, cutTail:
		if s = strings.ReplaceAll(s, "\u00ad", ""); s == "" {
			s = "-"
		}
	case emitNBSP:
		s = strings.ReplaceAll(s, " ", "\u00a0")
	case emitBrack:
		s = strings.ReplaceAll(s, " ", "\u00a0")
		s = brackets(s)
	case emitSmiley:
		s = parentheses(s)
	case emitAmp:
		s = ampersand(s)
	case emitVulgar:
		s = vulgar[s]
	case emitChar:
		s = currency[s]
	}
	return lower(s)
}

var quotes = strings.NewReplacer("&apos;", "'", "\u2019", "'", "\u0092", "'", "\u203a", "'",
	"\u2018", "`", "\u0091", "`", "\u201b", "`", "\u2039", "`",
	"\u201c", "``", "\u0093", "``", "\u00ab", "``", "\u201d", "''", "\u0094", "''", "\u00bb", "''")

var parentheses = strings.NewReplacer("(", "-lrb-", ")", "-rrb-").Replace

var brackets = strings.NewReplacer("(", "-lrb-", ")", "-rrb-", "[", "-lsb-", "]", "-rsb-", "{", "-lcb-", "}", "-rcb-").Replace

var vulgar = map[string]string{"¼": "1/4", "½": "1/2", "¾": "3/4", "⅓": "1/3", "⅔": "2/3"}

var currency = map[string]string{"\u0080": "$", "¤": "$", "₠": "$", "€": "$", "¢": "cents", "£": "#"}

// ampersand decodes &amp; in either case.
func ampersand(s string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '&')
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i+1])
		s = s[i+1:]
		if len(s) >= 4 && strings.EqualFold(s[:4], "amp;") {
			s = s[4:]
		}
	}
}
