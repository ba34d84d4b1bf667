// Package rouge is ROUGE-L as the COCO caption tools compute it (pycocoevalcap
// 1.2; Lin 2004, eq. 2 to 4, with beta 1.2).
//
// Words are split at single blanks, so an empty text is one empty word. With L
// the length of the longest common subsequence of the hypothesis and a
// reference, precision L/|hyp| and recall L/|ref| are each the largest over
// the references, taken apart: they may come from different references. The
// corpus score is the mean of the images' scores.
package rouge

import "espalier/evaluate/lcs"

const (
	beta   = 1.2
	betaSq = 1.44
)

// A Scorer computes scores. The zero Scorer is ready; it may not be used by
// two goroutines at once.
type Scorer struct {
	lcs lcs.Finder
}

// Score returns ROUGE-L of one image, in [0, 1]. Both sides are numbers of
// words as [espalier/evaluate/ngram.Words.Cut] gives them, so none is empty.
func (s *Scorer) Score(hyp []uint32, refs [][]uint32) float64 {
	var p, r float64
	for _, ref := range refs {
		l := float64(s.lcs.Length(hyp, ref))
		p = max(p, l/float64(len(hyp)))
		r = max(r, l/float64(len(ref)))
	}
	if p == 0 || r == 0 {
		return 0
	}
	num := float64((1+betaSq)*p) * r
	return num / (r + float64(betaSq*p))
}
