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

import "espalier/evaluate/numeric"

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
	rest  = 0.15000000000000002 // 1 - alpha, rounded as in the original
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
	return score(row, func(frag float64) float64 { return numeric.Pow(frag, beta) })
}

func score(row []float64, power func(frag float64) float64) float64 {
	hyp, ref := weighted(row, 0), weighted(row, 1)
	f := 1 / (float64(rest/hyp) + float64(alpha/ref)) // of precision and recall
	chunks, hm, rm := row[Width-3], row[Width-2], row[Width-1]
	frag := 0.0
	if !(hm == row[0] && rm == row[1] && chunks <= 1) {
		frag = chunks / ((hm + rm) / 2)
	}
	v := f * (1 - float64(gamma*power(frag)))
	if !(v > 0) {
		return 0
	}
	return v
}

// weighted returns weighted matches over weighted length of one side, summed in
// the original's order: of two references with the same score the first counts.
func weighted(row []float64, k int) float64 {
	length, function := row[k], row[2+k]
	total := float64(delta*(length-function)) + float64((1-delta)*function)
	matched := 0.0
	for m := range modules {
		matched += float64(float64(row[4+4*m+k]*weights[m]) * delta)
	}
	for m := range modules {
		matched += float64(float64(row[6+4*m+k]*weights[m]) * (1 - delta))
	}
	return matched / total
}
