// Package cider is CIDEr as the COCO caption tools compute it, which is the
// CIDEr-D formula of Vedantam et al. 2015 (eq. 4 to 6 with clipping and length
// penalty), and the plain form without the two.
//
// For n-grams w of order k = 1..4, with N images and df(w) of them holding w
// in a reference, a sentence s has the weights
//
//	g_w(s) = count_s(w) * (ln N - ln max(1, df(w)))
//
// and for a hypothesis h and a reference r
//
//	sim_k = sum over w of min(g_w(h), g_w(r)) * g_w(r) / (|g(h)|_k |g(r)|_k) * exp(-(d^2) / (2 sigma^2))
//
// where d is the difference of their numbers of bigrams. The score is 10 times
// the mean over k and over the references. The plain form has no minimum and
// no exponential factor. The corpus score is the mean over images.
//
// A [DF] holds df; it comes from references or from a file (as rewards do). A
// [Scorer] reads it. A [Corpus] does the same for images whose own references
// give df (as the caption tools do), in less time.
package cider

import (
	"math"

	"espalier/evaluate/ngram"
	"espalier/evaluate/numeric"
)

// Order is the longest n-gram counted.
const Order = 4

// DefaultSigma is the width of the length penalty, in bigrams.
const DefaultSigma = 6

// Options are the variants of the formula.
type Options struct {
	Plain bool    // neither clipping nor length penalty: the CIDEr of the paper without its stemming
	Sigma float64 // 0 means DefaultSigma
}

func (o Options) filled() Options {
	if o.Sigma == 0 {
		o.Sigma = DefaultSigma
	}
	return o
}

// A Scorer scores hypotheses. It may not be used by two goroutines at once;
// several Scorers may share one DF.
type Scorer struct {
	df    *DF
	opt   Options
	gauss gauss

	// One image's n-grams, numbered as they are met.
	grams [Order]ngram.Table
	idf   [Order][]float64
	in    [Order][]uint32 // number in df, unknown if none
	count [Order][]int32  // count in the present reference
	hyp   vector
	refs  []vector
}

const unknown = math.MaxUint32

// A vector is a sentence as weights of its n-grams.
type vector struct {
	ids    [Order][]uint32
	counts [Order][]int32
	norm   [Order]float64
	length int // bigrams
}

// NewScorer returns a scorer that reads df, which must be finished.
func NewScorer(df *DF, opt Options) *Scorer {
	opt = opt.filled()
	return &Scorer{df: df, opt: opt, gauss: gauss{sigma: opt.Sigma}}
}

// Score returns CIDEr of one hypothesis in [0, 10]. Words are numbered by the
// DF's Words; refs must not be empty.
func (s *Scorer) Score(hyp []uint32, refs [][]uint32) float64 {
	s.setRefs(refs)
	s.weigh(&s.hyp, hyp, nil)
	return s.score()
}

// ScoreAll appends to dst the scores of several hypotheses of one image.
func (s *Scorer) ScoreAll(dst []float64, hyps, refs [][]uint32) []float64 {
	s.setRefs(refs)
	for _, h := range hyps {
		s.weigh(&s.hyp, h, nil)
		dst = append(dst, s.score())
	}
	return dst
}

func (s *Scorer) setRefs(refs [][]uint32) {
	s.begin(len(refs))
	for i, r := range refs {
		s.weigh(&s.refs[i], r, nil)
	}
}

// begin forgets the image before.
func (s *Scorer) begin(refs int) {
	for k := range Order {
		s.grams[k].Reset()
		s.idf[k], s.in[k], s.count[k] = s.idf[k][:0], s.in[k][:0], s.count[k][:0]
	}
	for len(s.refs) < refs {
		s.refs = append(s.refs, vector{})
	}
	s.refs = s.refs[:refs]
}

// weigh sets v to the weights of a sentence. The n-grams of an order are in
// the order of their first occurrence, which is the order of the sums. Idf gives
// the weight of an n-gram of k+1 words by its place and last word; if it is nil,
// the table does.
func (s *Scorer) weigh(v *vector, words []uint32, idf func(k, place int, word uint32) float64) {
	v.length = max(0, len(words)-1)
	for k := range Order {
		v.ids[k], v.counts[k] = v.ids[k][:0], v.counts[k][:0]
	}
	for i := range words {
		prefix := uint32(0)
		for k := 0; k < Order && i+k < len(words); k++ {
			id := s.grams[k].Number(ngram.Key(prefix, words[i+k]))
			if int(id) == len(s.idf[k]) {
				s.count[k] = append(s.count[k], 0)
				if idf != nil {
					s.idf[k] = append(s.idf[k], idf(k, i, words[i+k]))
				} else {
					s.look(k, prefix, words[i+k])
				}
			}
			if s.count[k][id] == 0 {
				v.ids[k] = append(v.ids[k], id)
			}
			s.count[k][id]++
			prefix = id
		}
	}
	for k := range Order {
		sum := 0.0
		for _, id := range v.ids[k] {
			w := float64(float64(s.count[k][id]) * s.idf[k][id])
			sum += float64(w * w)
			v.counts[k] = append(v.counts[k], s.count[k][id])
			s.count[k][id] = 0
		}
		v.norm[k] = math.Sqrt(sum)
	}
}

// look finds a new n-gram in the table.
func (s *Scorer) look(k int, prefix, word uint32) {
	global, known := uint32(0), true
	if k > 0 {
		global = s.in[k-1][prefix]
		known = global != unknown
	}
	if known {
		global, known = s.df.grams[k].Find(ngram.Key(global, word))
	}
	idf := s.df.logN
	if known {
		idf = s.df.idf(k, global)
	} else {
		global = unknown
	}
	s.idf[k] = append(s.idf[k], idf)
	s.in[k] = append(s.in[k], global)
}

func (s *Scorer) score() float64 {
	var sum [Order]float64
	for i := range s.refs {
		r := &s.refs[i]
		factor := 1.0
		if !s.opt.Plain {
			factor = s.gauss.penalty(s.hyp.length - r.length)
		}
		for k := range Order {
			v := s.dot(k, r)
			if s.hyp.norm[k] != 0 && r.norm[k] != 0 {
				v /= float64(s.hyp.norm[k] * r.norm[k])
			}
			sum[k] += float64(v * factor)
		}
	}
	return mean(&sum, len(s.refs))
}

// mean is an image's score from the sums over its references.
func mean(sum *[Order]float64, refs int) float64 {
	m := (sum[0] + sum[1] + sum[2] + sum[3]) / Order
	m /= float64(refs)
	return m * 10
}

// dot multiplies the weights of the hypothesis and a reference.
func (s *Scorer) dot(k int, r *vector) float64 {
	for i, id := range r.ids[k] {
		s.count[k][id] = r.counts[k][i]
	}
	sum := 0.0
	for i, id := range s.hyp.ids[k] {
		n := s.count[k][id]
		if n == 0 {
			continue // its product is 0
		}
		idf := s.idf[k][id]
		h, g := float64(float64(s.hyp.counts[k][i])*idf), float64(float64(n)*idf)
		if !s.opt.Plain && g < h {
			h = g
		}
		sum += float64(h * g)
	}
	for _, id := range r.ids[k] {
		s.count[k][id] = 0
	}
	return sum
}

// A gauss is the length penalty.
type gauss struct {
	sigma float64
	by    []float64 // difference
}

// penalty returns e^(-(d^2) / (2 sigma^2)).
func (g *gauss) penalty(d int) float64 {
	d = max(d, -d)
	for len(g.by) <= d {
		n := float64(len(g.by))
		x := float64(n*n) / float64(2*float64(g.sigma*g.sigma))
		g.by = append(g.by, numeric.Pow(math.E, -x))
	}
	return g.by[d]
}
