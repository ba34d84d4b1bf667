// Package squad scores extracted answers: exact match and F1 of the official
// SQuAD 1.1 and 2.0 scripts, and ReCoRD's. MultiRC's scores are here too.
package squad

import (
	"strings"
	"unicode"

	"espalier/evaluate/pytext"
)

// Normalise returns an answer in lower case, without ASCII punctuation, without
// the words a, an and the, its words joined by single blanks.
func Normalise(s string) string { return normalise(s, "") }

// normalise is Normalise that takes further marks out.
func normalise(s, marks string) string {
	s = pytext.Lower(s)
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		if !(r >= '!' && r <= '/' || r >= ':' && r <= '@' || r >= '[' && r <= '`' || r >= '{' && r <= '~' || strings.ContainsRune(marks, r)) {
			b.WriteRune(r)
		}
	}
	return strings.Join(pytext.Fields(articles(b.String())), " ")
}

// articles replaces the whole words a, an and the by blanks. A word ends where
// no letter, digit or underscore follows.
func articles(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	word := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }
	rs := []rune(s)
	for i := 0; i < len(rs); {
		if !word(rs[i]) {
			b.WriteRune(rs[i])
			i++
			continue
		}
		j := i
		for j < len(rs) && word(rs[j]) {
			j++
		}
		switch w := string(rs[i:j]); w {
		case "a", "an", "the":
			b.WriteByte(' ')
		default:
			b.WriteString(w)
		}
		i = j
	}
	return b.String()
}

// f1 is the F1 of two bags of words.
func f1[T comparable](pred, gold []T) float64 {
	left := make(map[T]int, len(gold))
	for _, w := range gold {
		left[w]++
	}
	same := 0
	for _, w := range pred {
		if left[w] > 0 {
			left[w]--
			same++
		}
	}
	if same == 0 {
		return 0
	}
	p, r := float64(same)/float64(len(pred)), float64(same)/float64(len(gold))
	return float64(2*p*r) / (p + r)
}

// V1 returns exact match and F1, the best over the gold answers, as version
// 1.1's script and ReCoRD's: two empty answers match, but have F1 0. Golds must
// not be empty.
func V1(pred string, golds []string) (em, f float64) {
	p := Normalise(pred)
	words := strings.Fields(p)
	for _, g := range golds {
		n := Normalise(g)
		if n == p {
			em = 1
		}
		f = max(f, f1(words, strings.Fields(n)))
	}
	return em, f
}

// V2 returns exact match and F1, the best over the gold answers that are not
// empty once normalised, or over the empty answer if there is none, as version
// 2.0's script. HasAnswer tells which.
func V2(pred string, golds []string) (em, f float64, hasAnswer bool) {
	p := Normalise(pred)
	words := strings.Fields(p)
	for _, g := range golds {
		n := Normalise(g)
		if n == "" {
			continue
		}
		hasAnswer = true
		if n == p {
			em = 1
		}
		f = max(f, f1(words, strings.Fields(n)))
	}
	if !hasAnswer && p == "" {
		return 1, 1, false
	}
	return em, f, hasAnswer
}

// drcdMarks are the marks that DRCD's script takes out beside SQuAD's.
const drcdMarks = "《》？，。、；："

// Characters are those of an answer that DRCD's script counts.
func Characters(s string) []string { return strings.Split(normalise(s, drcdMarks), "") }

// DRCD returns exact match and F1, the best over the gold answers, as the
// script of DRCD, which is version 1.1's with further marks and characters in
// the place of words (DRCKnowledgeTeam/DRCD#6); blanks are characters.
func DRCD(pred string, golds []string) (em, f float64) {
	p := normalise(pred, drcdMarks)
	chars := []rune(p)
	for _, g := range golds {
		n := normalise(g, drcdMarks)
		if n == p {
			em = 1
		}
		f = max(f, f1(chars, []rune(n)))
	}
	return em, f
}

// A Threshold is the best place to give no answer at, as version 2.0's script
// searches it.
type Threshold struct {
	Score float64 // summed over the questions
	At    float64
}

// Best goes through questions in the order of the probability that they have
// no answer, each given its score, whether there is an answer and whether one
// is predicted, and returns where the sum of scores is largest if every
// question up to there is answered and every other is not. Order lists the
// questions by probability, equal ones in the file's order.
func Best(order []int, prob, score []float64, hasAnswer, answered []bool) Threshold {
	sum := 0.0
	for _, has := range hasAnswer {
		if !has {
			sum++
		}
	}
	best := Threshold{Score: sum}
	for _, i := range order {
		switch {
		case hasAnswer[i]:
			sum += score[i]
		case answered[i]:
			sum--
		}
		if sum > best.Score {
			best = Threshold{sum, prob[i]}
		}
	}
	return best
}
