// Package meteor is METEOR 1.5 for English (Denkowski and Lavie 2014) as the
// caption tools call it: text normalised, parameters of the ranking task,
// modules exact, stem, synonym and paraphrase.
//
// The words of function, WordNet's synsets and the paraphrases come from the
// tables that METEOR's jar carries ([Load]); without them only the modules exact
// and stem run and every word counts as content.
//
// [Stats] of segments add up, and [Score] takes a segment's or a sum. The search
// for an alignment keeps the original's quirks: see align.go. A [Scorer] may not be used by two goroutines at once.
package meteor

import (
	"espalier/evaluate/numeric"
	"espalier/evaluate/snowball"
)

// Modules, in their order.
const (
	exact = iota
	stem
	synonym
	paraphrase
	modules
)

// Parameters of the English ranking task.
const (
	alpha = .85
	beta  = .2
	gamma = .6
	delta = .75
)

var weights = [modules]float64{1, .6, .8, .6}

// Stats are the counts of segments.
type Stats struct {
	Hyp, Ref                 float64 // words
	HypFunction, RefFunction float64
	// Matched words of a module: of the hypothesis and reference, content words
	// and function words.
	HypContent, RefContent [modules]float64
	HypFunc, RefFunc       [modules]float64
	Chunks                 float64
	HypMatches, RefMatches float64
}

// Width is the number of counts.
const Width = 7 + 4*modules

// Row writes the counts in the order in which the program prints them: lengths,
// function words, the four matches of each module, chunks, matches; of the
// hypothesis first.
func (s *Stats) Row(row []float64) {
	row = append(row[:0], s.Hyp, s.Ref, s.HypFunction, s.RefFunction)
	for m := range modules {
		row = append(row, s.HypContent[m], s.RefContent[m], s.HypFunc[m], s.RefFunc[m])
	}
	_ = append(row, s.Chunks, s.HypMatches, s.RefMatches)
}

// Perfect reports a segment that is matched whole in one chunk: such a one adds
// no chunk to a sum.
func (s *Stats) Perfect() bool {
	return s.HypMatches == s.Hyp && s.RefMatches == s.Ref && s.Chunks == 1
}

// Score computes METEOR of counts as Row writes them, in [0, 1].
func Score(row []float64) float64 {
	hyp, ref := side(row, 0), side(row, 1)
	f := 1 / ((1-alpha)/hyp + alpha/ref) // of precision and recall
	chunks, hm, rm := row[Width-3], row[Width-2], row[Width-1]
	frag := 0.0
	if !(hm == row[0] && rm == row[1] && chunks <= 1) {
		frag = chunks / ((hm + rm) / 2)
	}
	score := f * (1 - float64(gamma*numeric.Pow(frag, beta)))
	if !(score > 0) {
		return 0
	}
	return score
}

// side returns weighted matches over weighted length of one side.
func side(row []float64, k int) float64 {
	length, function := row[k], row[2+k]
	total := float64(delta*(length-function)) + float64((1-delta)*function)
	matched := 0.0
	for m := range modules {
		matched += float64(weights[m] * (float64(delta*row[4+4*m+k]) + float64((1-delta)*row[6+4*m+k])))
	}
	return matched / total
}

// A Scorer compares texts.
type Scorer struct {
	data  *Data
	table *Paraphrases
	stems map[string]string
	sense map[string][]int32
}

// NewScorer returns a scorer; the table may be nil.
func NewScorer(d *Data, table *Paraphrases) *Scorer {
	return &Scorer{data: d, table: table, stems: make(map[string]string), sense: make(map[string][]int32)}
}

func (s *Scorer) stem(w string) string {
	v, ok := s.stems[w]
	if !ok {
		v = snowball.Stem(w)
		s.stems[w] = v
	}
	return v
}

func (s *Scorer) senses(w string) []int32 {
	v, ok := s.sense[w]
	if !ok {
		v = s.data.Senses(w)
		s.sense[w] = v
	}
	return v
}

// Count compares the words of a hypothesis and a reference.
func (s *Scorer) Count(hyp, ref []string) Stats {
	st := Stats{Hyp: float64(len(hyp)), Ref: float64(len(ref))}
	for _, w := range hyp {
		if s.data.function[w] {
			st.HypFunction++
		}
	}
	for _, w := range ref {
		if s.data.function[w] {
			st.RefFunction++
		}
	}
	best := align(s.candidates(hyp, ref), len(hyp))
	st.Chunks = float64(best.chunks)
	for _, m := range best.matches {
		if m == nil {
			continue
		}
		for _, w := range hyp[m.hyp : m.hyp+m.hypLen] {
			if s.data.function[w] {
				st.HypFunc[m.module]++
			} else {
				st.HypContent[m.module]++
			}
		}
		for _, w := range ref[m.ref : m.ref+m.refLen] {
			if s.data.function[w] {
				st.RefFunc[m.module]++
			} else {
				st.RefContent[m.module]++
			}
		}
		st.HypMatches += float64(m.hypLen)
		st.RefMatches += float64(m.refLen)
	}
	return st
}

// candidates lists all matches by the place where they begin in the reference.
func (s *Scorer) candidates(hyp, ref []string) [][]*match {
	out := make([][]*match, len(ref))
	same := len(hyp) == len(ref)
	for i := range ref {
		same = same && hyp[i] == ref[i]
	}
	pairs := func(module int, fits func(i, j int) bool) {
		for j := range ref {
			for i := range hyp {
				if fits(i, j) {
					out[j] = append(out[j], &match{i, 1, j, 1, module})
				}
			}
		}
	}
	pairs(exact, func(i, j int) bool { return hyp[i] == ref[j] })
	if same {
		return out
	}
	hs, rs := each(hyp, s.stem), each(ref, s.stem)
	pairs(stem, func(i, j int) bool { return hs[i] == rs[j] && hyp[i] != ref[j] })
	if s.data.synsets != nil {
		hs, rs := each(hyp, s.senses), each(ref, s.senses)
		pairs(synonym, func(i, j int) bool { return intersect(hs[i], rs[j]) && hyp[i] != ref[j] })
	}
	if s.table != nil {
		s.table.find(hyp, ref, func(m *match) { out[m.ref] = append(out[m.ref], m) })
	}
	return out
}

func each[T any](words []string, f func(string) T) []T {
	out := make([]T, len(words))
	for i, w := range words {
		out[i] = f(w)
	}
	return out
}

// intersect reports that two ordered lists have a common number.
func intersect(a, b []int32) bool {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			return true
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return false
}
