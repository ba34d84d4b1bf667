// Package gqa has the parts of GQA's evaluation script (Hudson and Manning,
// eval.py) that look at more than the answer: lists of choices, scene graphs
// with a model's attention, reasoning steps, and distributions of answers.
//
// Everything here is safe for concurrent use, save a [Distribution].
package gqa

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Belongs reports that an answer is in a question's list of choices. Questions
// for what two things have in common take three answers, whatever the list.
func Belongs(answer string, list []string, detailed string) bool {
	if strings.Contains(detailed, "Common") {
		list = []string{"color", "material", "shape"}
	}
	return slices.Contains(list, answer)
}

// last are steps that do not count, as they only read an answer off.
var last = []string{"exist", "query: name", "choose name"}

// Steps counts the reasoning steps of a question, given its field semantic.
func Steps(semantic []byte) (int, error) {
	var steps []struct{ Operation, Argument string }
	if err := json.Unmarshal(semantic, &steps); err != nil {
		return 0, errors.New("want a list of operations with arguments")
	}
	n := 0
	for _, s := range steps {
		text := s.Operation + ": " + s.Argument
		if !slices.ContainsFunc(last, func(l string) bool { return strings.Contains(text, l) }) {
			n++
		}
	}
	return n, nil
}

// A Box has its corners as shares of the image: x0, y0, x1, y1.
type Box [4]float64

func (b Box) size() float64 { return float64((b[2] - b[0]) * (b[3] - b[1])) }

// overlap is the area that two boxes share.
func (b Box) overlap(c Box) float64 {
	side := func(k int) float64 {
		return max(0, min(b[k+2], c[k+2])-max(b[k], c[k]))
	}
	return float64(side(0) * side(1))
}

// A Cell is a region of the image with the attention it got.
type Cell struct {
	Box
	Attention float64
}

// ParseAttention reads an element of a file of attentions: "questionId", and
// "attention", a square map or a list of regions x0, y0, x1, y1, attention.
func ParseAttention(raw []byte) (question string, cells []Cell, err error) {
	var e struct {
		Question  json.RawMessage `json:"questionId"`
		Attention [][]float64     `json:"attention"`
	}
	if err := json.Unmarshal(raw, &e); err != nil || len(e.Question) == 0 || len(e.Attention) == 0 {
		return "", nil, errors.New("want an object with questionId and attention, a map or regions of five numbers")
	}
	question = strings.Trim(string(e.Question), `"`)
	n := len(e.Attention)
	if !slices.ContainsFunc(e.Attention, func(row []float64) bool { return len(row) != n }) {
		edge := 1 / float64(n)
		for i, row := range e.Attention {
			for j, a := range row {
				x, y := float64(i), float64(j)
				cells = append(cells, Cell{Box{float64(edge * x), float64(edge * y), float64(edge * (x + 1)), float64(edge * (y + 1))}, a})
			}
		}
		return question, cells, nil
	}
	for k, r := range e.Attention {
		if len(r) != 5 {
			return "", nil, fmt.Errorf("attention: %d numbers in row %d of %d, want a square map or regions of five numbers", len(r), k+1, n)
		}
		cells = append(cells, Cell{Box(r[:4]), r[4]})
	}
	return question, cells, nil
}

// A Scene is an image's size and the boxes of its objects.
type Scene struct {
	Width, Height float64
	Objects       map[string]struct{ X, Y, W, H float64 }
}

// ParseScene reads a scene graph.
func ParseScene(raw []byte) (*Scene, error) {
	s := &Scene{}
	if err := json.Unmarshal(raw, s); err != nil || s.Width <= 0 || s.Height <= 0 {
		return nil, errors.New("want a scene graph with width, height and objects that have x, y, w, h")
	}
	return s, nil
}

// Grounding sums the attention on the regions of the objects that a question
// and its full answer name, given the fields annotations and semantic: a cell
// counts by the share of it that lies in the region.
func (s *Scene) Grounding(cells []Cell, annotations, semantic []byte) (float64, error) {
	var named struct{ Question, FullAnswer json.RawMessage }
	if err := json.Unmarshal(annotations, &named); err != nil {
		return 0, errors.New("annotations: want an object with question and fullAnswer")
	}
	var regions []Box
	for _, raw := range []json.RawMessage{named.Question, named.FullAnswer} {
		ids, err := values(raw)
		if err != nil {
			return 0, fmt.Errorf("annotations: %w", err)
		}
		for _, id := range ids {
			o, ok := s.Objects[id]
			if !ok {
				return 0, fmt.Errorf("annotations: object %s is not in the scene graph", id)
			}
			regions = append(regions, Box{o.X / s.Width, o.Y / s.Height, (o.X + o.W) / s.Width, (o.Y + o.H) / s.Height})
		}
	}
	var steps []map[string]json.RawMessage
	_ = json.Unmarshal(semantic, &steps) // without them there is no whole scene
	if slices.ContainsFunc(steps, func(m map[string]json.RawMessage) bool { _, ok := m["scene"]; return ok }) {
		regions = append(regions, Box{0, 0, 1, 1})
	}
	sum := 0.0
	for _, r := range regions {
		for _, c := range cells {
			sum += float64(c.Attention * (c.overlap(r) / c.size()))
		}
	}
	return sum, nil
}

// values returns an object's values in their order.
func values(raw json.RawMessage) ([]string, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("want an object of places and object ids")
	}
	var out []string
	for d.More() {
		if _, err := d.Token(); err != nil {
			return nil, err
		}
		var id string
		if err := d.Decode(&id); err != nil {
			return nil, errors.New("want an object of places and object ids")
		}
		out = append(out, id)
	}
	return out, nil
}

// A Distribution counts answers, wanted and given, by group of questions.
type Distribution struct {
	groups []*group
	place  map[string]*group
}

type group struct {
	answers      []string // wanted, in the order of their first occurrence
	wanted, made map[string]int
}

// Add counts a question.
func (d *Distribution) Add(name, wanted, given string) {
	g := d.place[name]
	if g == nil {
		if g = (&group{wanted: make(map[string]int), made: make(map[string]int)}); d.place == nil {
			d.place = make(map[string]*group)
		}
		d.place[name] = g
		d.groups = append(d.groups, g)
	}
	if g.wanted[wanted] == 0 {
		g.answers = append(g.answers, wanted)
	}
	g.wanted[wanted]++
	g.made[given]++
}

// Score is the mean over questions of their group's chi-square statistic, over
// 100; NaN without questions.
func (d *Distribution) Score() float64 {
	sum, all := 0.0, 0
	for _, g := range d.groups {
		score, n := 0.0, 0
		for _, a := range g.answers {
			e, o := float64(g.wanted[a]), float64(g.made[a])
			score += float64((o-e)*(o-e)) / e
			n += g.wanted[a]
		}
		sum += float64(score * float64(n))
		all += n
	}
	if all == 0 {
		return math.NaN()
	}
	return sum / float64(all) / 100
}
