package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"espalier/evaluate/gqa"
	"espalier/evaluate/input"
	"espalier/evaluate/pytext"
	"espalier/evaluate/stats"
	"espalier/pipeline"
	"espalier/preprocess/rawjson"
)

// Fields of GQA's questions.
const (
	gqaStructural = "types.structural"
	gqaSemantic   = "types.semantic"
	gqaDetailed   = "types.detailed"
	gqaBalanced   = "isBalanced"
	gqaEntailed   = "entailed"
	gqaQuestion   = "question"
	gqaImage      = "imageId"
	gqaGroup      = "groups.global"
	gqaSteps      = "semantic" + input.RawField
	gqaObjects    = "annotations" + input.RawField
)

// A gqaFamily has the scores that GQA's script gives, in percent: of all
// balanced questions, of those that want yes, no or a choice (binary) and the
// others (open), by structural and semantic type, and the consistency over
// questions that follow from one that was answered right; validity,
// plausibility and grounding if the files are given that they need. What the
// questions' fields do not tell is left out.
type gqaFamily struct {
	groupFamily
	types                       string
	choices, scenes, attentions string // files
}

func newGQA(s *spec, r *Request) (family, error) {
	f := &gqaFamily{types: s.choice("types", "all", "none", "more")}
	f.empty = math.NaN()
	for key, to := range map[string]*string{"choices": &f.choices, "scenes": &f.scenes, "attentions": &f.attentions} {
		s.used[key] = true
		if *to = s.options[key]; *to == "" {
			continue
		}
		if r.NoFiles {
			return nil, fmt.Errorf("option %s names a file, which a stage cannot", key)
		}
		if _, err := os.Stat(*to); err != nil {
			return nil, err
		}
	}
	if (f.scenes == "") != (f.attentions == "") {
		s.errs = append(s.errs, "grounding needs both scenes and attentions")
	}
	var not []string
	if f.choices == "" {
		not = append(not, "validity", "plausibility")
	}
	if f.attentions == "" {
		not = append(not, "grounding")
	}
	f.what = "GQA eval.py|exact"
	if len(not) > 0 {
		f.what += "|not run: " + strings.Join(not, ", ")
	}
	if f.types != "none" {
		f.fields = []string{gqaStructural, gqaSemantic, gqaBalanced, gqaEntailed}
	}
	if f.types == "more" {
		f.fields = append(f.fields, gqaQuestion, gqaSteps)
	}
	if f.choices != "" {
		f.fields = append(f.fields, gqaDetailed, gqaBalanced)
	}
	if f.attentions != "" {
		f.fields = append(f.fields, gqaImage, gqaObjects, gqaSteps, gqaBalanced)
	}
	f.groupFamily.open = f.open
	return f, nil
}

func (f *gqaFamily) open(c *corpus) ([]string, func(int, []float64, []bool), error) {
	labels := []string{"gqa"}
	right := func(i int) bool { return slices.Contains(c.References[i], c.Predictions[i]) }
	if c.Attributes == nil && f.choices == "" && f.attentions == "" {
		return labels, func(i int, scores []float64, in []bool) {
			in[0] = true
			if right(i) {
				scores[0] = 1
			}
		}, nil
	}
	place := make(map[string]int)
	for i, id := range c.IDs {
		place[id] = i
	}
	const binary, open, consistency = 1, 2, 3
	g := &labelled{labels: labels}
	var lengths [][2]int // places of the labels of words and steps
	if f.types != "none" {
		g = c.groupsOf(append(labels, "gqa-binary", "gqa-open", "gqa-consistency"), "gqa-", gqaStructural, gqaSemantic)
	}
	if f.types == "more" {
		var err error
		if lengths, err = c.gqaLengths(g); err != nil {
			return nil, nil, err
		}
	}
	chosen, err := f.chosen(c, place)
	if err != nil {
		return nil, nil, err
	}
	grounded, err := f.grounded(c, place)
	if err != nil {
		return nil, nil, err
	}
	valid, grounding := len(g.labels), len(g.labels)
	if chosen != nil {
		g.labels = append(g.labels, "gqa-validity", "gqa-plausibility")
		grounding += 2
	}
	if grounded != nil {
		g.labels = append(g.labels, "gqa-grounding")
	}
	return g.labels, func(i int, scores []float64, in []bool) {
		if c.attribute(i, gqaBalanced) == "false" {
			return
		}
		in[0] = true
		hit := right(i)
		if hit {
			fill(scores, 1)
		}
		if chosen != nil {
			for k, ok := range chosen[i] {
				in[valid+k], scores[valid+k] = true, 0
				if ok {
					scores[valid+k] = 1
				}
			}
		}
		if grounded != nil {
			in[grounding], scores[grounding] = true, grounded[i]
		}
		if f.types == "none" {
			return
		}
		g.in(c, i, in, gqaStructural, gqaSemantic)
		if lengths != nil {
			for _, k := range lengths[i] {
				if k > 0 {
					in[k] = true
				}
			}
		}
		switch c.attribute(i, gqaStructural) {
		case "":
		case "query":
			in[open] = true
		default:
			in[binary] = true
		}
		if !hit {
			return
		}
		n, ok := 0, 0
		for _, id := range strings.Split(c.attribute(i, gqaEntailed), listSeparator) {
			if k, known := place[id]; known && k != i {
				if n++; right(k) {
					ok++
				}
			}
		}
		if n > 0 {
			in[consistency], scores[consistency] = true, float64(ok)/float64(n)
		}
	}, nil
}

// gqaLengths adds groups by the number of a question's words and of its
// reasoning steps.
func (c *corpus) gqaLengths(g *labelled) ([][2]int, error) {
	counts := make([][2]int, c.n())
	var seen [2]map[int]int
	for k := range seen {
		seen[k] = make(map[int]int)
	}
	for i := range counts {
		if c.attribute(i, gqaBalanced) == "false" {
			continue
		}
		counts[i] = [2]int{len(pytext.Fields(c.attribute(i, gqaQuestion))), -1}
		seen[0][counts[i][0]] = 0
		if text := c.attribute(i, gqaSteps); text != "" {
			n, err := gqa.Steps([]byte(text))
			if err != nil {
				return nil, c.refuseReference(i, "semantic: %v", err)
			}
			counts[i][1] = n
			seen[1][n] = 0
		}
	}
	for k, what := range []string{"gqa-words-", "gqa-steps-"} {
		for _, n := range sortedInts(seen[k]) {
			seen[k][n] = len(g.labels)
			g.labels = append(g.labels, what+strconv.Itoa(n))
		}
	}
	out := make([][2]int, c.n())
	for i := range out {
		for k := range seen {
			out[i][k] = seen[k][counts[i][k]]
		}
	}
	return out, nil
}

func sortedInts(m map[int]int) []int {
	var out []int
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// eachMember visits the members of a file that is one object.
func eachMember(path string, visit func(name string, value []byte) error) error {
	r, size, done, err := input.Expand(path)
	if err != nil {
		return err
	}
	defer done()
	s := rawjson.NewMembers(r, size)
	for e := s.Next(); e != nil; e = s.Next() {
		if err := visit(string(e.Name), e.Bytes); err != nil {
			return &pipeline.RefusedError{File: path, Offset: e.Offset, Field: string(e.Name), Reason: err.Error()}
		}
	}
	return document(path, s.Err())
}

// eachElement visits the elements of a file that is one array.
func eachElement(path string, visit func(value []byte) error) error {
	r, size, done, err := input.Expand(path)
	if err != nil {
		return err
	}
	defer done()
	s := rawjson.NewScanner(r, size)
	for e := s.Next(); e != nil; e = s.Next() {
		if err := visit(e.Bytes); err != nil {
			return &pipeline.RefusedError{File: path, Offset: e.Offset, Reason: err.Error()}
		}
	}
	return document(path, s.Err())
}

// document turns an error of a scan into a refusal of the file.
func document(path string, err error) error {
	var d *rawjson.DocumentError
	if errors.As(err, &d) {
		return &pipeline.RefusedError{File: path, Line: d.Line, Offset: d.Offset, Field: d.Field, Reason: d.Reason}
	}
	return err
}

// chosen tells for each example whether its prediction is valid and plausible.
func (f *gqaFamily) chosen(c *corpus, place map[string]int) ([][2]bool, error) {
	if f.choices == "" {
		return nil, nil
	}
	out, known := make([][2]bool, c.n()), make([]bool, c.n())
	err := eachMember(f.choices, func(id string, value []byte) error {
		i, ok := place[id]
		if !ok {
			return nil
		}
		var lists struct{ Valid, Plausible []string }
		if err := json.Unmarshal(value, &lists); err != nil {
			return errors.New("want an object with lists valid and plausible")
		}
		known[i] = true
		for k, list := range [][]string{lists.Valid, lists.Plausible} {
			out[i][k] = gqa.Belongs(c.Predictions[i], list, c.attribute(i, gqaDetailed))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, f.complete(c, known, f.choices)
}

// complete refuses a file that lacks an example which is scored.
func (f *gqaFamily) complete(c *corpus, known []bool, path string) error {
	for i, ok := range known {
		if !ok && c.attribute(i, gqaBalanced) != "false" {
			return &pipeline.RefusedError{File: path, Offset: -1, Reason: fmt.Sprintf("question %s, which is predicted, is not there", c.IDs[i])}
		}
	}
	return nil
}

// grounded returns the grounding of each example.
func (f *gqaFamily) grounded(c *corpus, place map[string]int) ([]float64, error) {
	if f.attentions == "" {
		return nil, nil
	}
	images := make(map[string]*gqa.Scene)
	for i := range c.n() {
		images[c.attribute(i, gqaImage)] = nil
	}
	err := eachMember(f.scenes, func(id string, value []byte) error {
		if _, wanted := images[id]; !wanted {
			return nil
		}
		s, err := gqa.ParseScene(value)
		images[id] = s
		return err
	})
	if err != nil {
		return nil, err
	}
	out, known := make([]float64, c.n()), make([]bool, c.n())
	err = eachElement(f.attentions, func(value []byte) error {
		id, cells, err := gqa.ParseAttention(value)
		i, ok := place[id]
		if err != nil || !ok || c.attribute(i, gqaBalanced) == "false" {
			return err
		}
		scene := images[c.attribute(i, gqaImage)]
		if scene == nil {
			return fmt.Errorf("question %s: image %q is not in %s", id, c.attribute(i, gqaImage), f.scenes)
		}
		known[i] = true
		out[i], err = scene.Grounding(cells, []byte(c.attribute(i, gqaObjects)), []byte(c.attribute(i, gqaSteps)))
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, f.complete(c, known, f.attentions)
}

// newGQADistribution is the distance between the answers' distributions, by
// global group of questions: lower is better.
func newGQADistribution(*spec, *Request) (family, error) {
	return &setFamily{
		values: []string{"gqa-distribution"}, what: "GQA eval.py|chi-square by global group / 100", fields: []string{gqaGroup, gqaBalanced},
		open: func(_ context.Context, c *corpus) (func() stats.Places, error) {
			for i := range c.n() {
				if err := c.oneLabel(i); err != nil {
					return nil, err
				}
			}
			return func() stats.Places {
				return func(places []int, values []float64) {
					var d gqa.Distribution
					for _, i := range places {
						if g := c.attribute(i, gqaGroup); g != "" && c.attribute(i, gqaBalanced) != "false" {
							d.Add(g, c.References[i][0], c.Predictions[i])
						}
					}
					values[0] = d.Score()
				}
			}, nil
		},
	}, nil
}
