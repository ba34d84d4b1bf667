// Package ptb cuts captions into Penn Treebank tokens as the COCO caption
// tools do, that is as Stanford's PTBTokenizer of CoreNLP 3.4.1 does with lines
// preserved and lower case.
//
// All captions of a run are one stream: they are joined by line feeds, and what
// follows a caption can change its last tokens. A [Tokenizer] is fed caption by
// caption and gives one line of tokens for each, a little later than it was
// fed. It may not be used by two goroutines at once.
//
// A line feed inside a caption counts as a blank. Carriage return, vertical
// tab, form feed, U+2028 and U+2029 begin a new line in the reference, which
// shifts all later captions without a word; here they are an error
// ([LineBreakError]) unless the Tokenizer is told to go on.
package ptb

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A LineBreakError says that a caption holds a character that begins a new
// line.
type LineBreakError struct {
	Caption int64 // number of the caption in the stream, from 0
	Char    rune
}

func (e *LineBreakError) Error() string {
	return fmt.Sprintf("caption %d holds U+%04X, which begins a new line in the reference tokenizer and would shift all later captions", e.Caption, e.Char)
}

// A Tokenizer cuts a stream of captions.
type Tokenizer struct {
	lex  *lexer
	fed  int64
	line []byte // tokens of the present line, joined by blanks
	emit func(line []byte)
	left int // lines of a part that are still to come
	part bool
}

// New returns a Tokenizer that calls emit with each line of tokens, joined by
// single blanks. The slice is reused after the call.
func New(emit func(line []byte)) *Tokenizer {
	return &Tokenizer{lex: newLexer(), emit: emit}
}

// Feed adds a caption to the stream.
func (t *Tokenizer) Feed(caption string) error {
	if i := lineBreak(caption); i >= 0 {
		r, _ := utf8.DecodeRuneInString(caption[i:])
		return &LineBreakError{t.fed, r}
	}
	t.feed(caption)
	return nil
}

// lineBreak returns the place of the first character that begins a new line, a
// line feed aside, -1 if there is none.
func lineBreak(s string) int {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '\v' && c <= '\r':
			return i
		case c == 0xe2 && (strings.HasPrefix(s[i:], "\u2028") || strings.HasPrefix(s[i:], "\u2029")):
			return i
		}
	}
	return -1
}

// Part tokenises the next n captions as they are tokenised where others follow
// them: it asks next for n captions, and for more as far as tokens of the last
// ones depend on them, which is seldom more than one. No token reaches over the
// end of a caption, so parts of a stream give the lines of the whole; a
// Tokenizer may do one after the other. What comes before a part does not
// matter to it.
func (t *Tokenizer) Part(n int, next func() (caption string, ok bool)) error {
	t.lex.forget()
	t.fed, t.line, t.left, t.part = 0, t.line[:0], n, true
	defer func() { t.part = false }()
	for t.left > 0 {
		caption, ok := next()
		if !ok {
			t.run(true)
			if t.left > 0 {
				t.give()
			}
			break
		}
		if t.fed >= int64(n) {
			t.feed(caption)
		} else if err := t.Feed(caption); err != nil {
			return err
		}
	}
	return nil
}

// give hands out the present line.
func (t *Tokenizer) give() {
	if t.part {
		if t.left == 0 {
			return
		}
		t.left--
	}
	t.emit(t.line)
	t.line = t.line[:0]
}

func (t *Tokenizer) feed(caption string) {
	if t.fed > 0 {
		t.lex.feed("\n")
	}
	t.fed++
	if strings.Contains(caption, "\n") {
		caption = strings.ReplaceAll(caption, "\n", " ")
	}
	t.lex.feed(caption)
	t.run(false)
}

// Close ends the stream.
func (t *Tokenizer) Close() {
	t.run(true)
	if t.fed > 0 {
		t.give()
	}
}

func (t *Tokenizer) run(end bool) {
	for {
		if to := t.lex.plainWord(); to > 0 {
			t.word(t.lex.text[t.lex.begin(t.lex.pos):t.lex.begin(to)])
			t.lex.pos = to
			continue
		}
		r, from, to, ok := t.lex.next(end)
		if !ok {
			break
		}
		if t.lex.c.rules[r].act == newline {
			t.give()
			continue
		}
		t.token(&t.lex.c.rules[r], t.lex.text[t.lex.begin(from):t.lex.begin(to)])
	}
	if t.lex.pos > 1<<14 || end {
		t.lex.drop()
	}
}

// Lines tokenises captions as one stream.
func Lines(captions []string) ([]string, error) {
	var out []string
	t := New(func(line []byte) { out = append(out, string(line)) })
	for _, c := range captions {
		if err := t.Feed(c); err != nil {
			return nil, err
		}
	}
	t.Close()
	return out, nil
}
