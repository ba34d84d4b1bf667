package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"espalier/evaluate/classify"
	"espalier/evaluate/pytext"
	"espalier/evaluate/squad"
	"espalier/evaluate/stats"
	"espalier/pipeline"
)

// newAccuracy counts predictions that equal a reference, white space at the
// ends aside.
func newAccuracy(s *spec, _ *Request) (family, error) {
	return &meanFamily{
		values: []string{"accuracy"}, what: "scikit-learn-1.9.1|strings stripped", cut: stripped,
		prep: func(_ context.Context, c *corpus) (func() scorer, error) {
			return func() scorer {
				return func(i int, row []float64) {
					row[0] = 0
					p := pytext.Strip(c.Predictions[i])
					for _, r := range c.References[i] {
						if pytext.Strip(r) == p {
							row[0] = 1
						}
					}
				}
			}, nil
		},
	}, nil
}

// mostLabels bounds the table of pairs of labels.
const mostLabels = 64

// confusionFamily is a metric of the counts of pairs of labels.
type confusionFamily struct {
	name   string
	what   string
	labels []string
	value  func(c *classify.Confusion, labels []string) float64
	usable func(labels []string) string // says why a value of such labels is not defined
}

// sortLabels sorts numbers by their size and other labels by code points, as
// sums go over them in that order.
func sortLabels(labels []string) {
	numbers := make(map[string]int, len(labels))
	for _, l := range labels {
		n, err := strconv.Atoi(l)
		if err != nil {
			slices.Sort(labels)
			return
		}
		numbers[l] = n
	}
	slices.SortFunc(labels, func(a, b string) int { return cmp.Or(cmp.Compare(numbers[a], numbers[b]), cmp.Compare(a, b)) })
}

// oneLabel refuses an example that has not one reference.
func (c *corpus) oneLabel(i int) error {
	if n := len(c.References[i]); n != 1 {
		return c.refuseReference(i, "%d references, want one label", n)
	}
	return nil
}

// errNoNumber is what finite returns for texts that are none.
var errNoNumber = errors.New("no finite number")

// finite reads a number.
func finite(text string) (float64, error) {
	x, err := strconv.ParseFloat(pytext.Strip(text), 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, errNoNumber
	}
	return x, nil
}

func (f *confusionFamily) seen(_ context.Context, c *corpus) (func(int) ([]string, [][]string), error) {
	return seenText(c, stripped), nil
}

func (f *confusionFamily) names() []string { return []string{f.name} }
func (f *confusionFamily) variant() string { return f.what }
func (f *confusionFamily) width() int      { return max(1, len(f.labels)*len(f.labels)) }

// known lists the labels of a corpus.
func (f *confusionFamily) known(c *corpus) error {
	seen := make(map[string]bool)
	for i, p := range c.Predictions {
		if err := c.oneLabel(i); err != nil {
			return err
		}
		seen[pytext.Strip(p)] = true
		seen[pytext.Strip(c.References[i][0])] = true
	}
	for l := range seen {
		f.labels = append(f.labels, l)
	}
	sortLabels(f.labels)
	if len(f.labels) > mostLabels {
		return &pipeline.RefusedError{File: c.predFile, Offset: -1, Reason: fmt.Sprintf("metric %s: %d different labels, want at most %d; is this the right field?", f.name, len(f.labels), mostLabels)}
	}
	if f.usable != nil {
		if reason := f.usable(f.labels); reason != "" {
			return &pipeline.RefusedError{File: c.predFile, Offset: -1, Reason: fmt.Sprintf("metric %s: %s", f.name, reason)}
		}
	}
	return nil
}

func (f *confusionFamily) prepare(_ context.Context, c *corpus) (func() scorer, error) {
	number := make(map[string]int)
	for i, l := range f.labels {
		number[l] = i
	}
	return func() scorer {
		return func(i int, row []float64) {
			row[number[pytext.Strip(c.References[i][0])]*len(f.labels)+number[pytext.Strip(c.Predictions[i])]] = 1
		}
	}, nil
}

func (f *confusionFamily) total(sum, values []float64) {
	values[0] = f.value(&classify.Confusion{Labels: len(f.labels), Counts: sum}, f.labels)
}

func (f *confusionFamily) one(_ int, _, values []float64) { values[0] = math.NaN() }

func newMatthews(s *spec, _ *Request) (family, error) {
	return &confusionFamily{
		name: "matthews", what: "scikit-learn-1.9.1",
		value: func(c *classify.Confusion, _ []string) float64 { return c.Matthews() },
	}, nil
}

func newF1(s *spec, _ *Request) (family, error) {
	average := s.choice("average", "binary", "macro", "micro", "weighted")
	s.used["pos"], s.used["labels"] = true, true
	pos, fixed := "1", s.options["labels"]
	if p, ok := s.options["pos"]; ok {
		pos = p
	}
	what := "scikit-learn-1.9.1|average:" + average
	var all []string
	switch {
	case average == "binary":
		what += "|pos:" + pos
	case fixed != "":
		if average != "macro" {
			s.errs = append(s.errs, "labels: only with average=macro")
		}
		all = strings.Split(fixed, "/")
		what += "|labels:" + fixed
	}
	usable := func(labels []string) string {
		switch {
		case average != "binary":
		case len(labels) > 2:
			return fmt.Sprintf("labels %q, where average=binary takes two; give average=macro, micro or weighted", labels)
		case len(labels) == 2 && !slices.Contains(labels, pos):
			return fmt.Sprintf("labels %q, none of them %q; give pos=LABEL", labels, pos)
		}
		return ""
	}
	return &confusionFamily{name: "f1", what: what, usable: usable, value: func(c *classify.Confusion, labels []string) float64 {
		switch average {
		case "binary":
			if i := slices.Index(labels, pos); i >= 0 {
				return c.Label(i).F
			}
			return 0
		case "micro":
			return c.Accuracy()
		case "weighted":
			return c.Weighted()
		}
		if all == nil {
			return c.Macro(false)
		}
		sum := 0.0 // over fixed labels, as T5 and jiant do for CB
		for _, l := range all {
			if i := slices.Index(labels, l); i >= 0 {
				sum += c.Label(i).F
			}
		}
		return sum / float64(len(all))
	}}, nil
}

// newCorrelation is Pearson's or Spearman's.
func newCorrelation(name string) func(*spec, *Request) (family, error) {
	return func(s *spec, _ *Request) (family, error) {
		single := s.choice("float", "64", "32") == "32"
		parse := func(text string) (float64, error) {
			x, err := finite(text)
			if single {
				x = float64(float32(x)) // as trainers hold outputs
			}
			return x, err
		}
		return &setFamily{
			values: []string{name}, cut: stripped, what: map[bool]string{false: "scipy-1.17.1|float64", true: "scipy-1.17.1|of float32"}[single],
			open: func(_ context.Context, c *corpus) (func() stats.Places, error) {
				x, y := make([]float64, c.n()), make([]float64, c.n())
				for i, p := range c.Predictions {
					var err error
					if x[i], err = parse(p); err != nil {
						return nil, c.refusePrediction(i, "%q is no number", p)
					}
					if n := len(c.References[i]); n != 1 {
						return nil, c.refuseReference(i, "%d references, want one number", n)
					}
					if y[i], err = parse(c.References[i][0]); err != nil {
						return nil, c.refuseReference(i, "%q is no number", c.References[i][0])
					}
				}
				if name == "pearson" && c.n() < 2 {
					return nil, &pipeline.RefusedError{File: c.predFile, Offset: -1, Reason: fmt.Sprintf("metric %s: %v", name, classify.ErrFew)}
				}
				return func() stats.Places {
					a, b := make([]float64, 0, len(x)), make([]float64, 0, len(x))
					return func(places []int, values []float64) {
						a, b = a[:0], b[:0]
						for _, i := range places {
							a, b = append(a, x[i]), append(b, y[i])
						}
						switch {
						case name == "spearman":
							values[0] = classify.Spearman(a, b)
						case single:
							values[0], _ = classify.Pearson32(a, b)
						default:
							values[0], _ = classify.Pearson(a, b)
						}
					}
				}, nil
			},
		}, nil
	}
}

// question returns what an answer's id says of its question.
func (c *corpus) question(i int) (string, error) {
	k := strings.LastIndexAny(c.IDs[i], "/_-")
	if k < 0 {
		return "", c.refuseReference(i, "want ids QUESTION/ANSWER")
	}
	return c.IDs[i][:k], nil
}

// isTrue reports a label that says yes.
func isTrue(label string) bool {
	label = pytext.Strip(label)
	return label == "1" || strings.EqualFold(label, "true")
}

// isTruth reports a label that says yes or no.
func isTruth(label string) bool {
	text := pytext.Strip(label)
	return isTrue(label) || text == "0" || strings.EqualFold(text, "false")
}

// newMultiRC groups answers by question: an id is QUESTION and a last part
// behind "/", "_" or "-".
func newMultiRC(s *spec, _ *Request) (family, error) {
	return &setFamily{
		values: []string{"multirc-em", "multirc-f1m", "multirc-f1a"}, cut: stripped, what: "super_glue evaluate_multirc|question: id less its last part",
		open: func(_ context.Context, c *corpus) (func() stats.Places, error) {
			questions := make([]string, c.n())
			for i := range c.IDs {
				var err error
				if questions[i], err = c.question(i); err != nil {
					return nil, err
				}
				if err := c.oneLabel(i); err != nil {
					return nil, err
				}
				if r := c.References[i][0]; !isTruth(r) {
					return nil, c.refuseReference(i, "%q is no label, want 0 or 1", r)
				}
			}
			return func() stats.Places {
				return func(places []int, values []float64) {
					var m squad.MultiRC
					for _, i := range places {
						m.Add(questions[i], isTrue(c.References[i][0]), isTrue(c.Predictions[i]))
					}
					values[0], values[1], values[2] = m.Scores()
				}
			}, nil
		},
	}, nil
}
