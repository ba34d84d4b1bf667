// Package maxmatch is the MaxMatch (M2) scorer of grammatical error correction
// (Dahlmeier and Ng 2012) as the NUS script computes it, its quirks included.
//
// Source and hypothesis span a lattice of all edits of least cost. Phrases of
// several edits are arcs of their own; those that equal a gold edit are
// preferred, and the cheapest path gives the system's edits. [Compare] counts
// them against every annotator of a sentence, and a [Chooser] picks, sentence
// by sentence, the annotator that is best for the whole corpus.
//
// The script takes time that grows with the cube of the lattice's vertices and
// more; here it is in proportion to the lattice's edges, and a sentence with
// more than [MaxEdges] of them is refused before it takes more. A [Comparer] and
// a Chooser serve one goroutine.
package maxmatch

import (
	"errors"
	"slices"
	"strings"

	"espalier/evaluate/pytext"
)

// An Edit replaces the source words from Start to End, not included.
type Edit struct {
	Start, End  int
	Original    string
	Corrections []string // alternatives; of a system edit one
}

// A Sentence is a source with the edits of its annotators.
type Sentence struct {
	Source     []string
	Annotators []Annotator // at least one, by number
}

// An Annotator is one person's edits of a sentence, in the order of the file.
type Annotator struct {
	ID    int
	Edits []Edit
}

// Options are the variants.
type Options struct {
	MaxUnchanged int     // words that a phrase may hold unchanged; the script's default is 2
	IgnoreCase   bool    // drop edits that change only case and blanks
	Beta         float64 // of F; the script's default is 0.5
}

// A Count is what one annotator's edits give.
type Count struct {
	Edits []Edit // of the system, left to right
	Totals
}

// Lattice holds the sizes of a sentence's lattice.
type Lattice struct{ Vertices, Edges int }

// MaxEdges is how many edges a lattice may have, which take about a second and
// 1 GB: those of two sentences of 100 words that have none in common, for which
// the script would need weeks.
const MaxEdges = 1 << 25

// ErrTooLarge says that two sentences have too little in common for their length.
var ErrTooLarge = errors.New("maxmatch: source and hypothesis are too long for how much they differ")

// keptEdges is the largest lattice whose memory is kept for the next.
const keptEdges = 1 << 18

// A Comparer compares sentences, one after the other in the same memory. The
// zero Comparer is ready.
type Comparer struct{ l lattice }

// Compare counts a hypothesis against every annotator of a sentence.
func (c *Comparer) Compare(s *Sentence, hyp []string, o Options) ([]Count, Lattice, error) {
	l := &c.l
	if err := l.build(s.Source, hyp, o.MaxUnchanged, MaxEdges); err != nil {
		*l = lattice{}
		return nil, Lattice{}, err
	}
	out := make([]Count, len(s.Annotators))
	for i, a := range s.Annotators {
		edits := l.best(a.Edits)
		if o.IgnoreCase {
			edits = slices.DeleteFunc(edits, func(e Edit) bool { return plain(e.Original) == plain(e.Corrections[0]) })
		}
		out[i] = Count{edits, Totals{matches(edits, a.Edits, o.IgnoreCase), len(edits), len(a.Edits)}}
	}
	size := Lattice{len(l.vertices), len(l.edges)}
	if size.Edges > keptEdges {
		*l = lattice{}
	}
	return out, size, nil
}

func plain(s string) string { return strings.ReplaceAll(pytext.Lower(s), " ", "") }

// matches counts system edits that equal a gold edit behind the last one that
// was matched. The script goes on after a match, so a gold edit that stands
// twice counts twice.
func matches(system, gold []Edit, ignoreCase bool) int {
	n, last := 0, 0
	for _, e := range system {
		for i := last; i < len(gold); i++ {
			if equal(&e, &gold[i], ignoreCase) {
				n++
				last = i + 1
			}
		}
	}
	return n
}

func equal(e, gold *Edit, ignoreCase bool) bool {
	if e.Start != gold.Start || e.End != gold.End {
		return false
	}
	if ignoreCase {
		if plain(e.Original) != plain(gold.Original) {
			return false
		}
		return slices.ContainsFunc(gold.Corrections, func(c string) bool { return plain(c) == plain(e.Corrections[0]) })
	}
	return e.Original == gold.Original && slices.Contains(gold.Corrections, e.Corrections[0])
}

// Totals are summed counts.
type Totals struct{ Correct, Proposed, Gold int }

// F returns precision, recall and F; precision is 1 if nothing was proposed,
// recall if there is nothing to find.
func (t Totals) F(beta float64) (p, r, f float64) {
	p, r = 1, 1
	if t.Proposed > 0 {
		p = float64(t.Correct) / float64(t.Proposed)
	}
	if t.Gold > 0 {
		r = float64(t.Correct) / float64(t.Gold)
	}
	if d := float64(beta*beta*p) + r; d > 0 {
		f = float64(float64((1+float64(beta*beta))*p)*r) / d
	}
	return p, r, f
}

// A Chooser picks annotators sentence by sentence: the one with the best F of
// all sentences so far and this one, then the one with more correct edits, then
// the one with the smaller beta^2*gold + proposed, then the first.
type Chooser struct {
	Beta   float64
	Totals Totals
}

// Choose adds a sentence and returns the place of the annotator it took.
func (c *Chooser) Choose(counts []Totals) int {
	best, bestF := -1, 0.0
	var chosen Totals
	weight := func(t Totals) float64 { return float64(float64(c.Beta*c.Beta)*float64(t.Gold)) + float64(t.Proposed) }
	for i, n := range counts {
		t := Totals{c.Totals.Correct + n.Correct, c.Totals.Proposed + n.Proposed, c.Totals.Gold + n.Gold}
		f := 1.0
		if w := weight(t); w != 0 {
			f = float64((1+float64(c.Beta*c.Beta))*float64(t.Correct)) / w
		}
		if best < 0 || f > bestF || f == bestF && (t.Correct > chosen.Correct || t.Correct == chosen.Correct && weight(t) < weight(chosen)) {
			best, bestF, chosen = i, f, t
		}
	}
	c.Totals = chosen
	return best
}
