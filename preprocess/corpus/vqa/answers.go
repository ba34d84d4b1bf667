package vqa

import (
	"cmp"
	"slices"
)

// MinAnswers is how often an answer must be the most frequent one of a question
// to be in the vocabulary. On train and val of VQA v2 it gives the 3,129 answers
// that classifiers choose from (hengyuan-hu/bottom-up-attention-vqa).
const MinAnswers = 9

// Counts counts the most frequent answers of questions, normalised.
type Counts map[string]int64

// Vocabulary returns the answers that were counted at least so often, the most
// frequent first, equal ones in byte order.
func (c Counts) Vocabulary(least int64) []string {
	var list []string
	for a, n := range c {
		if n >= least {
			list = append(list, a)
		}
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(cmp.Compare(c[b], c[a]), cmp.Compare(a, b)) })
	return list
}

// Score is the soft score of an answer that so many of ten people gave: 0.3, 0.6
// and 0.9 for one, two and three of them, 1 for more.
func Score(people int) float32 {
	switch people {
	case 0:
		return 0
	case 1:
		return 0.3
	case 2:
		return 0.6
	case 3:
		return 0.9
	}
	return 1
}

// A Soft answer is one of a question's with its score.
type Soft struct {
	Answer string
	Score  float32
}

// SoftAnswers returns the answers of a question with their scores, in the order
// in which they were first given. Answers are compared once they are normalised.
func SoftAnswers(answers []string, normalise func(string) string) []Soft {
	var list []Soft
	people := map[string]int{}
	for _, a := range answers {
		a = normalise(a)
		if people[a]++; people[a] == 1 {
			list = append(list, Soft{Answer: a})
		}
	}
	for i := range list {
		list[i].Score = Score(people[list[i].Answer])
	}
	return list
}
