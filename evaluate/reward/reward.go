// Package reward scores sampled captions for self-critical training (SCST,
// Rennie et al. 2017; ACORT's public code): CIDEr-D with a stored
// document-frequency table plus sentence BLEU, and the advantages over a
// baseline.
//
// A [Scorer] is made once for a table and may not be used by two goroutines at
// once; Scorers of several goroutines each need a table of their own, since
// words that were never seen are numbered as they come.
package reward

import (
	"espalier/evaluate/bleu"
	"espalier/evaluate/cider"
	"espalier/evaluate/ngram"
)

// Weights say what a reward is made of. ACORT's is CIDEr 1 and BLEU-4 1.
type Weights struct {
	CIDEr float64
	BLEU  [bleu.Order]float64 // of BLEU-1 to BLEU-4
}

// A Scorer gives samples their rewards.
type Scorer struct {
	words   *ngram.Words
	cider   *cider.Scorer
	bleu    bleu.Counter
	weights Weights
	end     []uint32 // appended to every sentence
	hyps    [][]uint32
	refs    [][]uint32
	scores  []float64
}

// New returns a Scorer that reads df, a finished table over words. End is the
// token appended to samples and references, such as "<eos>"; "" appends none,
// which is what the public code does.
func New(words *ngram.Words, df *cider.DF, w Weights, end string) *Scorer {
	s := &Scorer{words: words, cider: cider.NewScorer(df, cider.Options{}), weights: w}
	if end != "" {
		s.end = []uint32{words.Number(end)}
	}
	return s
}

// Score appends to dst the rewards of several samples of one image, words
// split at white space. References must not be empty.
func (s *Scorer) Score(dst []float64, samples, references []string) []float64 {
	s.hyps = s.number(s.hyps, samples)
	s.refs = s.number(s.refs, references)
	first := len(dst)
	for range samples {
		dst = append(dst, 0)
	}
	out := dst[first:]
	if s.weights.CIDEr != 0 {
		s.scores = s.cider.ScoreAll(s.scores[:0], s.hyps, s.refs)
		for i, v := range s.scores {
			out[i] += float64(s.weights.CIDEr * v)
		}
	}
	if s.weights.BLEU != [bleu.Order]float64{} {
		for i, h := range s.hyps {
			b := s.bleu.Count(h, s.refs).Score(bleu.Closest)
			for k, w := range s.weights.BLEU {
				out[i] += float64(w * b[k])
			}
		}
	}
	return dst
}

func (s *Scorer) number(dst [][]uint32, texts []string) [][]uint32 {
	for len(dst) < len(texts) {
		dst = append(dst, nil)
	}
	dst = dst[:len(texts)]
	for i, t := range texts {
		dst[i] = append(s.words.Fields(dst[i][:0], t), s.end...)
	}
	return dst
}

// LeaveOneOut sets adv to each sample's reward less the mean of the others'
// rewards. With one sample the advantage is 0.
func LeaveOneOut(adv, rewards []float64) {
	n := float64(len(rewards))
	total := sum(rewards)
	for i, r := range rewards {
		if len(rewards) < 2 {
			adv[i] = 0
			continue
		}
		adv[i] = r - (total-r)/(n-1)
	}
}

// MeanOfAll sets adv to each sample's reward less the mean of all rewards, the
// baseline of ACORT's published runs.
func MeanOfAll(adv, rewards []float64) {
	mean := sum(rewards) / float64(len(rewards))
	for i, r := range rewards {
		adv[i] = r - mean
	}
}

// Greedy sets adv to each sample's reward less that of the greedy caption.
func Greedy(adv, rewards []float64, greedy float64) {
	for i, r := range rewards {
		adv[i] = r - greedy
	}
}

func sum(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s
}
