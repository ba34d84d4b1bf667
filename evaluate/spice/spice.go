// Package spice compares scene graphs by their tuples, as SPICE does (Anderson
// et al. 2016). Tuples come from elsewhere: captions are not parsed here.
//
// A tuple is an object, an object and an attribute, or two objects with a
// relation between them. An element that stands for a concept with several
// words, as SPICE merges them from several references, has them between bars:
// "girl|woman". All functions are safe for concurrent use.
package spice

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
)

// A Tuple has one to three elements.
type Tuple []string

// Parse reads a list of tuples, each an array of texts or an object with one
// under "tuple" (which SPICE writes with --detailed), or a list of such lists,
// as several captions give: [["girl"],["girl","young"],["girl","on","bench"]].
// A tuple that is there twice counts once.
func Parse(text string) ([]Tuple, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return nil, errors.New("want a list of tuples: [[\"girl\"],[\"girl\",\"young\"],[\"girl\",\"on\",\"bench\"]]")
	}
	var out []Tuple
	for _, r := range raw {
		list, err := parse(r)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return Distinct(out), nil
}

// Distinct keeps the first of equal tuples.
func Distinct(list []Tuple) []Tuple {
	var out []Tuple
	for _, t := range list {
		if !slices.ContainsFunc(out, func(u Tuple) bool { return slices.Equal(t, u) }) {
			out = append(out, t)
		}
	}
	return out
}

var errTuple = errors.New("a tuple has one to three elements, none of them empty")

// parse reads a tuple or a list of tuples.
func parse(raw json.RawMessage) ([]Tuple, error) {
	var object struct {
		Tuple Tuple `json:"tuple"`
	}
	var t Tuple
	if json.Unmarshal(raw, &object) == nil {
		t = object.Tuple
	} else if json.Unmarshal(raw, &t) != nil {
		return Parse(string(raw))
	}
	if len(t) == 0 {
		return nil, nil // of a caption without tuples
	}
	if len(t) > 3 || slices.Contains(t, "") {
		return nil, errTuple
	}
	return []Tuple{t}, nil
}

// Kinds of tuples, by their number of elements.
const (
	All = iota
	Object
	Attribute
	Relation
	Kinds
)

// A Score is a kind's precision, recall and F. They are NaN for a kind other
// than All that the reference has none of.
type Score struct{ P, R, F float64 }

// A Matcher compares tuples. Senses returns the synsets of a word or phrase, in
// order; nil compares words only.
type Matcher struct {
	Senses func(word string) []int32
}

// Compare returns the scores of all tuples and of each kind. A tuple of the
// candidate counts if it is similar to any of the reference; tuples of the
// reference are not used up, so recall can be more than 1.
func (m *Matcher) Compare(cand, ref []Tuple) [Kinds]Score {
	var out [Kinds]Score
	hits := make([]bool, len(cand))
	for i, c := range cand {
		hits[i] = slices.ContainsFunc(ref, func(r Tuple) bool { return m.similar(c, r) })
	}
	for k := range out {
		of := func(t Tuple) bool { return k == All || len(t) == k }
		var n, proposed, wanted float64
		for i, c := range cand {
			if !of(c) {
				continue
			}
			proposed++
			if hits[i] {
				n++
			}
		}
		for _, r := range ref {
			if of(r) {
				wanted++
			}
		}
		switch {
		case wanted == 0 && k != All:
			out[k] = Score{math.NaN(), math.NaN(), math.NaN()}
		case wanted == 0, proposed == 0, n == 0:
		default:
			p, r := n/proposed, n/wanted
			out[k] = Score{p, r, float64(float64(2*p)*r) / (p + r)}
		}
	}
	return out
}

// similar reports tuples of one size whose elements share a word or a synset
// each.
func (m *Matcher) similar(a, b Tuple) bool {
	return len(a) == len(b) && !slices.ContainsFunc(places[:len(a)], func(i int) bool { return !m.same(a[i], b[i]) })
}

var places = [...]int{0, 1, 2}

func (m *Matcher) same(a, b string) bool {
	if a == b {
		return true
	}
	x, y := strings.Split(a, "|"), strings.Split(b, "|")
	for _, v := range x {
		if slices.Contains(y, v) {
			return true
		}
	}
	if m.Senses == nil {
		return false
	}
	var senses []int32
	for _, v := range x {
		senses = append(senses, m.Senses(v)...)
	}
	for _, w := range y {
		for _, s := range m.Senses(w) {
			if slices.Contains(senses, s) {
				return true
			}
		}
	}
	return false
}
