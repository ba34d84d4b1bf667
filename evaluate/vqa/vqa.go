// Package vqa is the accuracy of the VQA challenges as their evaluation script
// computes it, in its versions of 2021 and 2016, and two variants of use.
//
// Each of a question's answers is compared with the prediction against the
// others: accuracy is the mean over the answers of min(1, matches among the
// others / 3).
package vqa

import (
	"strings"

	"espalier/evaluate/pytext"
)

// A Version says which texts are processed, and the formula.
type Version uint8

// Versions. V2021 and V2016 differ in questions whose answers are all equal:
// there the first leaves prediction and answers as they are, the second still
// processes the prediction. Always processes everything, Min3 is Always with
// the short formula min(1, matches/3).
const (
	V2021 Version = iota
	V2016
	Always
	Min3
)

// marks are the punctuation that is deleted or becomes a blank.
const marks = ";/[]\"{}()=+\\_-><@`,?!"

// mostPeriods is how many periods are deleted at most.
const mostPeriods = 32

// Punctuation deletes a mark where the text has it beside a blank, or has a
// comma between digits, else puts a blank in its place; then it deletes periods
// that no digit follows.
func Punctuation(text string) string {
	out := text
	numbers := commaBetweenDigits(text)
	for _, m := range marks {
		mark := string(m)
		if strings.Contains(text, mark+" ") || strings.Contains(text, " "+mark) || numbers {
			out = strings.ReplaceAll(out, mark, "")
		} else {
			out = strings.ReplaceAll(out, mark, " ")
		}
	}
	return periods(out)
}

func commaBetweenDigits(s string) bool {
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	for i := 1; i+1 < len(s); i++ {
		if s[i] == ',' && digit(s[i-1]) && digit(s[i+1]) {
			return true
		}
	}
	return false
}

func periods(s string) string {
	b := make([]byte, 0, len(s))
	n := 0
	for i := 0; i < len(s); i++ {
		if s[i] == '.' && n < mostPeriods && (i+1 == len(s) || s[i+1] < '0' || s[i+1] > '9') {
			n++
			continue
		}
		b = append(b, s[i])
	}
	return string(b)
}

var numbers = map[string]string{
	"none": "0", "zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10",
}

// DigitsAndArticles puts a text in lower case, number words up to ten as
// digits, drops articles and mends contractions.
func DigitsAndArticles(text string) string {
	var out []string
	for _, w := range pytext.Fields(pytext.Lower(text)) {
		if d, ok := numbers[w]; ok {
			w = d
		}
		if w == "a" || w == "an" || w == "the" {
			continue
		}
		if c, ok := contractions[w]; ok {
			w = c
		}
		out = append(out, w)
	}
	return strings.Join(out, " ")
}

// clean replaces line feeds and tabs by blanks and strips white space.
func clean(s string) string {
	return pytext.Strip(strings.NewReplacer("\n", " ", "\t", " ").Replace(s))
}

// Process is both steps.
func Process(s string) string { return DigitsAndArticles(Punctuation(s)) }

// Texts returns a prediction and its answers as they are compared.
func Texts(prediction string, answers []string, v Version) (string, []string) {
	golds := make([]string, len(answers))
	several := false
	for i, a := range answers {
		if v == V2016 {
			golds[i] = a
		} else {
			golds[i] = clean(a)
		}
		several = several || golds[i] != golds[0]
	}
	prediction = clean(prediction)
	switch {
	case v == Always || v == Min3 || several && v == V2021:
		for i, g := range golds {
			golds[i] = Process(g)
		}
		prediction = Process(prediction)
	case v == V2016:
		if several {
			for i, g := range golds {
				golds[i] = Punctuation(g)
			}
		}
		prediction = Process(prediction)
	}
	return prediction, golds
}

// Accuracy returns the accuracy of a prediction in [0, 1]; answers must not be
// empty.
func Accuracy(prediction string, answers []string, v Version) float64 {
	prediction, golds := Texts(prediction, answers, v)
	matches := 0
	for _, g := range golds {
		if g == prediction {
			matches++
		}
	}
	if v == Min3 {
		return min(1, float64(matches)/3)
	}
	sum := 0.0
	for _, g := range golds {
		others := matches
		if g == prediction {
			others--
		}
		sum += min(1, float64(others)/3)
	}
	return sum / float64(len(golds))
}
