package squad

import "espalier/evaluate/classify"

// A MultiRC collects true or false answers by question.
type MultiRC struct {
	all       *classify.Confusion
	questions map[string]*classify.Confusion
	order     []string
}

// Add adds one answer of a question.
func (m *MultiRC) Add(question string, gold, predicted bool) {
	if m.questions == nil {
		m.questions, m.all = make(map[string]*classify.Confusion), classify.NewConfusion(2)
	}
	q := m.questions[question]
	if q == nil {
		q = classify.NewConfusion(2)
		m.questions[question] = q
		m.order = append(m.order, question)
	}
	q.Add(label(gold), label(predicted))
	m.all.Add(label(gold), label(predicted))
}

func label(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Scores returns the share of questions whose answers are all right, the mean
// over questions of the macro F1 (over the labels that a question has), and the
// F1 of true answers over all.
func (m *MultiRC) Scores() (em, f1m, f1a float64) {
	if len(m.order) == 0 {
		return 0, 0, 0
	}
	for _, q := range m.order {
		c := m.questions[q]
		if c.Accuracy() == 1 {
			em++
		}
		f1m += c.Macro(false)
	}
	n := float64(len(m.order))
	return em / n, f1m / n, m.all.Label(1).F
}
