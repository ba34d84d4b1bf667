// Package scienceqa reads answers and groups of questions as
// lupantech/ScienceQA (commit 2cbf831) does: the letter in a model's output,
// its explanation, and the columns of the table of accuracies.
package scienceqa

import (
	"regexp"
	"strconv"
	"strings"

	"espalier/evaluate/pytext"
)

// Columns are the table's, in its order: all questions, subjects, contexts,
// grades.
var Columns = []string{"all", "nat", "soc", "lan", "txt", "img", "no", "g1-6", "g7-12"}

// A Question is what the groups look at.
type Question struct {
	Subject string
	Grade   string // grade1 to grade12
	Hint    string
	Image   string // "" if there is none
}

var subjects = []string{"natural science", "social science", "language science"}

// In reports which of Columns a question belongs to. A question with both text
// and image counts in both.
func (q *Question) In() []bool {
	grade, err := strconv.Atoi(strings.TrimPrefix(q.Grade, "grade"))
	known := err == nil && strings.HasPrefix(q.Grade, "grade")
	return []bool{
		true,
		q.Subject == subjects[0], q.Subject == subjects[1], q.Subject == subjects[2],
		q.Hint != "", q.Image != "", q.Hint == "" && q.Image == "",
		known && grade >= 1 && grade <= 6, known && grade >= 7 && grade <= 12,
	}
}

var (
	letter = regexp.MustCompile(`The answer is ([A-Z])[^\n]`)
	prefix = regexp.MustCompile(`The answer is ([A-Z])[^\n] BECAUSE: `)
)

// Extract returns the letter that an output answers with; false unless it says
// so exactly once. The pattern wants one more character behind the letter.
func Extract(output string) (byte, bool) {
	found := letter.FindAllStringSubmatch(output, 2)
	if len(found) != 1 {
		return 0, false
	}
	return found[0][1][0], true
}

// Choice returns the number of the choice that a prediction names: a number
// itself, or the letter of an output.
func Choice(prediction string) (int, bool) {
	if n, err := strconv.Atoi(pytext.Strip(prediction)); err == nil {
		return n, n >= 0
	}
	c, ok := Extract(prediction)
	return int(c) - 'A', ok
}

// Explanation returns an output without the words of its answer.
func Explanation(output string) string { return prefix.ReplaceAllString(output, "") }

// Tokens cuts an explanation at white space and full stops, as its BLEU does.
func Tokens(s string) []string {
	var out []string
	for _, w := range pytext.Fields(s) {
		for _, p := range strings.Split(w, ".") {
			if p != "" {
				out = append(out, p)
			}
		}
	}
	return out
}
