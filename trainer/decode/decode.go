// Package decode turns a model's next-token probabilities into sequences:
// greedy, by beam search, or by sampling.
//
// The model is a [Stepper]. Many inputs are decoded side by side, each with the
// same number of rows; an input leaves the batch as soon as its result can no
// longer change. What comes out for an input does not depend on which others
// are decoded with it, as far as the stepper's rows don't.
package decode

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// A Stepper advances a batch of rows by one token.
type Stepper interface {
	// Step makes row r of a new batch continue row source[r] of the last one
	// with token[r]; before the first call the rows are the inputs, 0, 1, ....
	// Rows of the same input are consecutive, and each input that is left has
	// equally many. It returns the log-probabilities of the next token,
	// [len(token), V] row-major and none above 0, valid until the next call.
	Step(source, token []int32) ([]float32, error)
}

// A Hypothesis is a decoded sequence.
type Hypothesis struct {
	Tokens   []int32   // without BOS; the EOS, if it was reached, included
	LogProbs []float32 // of each token
	Score    float64   // sum of LogProbs, divided by the length penalty if there is one
	Ended    bool      // the last token is EOS
}

// A Penalty divides the score of a finished hypothesis of n tokens, EOS
// counted.
type Penalty string

// Length penalties: none; by the length; by ((5+n)/6)^Alpha (Wu 2016).
const (
	NoPenalty Penalty = ""
	Average   Penalty = "avg"
	Wu        Penalty = "wu"
)

// A Search is a beam search; with a beam of 1 it is greedy.
//
// Each step extends every beam by every token and keeps the best, ties by the
// lower beam and token. A beam that ends is a result; it keeps its slot with
// its sum lowered by 1000. Beams that are open at the limit are results too.
// There is no length normalisation unless asked for (spec/acort.md 9.2).
type Search struct {
	Beam     int     `yaml:"beam" json:"beam"`       // by default 1
	MaxLen   int     `yaml:"max_len" json:"max_len"` // tokens at most, BOS not counted
	BOS      int32   `yaml:"bos" json:"bos"`
	EOS      int32   `yaml:"eos" json:"eos"`
	Penalty  Penalty `yaml:"penalty" json:"penalty,omitempty"`
	Alpha    float64 `yaml:"alpha" json:"alpha,omitempty"`
	Suppress []int32 `yaml:"suppress" json:"suppress,omitempty"` // tokens whose log-probability is lowered by 1000
	// Original is the rule of the original ORT: the sum of a beam that ends is
	// set to -1000 and not lowered by it.
	Original bool `yaml:"original" json:"original,omitempty"`
}

// Check fills in defaults and reports every fault at once.
func (s *Search) Check() error {
	if s.Beam == 0 {
		s.Beam = 1
	}
	var errs []error
	if s.Beam < 0 {
		errs = append(errs, fmt.Errorf("beam: %d, want at least 1", s.Beam))
	}
	if s.MaxLen < 1 {
		errs = append(errs, fmt.Errorf("max_len: %d, want at least 1", s.MaxLen))
	}
	switch s.Penalty {
	case NoPenalty, Average:
		if s.Alpha != 0 {
			errs = append(errs, fmt.Errorf("alpha: only used by penalty %s", Wu))
		}
	case Wu:
		if s.Alpha < 0 {
			errs = append(errs, fmt.Errorf("alpha: %g, want at least 0", s.Alpha))
		}
	default:
		errs = append(errs, fmt.Errorf("penalty: %q, want %s, %s or nothing", s.Penalty, Average, Wu))
	}
	return errors.Join(errs...)
}

// lowered is how far the sum of an ended beam, or the log-probability of a
// suppressed token, falls.
const lowered = 1000

// norm returns what the sum of n tokens is divided by.
func (s *Search) norm(n int) float64 {
	switch s.Penalty {
	case Average:
		return float64(n)
	case Wu:
		return math.Pow(float64(5+n)/6, s.Alpha)
	}
	return 1
}

// A beam is a row of the batch.
type beam struct {
	tokens []int32
	probs  []float32
	sum    float64
}

// extend returns b followed by a token.
func (b *beam) extend(token int32, prob float32, sum float64) beam {
	return beam{
		tokens: append(append(make([]int32, 0, len(b.tokens)+1), b.tokens...), token),
		probs:  append(append(make([]float32, 0, len(b.probs)+1), b.probs...), prob),
		sum:    sum,
	}
}

// A beams is the state of one input.
type beams struct {
	input int
	live  []beam
	done  []Hypothesis
}

// Run decodes so many inputs and returns the hypotheses of each, best first,
// as many as the beam is wide. s must have been checked.
func (s *Search) Run(ctx context.Context, st Stepper, inputs int) ([][]Hypothesis, error) {
	out := make([][]Hypothesis, inputs)
	left := make([]beams, inputs)
	for i := range left {
		left[i] = beams{input: i, live: make([]beam, 1)}
	}
	source, token := make([]int32, inputs), make([]int32, inputs)
	for i := range source {
		source[i], token[i] = int32(i), s.BOS
	}
	pick := make([]candidate, 0, s.Beam)
	for t := 0; len(left) > 0; t++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		logp, err := st.Step(source, token)
		if err != nil {
			return nil, err
		}
		vocab := len(logp) / len(token)
		s.suppress(logp, vocab)
		row := 0
		source, token = source[:0], token[:0]
		kept := left[:0]
		for i := range left {
			b := &left[i]
			n := len(b.live)
			pick = best(pick[:0], s.Beam, b.live, logp[row*vocab:][:n*vocab], vocab)
			if len(pick) == 0 {
				return nil, fmt.Errorf("decode: input %d: no token has a probability at position %d", b.input, t)
			}
			s.advance(b, pick, t+1 == s.MaxLen)
			if t+1 == s.MaxLen || s.settled(b) {
				out[b.input] = b.done
			} else {
				for j, c := range pick {
					source = append(source, int32(row+c.beam))
					token = append(token, b.live[j].tokens[t])
				}
				kept = append(kept, *b)
			}
			row += n
		}
		left = kept
	}
	return out, nil
}

func (s *Search) suppress(logp []float32, vocab int) {
	for _, id := range s.Suppress {
		for i := int(id); i < len(logp); i += vocab {
			logp[i] -= lowered
		}
	}
}

// A candidate extends a beam by a token.
type candidate struct {
	beam  int
	token int32
	prob  float32
	sum   float64
}

// best appends to pick the k best extensions of the beams, descending, ties in
// the order of beam and token.
func best(pick []candidate, k int, live []beam, logp []float32, vocab int) []candidate {
	for i := range live {
		base := live[i].sum
		row := logp[i*vocab:][:vocab]
		v := 0
		for ; v < len(row) && len(pick) < k; v++ {
			if sum := base + float64(row[v]); sum == sum {
				pick = place(append(pick, candidate{}), candidate{i, int32(v), row[v], sum})
			}
		}
		if v == len(row) {
			continue
		}
		worst := &pick[len(pick)-1]
		least := below(worst.sum, base)
		for j, p := range row[v:] {
			if !(p > least) { // as nearly all are
				continue
			}
			if sum := base + float64(p); sum > worst.sum {
				place(pick, candidate{i, int32(v + j), p, sum})
				least = below(worst.sum, base)
			}
		}
	}
	return pick
}

// place puts c among the picked in place of the last one.
func place(pick []candidate, c candidate) []candidate {
	j := len(pick) - 1
	for ; j > 0 && c.sum > pick[j-1].sum; j-- {
		pick[j] = pick[j-1]
	}
	pick[j] = c
	return pick
}

// below returns a number such that no p up to it makes base + p more than sum.
func below(sum, base float64) float32 {
	least := sum - base
	least -= 1e-7*math.Abs(least) + 1e-15*(math.Abs(sum)+math.Abs(base)) + 1e-44 // what roundings come to
	return float32(least)
}

// advance replaces the beams by the picked extensions and collects results.
func (s *Search) advance(b *beams, pick []candidate, last bool) {
	next := make([]beam, len(pick))
	for j, c := range pick {
		next[j] = b.live[c.beam].extend(c.token, c.prob, c.sum)
		ended := c.token == s.EOS
		if ended || last {
			s.finish(b, &next[j], ended)
		}
		switch {
		case ended && s.Original:
			next[j].sum = -lowered
		case ended:
			next[j].sum -= lowered
		}
	}
	b.live = next
}

// finish adds a beam to the results, which stay sorted and no more than Beam.
func (s *Search) finish(b *beams, x *beam, ended bool) {
	h := Hypothesis{Tokens: x.tokens, LogProbs: x.probs, Score: x.sum / s.norm(len(x.tokens)), Ended: ended}
	j := len(b.done)
	for j > 0 && h.Score > b.done[j-1].Score {
		j--
	}
	if j >= s.Beam {
		return
	}
	if len(b.done) < s.Beam {
		b.done = append(b.done, Hypothesis{})
	}
	copy(b.done[j+1:], b.done[j:])
	b.done[j] = h
}

// settled reports whether no beam can still enter the results: a sum never
// rises, so a result is at best the present sum over the largest norm.
func (s *Search) settled(b *beams) bool {
	if len(b.done) < s.Beam {
		return false
	}
	bound := math.Inf(-1)
	for i := range b.live {
		bound = max(bound, b.live[i].sum)
	}
	return b.done[len(b.done)-1].Score >= bound/s.norm(s.MaxLen)
}
