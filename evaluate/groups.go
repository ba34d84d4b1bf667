package evaluate

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"espalier/evaluate/ngram"
	"espalier/evaluate/nltkbleu"
	"espalier/evaluate/pltrdy"
	"espalier/evaluate/pytext"
	"espalier/evaluate/scienceqa"
	"espalier/evaluate/vqa"
)

// An attributed family looks at further fields of the references.
type attributed interface {
	attributes() []string
}

// attributesOf lists the fields that families look at.
func attributesOf(fams []family) []string {
	var out []string
	for _, f := range fams {
		if a, ok := f.(attributed); ok {
			for _, name := range a.attributes() {
				if !slices.Contains(out, name) {
					out = append(out, name)
				}
			}
		}
	}
	return out
}

// attribute returns a field of example i, "" if its reference has none.
func (c *corpus) attribute(i int, name string) string {
	k := slices.Index(c.attributes, name)
	if k < 0 || i >= len(c.Attributes) || c.Attributes[i] == nil {
		return ""
	}
	return c.Attributes[i][k]
}

// note returns a field of example i's prediction, "" if it has none.
func (c *corpus) note(i int, name string) string {
	k := slices.Index(c.attributes, name)
	if k < 0 || i >= len(c.Notes) || c.Notes[i] == nil {
		return ""
	}
	return c.Notes[i][k]
}

// groupFamily is the mean of one or more scores over all examples and over
// groups of them. A row holds, for each group, the sums of the scores and the
// number of examples.
type groupFamily struct {
	labels []string // of groups, known after prepare; the first is of all
	parts  []string // ends of the scores' names; nil for one score without
	what   string
	scale  float64  // of the values; 0 means 100
	empty  float64  // the value of a group without examples
	fields []string // attributes
	// unanswered allows examples without a reference: questions without an
	// answer.
	unanswered bool
	// open looks at the corpus and returns the labels and a function of an
	// example, which sets the scores for every group and tells which it is in.
	open func(c *corpus) (labels []string, score func(i int, scores []float64, in []bool), err error)
	cut  splitter // what is seen of a text
	told []string // what notes returns, known after prepare
}

func (f *groupFamily) notes() []string { return f.told }

func (f *groupFamily) seen(_ context.Context, c *corpus) (func(int) ([]string, [][]string), error) {
	return seenText(c, f.cut), nil
}

func (f *groupFamily) variant() string      { return f.what }
func (f *groupFamily) attributes() []string { return f.fields }
func (f *groupFamily) each() int            { return max(1, len(f.parts)) }
func (f *groupFamily) width() int           { return (f.each() + 1) * len(f.labels) }

func (f *groupFamily) names() []string {
	if f.parts == nil {
		return f.labels
	}
	var out []string
	for _, l := range f.labels {
		for _, p := range f.parts {
			out = append(out, l+p)
		}
	}
	return out
}

func (f *groupFamily) prepare(_ context.Context, c *corpus) (func() scorer, error) {
	labels, score, err := f.open(c)
	if err != nil {
		return nil, err
	}
	f.labels = labels
	n := f.each()
	return func() scorer {
		scores, in := make([]float64, n*len(labels)), make([]bool, len(labels))
		return func(i int, row []float64) {
			clear(scores)
			clear(in)
			score(i, scores, in)
			for k := range labels {
				if in[k] {
					copy(row[k*(n+1):], scores[k*n:(k+1)*n])
					row[k*(n+1)+n] = 1
				}
			}
		}
	}, nil
}

func (f *groupFamily) total(sum, values []float64) { f.means(sum, values, f.empty) }

func (f *groupFamily) one(_ int, row, values []float64) { f.means(row, values, math.NaN()) }

func (f *groupFamily) means(sum, values []float64, empty float64) {
	n, scale := f.each(), f.scale
	if scale == 0 {
		scale = 100
	}
	for k := range values {
		group := sum[k/n*(n+1):][:n+1]
		values[k] = empty
		if group[n] > 0 {
			values[k] = float64(group[k%n] / group[n] * scale)
		}
	}
}

// labelled are groups named by the values of attributes.
type labelled struct {
	labels []string
	place  []map[string]int // by field
}

// groupsOf lists the values of fields of the references, sorted field by field,
// behind the labels that are there.
func (c *corpus) groupsOf(labels []string, prefix string, fields ...string) *labelled {
	g := &labelled{labels: labels, place: make([]map[string]int, len(fields))}
	for k, field := range fields {
		seen := make(map[string]bool)
		for i := range c.n() {
			if t := c.attribute(i, field); t != "" {
				seen[t] = true
			}
		}
		g.place[k] = make(map[string]int)
		for _, t := range sortedKeys(seen) {
			g.place[k][t] = len(g.labels)
			g.labels = append(g.labels, prefix+t)
		}
	}
	return g
}

// in tells the groups of an example.
func (g *labelled) in(c *corpus, i int, in []bool, fields ...string) {
	for k, field := range fields {
		if t := c.attribute(i, field); t != "" {
			in[g.place[k][t]] = true
		}
	}
}

func fill(scores []float64, v float64) {
	for k := range scores {
		scores[k] = v
	}
}

var vqaVersions = []string{"2021", "2016", "always", "min3"}

// A vqaFamily shows the texts as the version processes them.
type vqaFamily struct {
	groupFamily
	version vqa.Version
}

func (f *vqaFamily) seen(_ context.Context, c *corpus) (func(int) ([]string, [][]string), error) {
	return func(i int) ([]string, [][]string) {
		p, golds := vqa.Texts(c.Predictions[i], c.References[i], f.version)
		refs := make([][]string, len(golds))
		for k, g := range golds {
			refs[k] = []string{g}
		}
		return []string{p}, refs
	}, nil
}

// newVQA is the accuracy of the VQA challenges, in percent, also by type of
// answer, or of question and answer, where the references name types.
func newVQA(s *spec, _ *Request) (family, error) {
	version := s.choice("version", vqaVersions...)
	types := s.choice("types", "answer", "all", "none")
	v := vqa.Version(max(0, slices.Index(vqaVersions, version)))
	f := &vqaFamily{groupFamily{what: "GT-Vision-Lab/VQA|version:" + version, empty: math.NaN()}, v}
	switch types {
	case "answer":
		f.fields = []string{"answer_type"}
	case "all":
		f.fields = []string{"answer_type", "question_type"}
	}
	f.open = func(c *corpus) ([]string, func(int, []float64, []bool), error) {
		g := c.groupsOf([]string{"vqa"}, "vqa-", f.fields...)
		return g.labels, func(i int, scores []float64, in []bool) {
			in[0] = true
			g.in(c, i, in, f.fields...)
			fill(scores, vqa.Accuracy(c.Predictions[i], c.References[i], v))
		}, nil
	}
	return f, nil
}

func sortedKeys(m map[string]bool) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// newScienceQA is the accuracy by the columns of ScienceQA's table, in percent,
// and the share of predictions that name no choice; those count as wrong, where
// the original draws a choice.
func newScienceQA(s *spec, _ *Request) (family, error) {
	topics := s.bool("topics", false)
	choice := func(text string) []string {
		if k, ok := scienceqa.Choice(text); ok {
			return []string{strconv.Itoa(k)}
		}
		return []string{}
	}
	f := &groupFamily{what: "lupantech/ScienceQA-2cbf831|unparsed:wrong", cut: choice, empty: -1, fields: []string{"subject", "grade", "hint", "image", "topic"}}
	f.open = func(c *corpus) ([]string, func(int, []float64, []bool), error) {
		labels := []string{"scienceqa"}
		for _, column := range scienceqa.Columns[1:] {
			labels = append(labels, "scienceqa-"+column)
		}
		g := &labelled{labels: labels}
		if topics {
			g = c.groupsOf(labels, "scienceqa-", "topic")
		}
		unparsed := 0
		for _, p := range c.Predictions {
			if _, ok := scienceqa.Choice(p); !ok {
				unparsed++
			}
		}
		if f.told = nil; unparsed > 0 {
			f.told = []string{fmt.Sprintf("scienceqa: %d of %d predictions name no choice and count as wrong", unparsed, c.n())}
		}
		return g.labels, func(i int, scores []float64, in []bool) {
			q := scienceqa.Question{Subject: c.attribute(i, "subject"), Grade: c.attribute(i, "grade"), Hint: c.attribute(i, "hint"), Image: c.attribute(i, "image")}
			copy(in, q.In())
			if c.Attributes == nil {
				clear(in[1:]) // nothing is known about the questions
			}
			if topics {
				g.in(c, i, in, "topic")
			}
			if choice, ok := scienceqa.Choice(c.Predictions[i]); ok {
				for _, r := range c.References[i] {
					if want, ok := scienceqa.Choice(r); ok && want == choice {
						fill(scores, 1)
						return
					}
				}
			}
		}, nil
	}
	return f, nil
}

// newRationale scores ScienceQA's explanations against lecture and solution.
func newRationale(s *spec, _ *Request) (family, error) { return &rationaleFamily{}, nil }

// A rationaleFamily's row holds BLEU-1, BLEU-4 and a 1, and ROUGE-L and a 1 if
// neither text is empty: the original leaves the others out of its mean.
type rationaleFamily struct{}

func (f *rationaleFamily) names() []string {
	return []string{"rationale-bleu-1", "rationale-bleu-4", "rationale-rouge-l"}
}

func (f *rationaleFamily) variant() string {
	return "lupantech/ScienceQA-2cbf831|nltk 3.10.4, rouge 1.0.1"
}
func (f *rationaleFamily) width() int                       { return 5 }
func (f *rationaleFamily) attributes() []string             { return []string{"lecture", "solution"} }
func (f *rationaleFamily) one(_ int, row, values []float64) { f.total(row, values) }

func (f *rationaleFamily) total(sum, values []float64) {
	values[0], values[1], values[2] = sum[0]/sum[2], sum[1]/sum[2], 0
	if sum[4] > 0 {
		values[2] = sum[3] / sum[4]
	}
}

func (f *rationaleFamily) seen(_ context.Context, c *corpus) (func(int) ([]string, [][]string), error) {
	return func(i int) ([]string, [][]string) {
		hyp, ref := f.texts(c, i)
		return scienceqa.Tokens(hyp), [][]string{scienceqa.Tokens(ref)}
	}, nil
}

// texts returns the explanation and what it is compared with.
func (f *rationaleFamily) texts(c *corpus, i int) (hyp, ref string) {
	return scienceqa.Explanation(c.Predictions[i]), c.attribute(i, "lecture") + " " + c.attribute(i, "solution")
}

func (f *rationaleFamily) prepare(_ context.Context, c *corpus) (func() scorer, error) {
	for i := range c.n() {
		if c.attribute(i, "solution") == "" && c.attribute(i, "lecture") == "" {
			return nil, c.refuseReference(i, "neither lecture nor solution, which the explanation is compared with")
		}
	}
	one, four := nltkbleu.Options{Weights: []float64{1}}, nltkbleu.Options{Weights: nltkbleu.Uniform(4)}
	return func() scorer {
		counter := nltkbleu.NewCounter(4)
		var rouge pltrdy.Scorer
		return func(i int, row []float64) {
			hyp, ref := f.texts(c, i)
			var words ngram.Words
			number := func(s string) []uint32 {
				var ids []uint32
				for _, w := range scienceqa.Tokens(s) {
					ids = append(ids, words.Number(w))
				}
				return ids
			}
			st := counter.Count(number(hyp), [][]uint32{number(ref)})
			num, den := make([]float64, 4), make([]float64, 4)
			for k := range num {
				num[k], den[k] = float64(st.Num[k]), float64(st.Den[k])
			}
			row[2] = 1
			row[0], _ = one.Score(float64(st.Hyp), float64(st.Ref), num[:1], den[:1], st.Last)
			row[1], _ = four.Score(float64(st.Hyp), float64(st.Ref), num, den, st.Last)
			h, errH := rouge.Cut(pytext.Strip(hyp))
			r, errR := rouge.Cut(pytext.Strip(ref))
			if errH == nil && errR == nil {
				row[3], row[4] = rouge.L(r, h).F, 1 // the original has them the other way round
			}
		}
	}, nil
}
