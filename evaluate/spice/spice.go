// Package spice compares scene graphs by their tuples, as SPICE does (Anderson
// et al. 2016). Tuples come from elsewhere: captions are not parsed here.
//
// A tuple is an object, an object and an attribute, or two objects with a
// relation between them. An element that stands for a concept with several
// words, as SPICE merges them from several references, has them between strokes
// or bars: "girl/woman" is how SPICE writes it. All functions are safe for concurrent use.
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

// Kinds of tuples: by their number of elements, and attributes that are a
// number, a colour or a size.
const (
	All = iota
	Object
	Attribute
	Relation
	Cardinality
	Color
	Size
	Kinds
)

// Names are those of the kinds in SPICE's output, in lower case.
var Names = [Kinds]string{"all", "object", "attribute", "relation", "cardinality", "color", "size"}

// words are the attributes of the kinds behind Relation.
var words = func() map[string]int {
	out := make(map[string]int)
	for kind, list := range map[int]string{
		Cardinality: "one two three four five six seven eight nine ten",
		Color:       "beige black blue brown cream dark gray green grey light maroon orange pink purple red violet white yellow",
		Size: `baby beefy big bony boundless brawny broad bulky chunky colossal compact corpulent cosmic cubby curvy elfin emaciated endless enormous epic
			expansive extensive fat fleshy full-size gargantuan gaunt giant gigantic grand great heavy hefty huge hulking illimitable immeasurable immense
			infinitesimal lanky large lean life-size limitless little mammoth massive meager measly microscopic mini miniature minuscule minute narrow obese
			outsized oversize overweight paltry petite pint-size plump pocket-size portly pudgy puny rotund scanty scraggy scrawny short sizable skeletal skimpy
			skinny slender slim small squat stocky stout strapping sturdy tall teensy teeny teeny-tiny teeny-weeny thick thickset thin tiny titanic towering
			trifling trim tubby underweight undersized unlimited vast wee whopping wide`,
	} {
		for _, w := range strings.Fields(list) {
			out[w] = kind
		}
	}
	return out
}()

// is tells whether a tuple is of a kind.
func (t Tuple) is(kind int) bool {
	switch {
	case kind == All:
		return true
	case kind <= Relation:
		return len(t) == kind
	}
	return len(t) == 2 && words[t[1]] == kind
}

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
		var n, proposed, wanted float64
		for i, c := range cand {
			if !c.is(k) {
				continue
			}
			proposed++
			if hits[i] {
				n++
			}
		}
		for _, r := range ref {
			if r.is(k) {
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

func between(r rune) bool { return r == '/' || r == '|' }

func (m *Matcher) same(a, b string) bool {
	if a == b {
		return true
	}
	x, y := strings.FieldsFunc(a, between), strings.FieldsFunc(b, between)
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
