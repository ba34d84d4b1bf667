package evaluate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"espalier/evaluate/cmrc"
	"espalier/evaluate/pytext"
	"espalier/evaluate/squad"
	"espalier/evaluate/stats"
)

// newAnswers is exact match and F1 of extracted answers, on the scale of its
// reference.
func newAnswers(name, what string, scale float64, cut splitter, score func(pred string, golds []string) (em, f float64)) func(*spec, *Request) (family, error) {
	return func(*spec, *Request) (family, error) {
		return &meanFamily{
			values: []string{name + "-em", name + "-f1"}, what: what, scale: scale, cut: cut,
			prep: func(_ context.Context, c *corpus) (func() scorer, error) {
				return func() scorer {
					return func(i int, row []float64) { row[0], row[1] = score(c.Predictions[i], c.References[i]) }
				}, nil
			},
		}, nil
	}
}

// answerWords are the words of an answer that SQuAD's scripts count.
func answerWords(text string) []string { return pytext.Fields(squad.Normalise(text)) }

// newCMRC is CMRC 2018's exact match, F1 and their mean.
func newCMRC(*spec, *Request) (family, error) {
	return &meanFamily{
		values: []string{"cmrc-em", "cmrc-f1", "cmrc-average"}, what: "cmrc2018 v5|words:nltk-3.10.4, one sentence", scale: 100,
		cut: cmrc.Pieces,
		prep: func(_ context.Context, c *corpus) (func() scorer, error) {
			return func() scorer {
				return func(i int, row []float64) {
					row[0], row[1] = cmrc.Score(c.Predictions[i], c.References[i])
					row[2] = (row[0] + row[1]) * 0.5
				}
			}, nil
		},
	}, nil
}

// probField is a prediction's probability that there is no answer.
const probField = "no_answer_probability"

// newSquad2 is SQuAD 2.0's exact match and F1, over all questions, those that
// have an answer and those that have none. A question whose probability of
// having none is above the threshold counts as not answered.
func newSquad2(s *spec, _ *Request) (family, error) {
	threshold := s.number("threshold", 1, 0, 1)
	return &groupFamily{
		unanswered: true, cut: answerWords, parts: []string{"-em", "-f1"}, what: fmt.Sprintf("squad-2.0 official script|threshold:%g", threshold), fields: []string{probField},
		open: func(c *corpus) ([]string, func(int, []float64, []bool), error) {
			labels, place := []string{"squad2"}, [2]int{}
			var found [2]bool
			for i := range c.n() {
				found[answerable(c.References[i])] = true
			}
			for k, label := range []string{"squad2-hasans", "squad2-noans"} {
				if found[k] {
					place[k] = len(labels)
					labels = append(labels, label)
				}
			}
			prob, err := c.probabilities()
			return labels, func(i int, scores []float64, in []bool) {
				em, f, _ := squad.V2(c.Predictions[i], c.References[i])
				if prob[i] > threshold {
					if em, f = 1, 1; len(c.References[i]) > 0 {
						em, f = 0, 0
					}
				}
				in[0], in[place[answerable(c.References[i])]] = true, true
				for k := 0; k < len(scores); k += 2 {
					scores[k], scores[k+1] = em, f
				}
			}, err
		},
	}, nil
}

// answerable returns 0 for a question with an answer, 1 for one without.
func answerable(golds []string) int {
	if len(golds) > 0 {
		return 0
	}
	return 1
}

// probabilities returns what predictions say of questions without an answer, 0
// where they say nothing.
func (c *corpus) probabilities() ([]float64, error) {
	out := make([]float64, c.n())
	for i := range out {
		text := c.note(i, probField)
		if text == "" {
			continue
		}
		p, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(p) {
			return nil, c.refusePrediction(i, "%s %q is no number", probField, text)
		}
		out[i] = p
	}
	return out, nil
}

// newSquad2Best is the best that any threshold gives, and where.
func newSquad2Best(*spec, *Request) (family, error) {
	return &setFamily{
		unanswered: true, cut: answerWords, fields: []string{probField},
		values: []string{"squad2-best-em", "squad2-best-em-threshold", "squad2-best-f1", "squad2-best-f1-threshold"}, what: "squad-2.0 official script|best threshold",
		open: func(_ context.Context, c *corpus) (func() stats.Places, error) {
			prob, err := c.probabilities()
			if err != nil {
				return nil, err
			}
			n := c.n()
			scores := [2][]float64{make([]float64, n), make([]float64, n)}
			has, answered := make([]bool, n), make([]bool, n)
			for i := range n {
				scores[0][i], scores[1][i], _ = squad.V2(c.Predictions[i], c.References[i])
				has[i], answered[i] = len(c.References[i]) > 0, c.Predictions[i] != ""
			}
			return func() stats.Places {
				return func(places []int, values []float64) {
					order := make([]int, len(places))
					p, s := make([]float64, len(places)), make([]float64, len(places))
					h, a := make([]bool, len(places)), make([]bool, len(places))
					for k, i := range places {
						order[k], p[k], h[k], a[k] = k, prob[i], has[i], answered[i]
					}
					slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(p[x], p[y]) })
					for m := range scores {
						for k, i := range places {
							s[k] = scores[m][i]
						}
						best := squad.Best(order, p, s, h, a)
						values[2*m], values[2*m+1] = 100*best.Score/float64(len(places)), best.At
					}
				}
			}, nil
		},
	}, nil
}

// newVE is accuracy over all pairs and over those of each label, in percent.
func newVE(*spec, *Request) (family, error) {
	return &groupFamily{
		what: "SNLI-VE|exact, by the reference's label", cut: stripped, empty: math.NaN(),
		open: func(c *corpus) ([]string, func(int, []float64, []bool), error) {
			labels, place := []string{"snli-ve"}, make(map[string]int)
			seen := make(map[string]bool)
			for i, r := range c.References {
				if err := c.oneLabel(i); err != nil {
					return nil, nil, err
				}
				seen[pytext.Strip(r[0])] = true
			}
			for _, l := range sortedKeys(seen) {
				place[l] = len(labels)
				labels = append(labels, "snli-ve-"+l)
			}
			return labels, func(i int, scores []float64, in []bool) {
				want := pytext.Strip(c.References[i][0])
				in[0], in[place[want]] = true, true
				if pytext.Strip(c.Predictions[i]) == want {
					fill(scores, 1)
				}
			}, nil
		},
	}, nil
}

// newNLVR2 is accuracy, and consistency: the share of sentences that are right
// for every pair of images. An id is SPLIT-SET-PAIR-SENTENCE.
func newNLVR2(*spec, *Request) (family, error) {
	return &setFamily{
		values: []string{"nlvr2", "nlvr2-consistency"}, what: "NLVR2 metrics.py|ids SPLIT-SET-PAIR-SENTENCE", cut: stripped,
		open: func(_ context.Context, c *corpus) (func() stats.Places, error) {
			sentence, right := make([]string, c.n()), make([]bool, c.n())
			for i, id := range c.IDs {
				p := strings.Split(id, "-")
				if len(p) != 4 {
					return nil, c.refuseReference(i, "want ids SPLIT-SET-PAIR-SENTENCE, as dev-850-0-0")
				}
				if err := c.oneLabel(i); err != nil {
					return nil, err
				}
				sentence[i] = p[0] + "-" + p[1] + "-" + p[3]
				right[i] = strings.EqualFold(pytext.Strip(c.Predictions[i]), pytext.Strip(c.References[i][0]))
			}
			return func() stats.Places {
				return func(places []int, values []float64) {
					n, whole := 0, make(map[string]bool)
					for _, i := range places {
						if right[i] {
							n++
						}
						before, seen := whole[sentence[i]]
						whole[sentence[i]] = right[i] && (before || !seen)
					}
					all := 0
					for _, ok := range whole {
						if ok {
							all++
						}
					}
					values[0], values[1] = 100*float64(n)/float64(len(places)), 100*float64(all)/float64(len(whole))
				}
			}, nil
		},
	}, nil
}
