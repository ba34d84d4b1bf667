package render

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A span is one of the two spans of a WSC example.
type span struct {
	text  string
	index int
}

func spansOf(x *Example) (text string, first, second span, err error) {
	if text, err = x.text("text"); err != nil {
		return
	}
	for i, s := range []*span{&first, &second} {
		if s.text, err = x.text(fmt.Sprintf("span%d_text", i+1)); err != nil {
			return
		}
		if s.index, err = x.number(fmt.Sprintf("span%d_index", i+1)); err != nil {
			return
		}
	}
	return
}

// wscMarked puts marks around both spans: asterisks around the first, number
// signs around the second. A span stands behind as many words as its index says,
// each with one white-space character; where it does not, nothing is marked.
func wscMarked(x *Example) ([]Text, error) {
	text, first, second, err := spansOf(x)
	if err != nil {
		return nil, err
	}
	if text, err = mark(text, first, "*"); err != nil {
		return nil, err
	}
	if first.index < second.index {
		second.index += 2 // the marks count as words
	}
	if text, err = mark(text, second, "#"); err != nil {
		return nil, err
	}
	target, err := labelText(x, []string{"False", "True"})
	return one("wsc text: "+text, target), err
}

// mark marks a span. Its text is part of a regular expression as it stands, as in
// T5.
func mark(text string, s span, sign string) (string, error) {
	re, err := regexp.Compile(fmt.Sprintf(`^((?:\S+\s){%d})(%s)`, s.index, s.text))
	if err != nil {
		return "", err
	}
	m := re.FindStringSubmatchIndex(text)
	if m == nil {
		return text, nil
	}
	return text[:m[3]] + sign + " " + text[m[4]:m[5]] + " " + sign + text[m[1]:], nil
}

// The texts of which T5 has the answer by heart, because the index of their
// pronoun is wrong.
var wscByHeart = map[string]string{
	"The boy continued to whip the pony , and eventually the pony threw him over. John laughed out quite loud. \"Good for him,\" he said. ":                                                                       "The boy continued to whip the pony , and eventually the pony threw him over. John laughed out quite loud. \"Good for X ,\" he said.",
	"When they had eventually calmed down a bit , and had gotten home, Mr. Farley put the magic pebble in an iron safe . Some day they might want to use it , but really for now, what more could they wish for?": "When they had eventually calmed down a bit , and had gotten home, Mr. Farley put the magic pebble in an iron safe . Some day they might want to use X , but really for now, what more could they wish for?",
}

var errPronoun = errors.New("the pronoun is not where span2_index says")

// wscSimple puts the pronoun between asterisks; the target is the other span. With
// correctOnly, examples whose label is false are left out.
func wscSimple(x *Example, correctOnly bool) ([]Text, error) {
	text, first, second, err := spansOf(x)
	if err != nil {
		return nil, err
	}
	if correctOnly && x.LabelID == 0 {
		return nil, ErrDropped
	}
	words := strings.Split(text, " ")
	if second.index <= 0 || second.index >= len(words) {
		return nil, errPronoun
	}
	blank, known := wscByHeart[text]
	if !known {
		if words[second.index] != second.text {
			return nil, errPronoun
		}
		blank = strings.Join(words[:second.index], " ") + " X " + strings.Join(words[second.index+1:], " ")
	}
	return one("wsc: "+strings.ReplaceAll(blank, " X ", " *"+second.text+"* "), first.text), nil
}

// wscFixed is what T5 trains and tests on: wscSimple of repaired spans, of which
// the training split has those only whose label is true.
func wscFixed(x *Example) ([]Text, error) {
	text, first, second, err := spansOf(x)
	if err != nil {
		return nil, err
	}
	fixed, err := FixWSC(WSC{text, first.text, second.text, first.index, second.index})
	if err != nil {
		return nil, err
	}
	y := *x
	y.Fields = map[string]any{
		"text": fixed.Text, "span1_text": fixed.Span1, "span2_text": fixed.Span2, "span1_index": fixed.Index1, "span2_index": fixed.Index2,
	}
	return wscSimple(&y, x.Split == "train")
}

// A WSC is an example of the Winograd Schema Challenge.
type WSC struct {
	Text, Span1, Span2 string
	Index1, Index2     int
}

// FixWSC repairs spans that are no part of the text, as super_glue/wsc.fixed of
// TensorFlow Datasets does: the case of the first letter follows the word at the
// index, full stops at the end go, line feeds become blanks. It fails if a span
// is no part of the text after that.
func FixWSC(w WSC) (WSC, error) {
	if err := w.fix(&w.Span1, w.Index1); err != nil {
		return w, err
	}
	return w, w.fix(&w.Span2, w.Index2)
}

func (w *WSC) fix(s *string, index int) error {
	span := *s
	if strings.Contains(w.Text, span) {
		return nil
	}
	if span == "Kamenev and Zinoviev" || span == "Kamenev, Zinoviev, and Stalin" {
		return nil // other words stand between them
	}
	if strings.Contains(span, "theyscold") {
		w.Index2 = 10
	}
	words := strings.FieldsFunc(w.Text, isSpace)
	if index < 0 || index >= len(words) {
		return fmt.Errorf("word %d of %d", index, len(words))
	}
	change := unicode.ToUpper
	if r, _ := utf8.DecodeRuneInString(words[index]); unicode.IsLower(r) {
		change = unicode.ToLower
	}
	r, n := utf8.DecodeRuneInString(span)
	span = string(change(r)) + span[n:]
	span = strings.ReplaceAll(strings.TrimRight(span, "."), "\n", " ")
	*s = span
	if !strings.Contains(w.Text, span) {
		return fmt.Errorf("span %q is no part of the text", span)
	}
	return nil
}
