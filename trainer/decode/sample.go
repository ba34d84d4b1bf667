package decode

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// A Sampling draws sequences from the model's distribution.
type Sampling struct {
	N           int     `yaml:"n" json:"n"` // sequences for each input, by default 1
	MaxLen      int     `yaml:"max_len" json:"max_len"`
	BOS         int32   `yaml:"bos" json:"bos"`
	EOS         int32   `yaml:"eos" json:"eos"`
	Temperature float64 `yaml:"temperature" json:"temperature,omitempty"` // by default 1
	Seed        uint64  `yaml:"seed" json:"seed,omitempty"`
}

// Check fills in defaults and reports every fault at once.
func (s *Sampling) Check() error {
	if s.N == 0 {
		s.N = 1
	}
	if s.Temperature == 0 {
		s.Temperature = 1
	}
	var errs []error
	if s.N < 0 {
		errs = append(errs, fmt.Errorf("n: %d, want at least 1", s.N))
	}
	if s.MaxLen < 1 {
		errs = append(errs, fmt.Errorf("max_len: %d, want at least 1", s.MaxLen))
	}
	if s.Temperature < 0 {
		errs = append(errs, fmt.Errorf("temperature: %g, want more than 0", s.Temperature))
	}
	return errors.Join(errs...)
}

// Run draws N sequences for each input. A draw is a function of the seed, the
// input's key, the sample's number and the position, so it depends on no
// order and on no other input. s must have been checked.
func (s *Sampling) Run(ctx context.Context, st Stepper, keys []uint64) ([][]Hypothesis, error) {
	type sample struct {
		input int
		rows  []Hypothesis
	}
	out := make([][]Hypothesis, len(keys))
	left := make([]sample, len(keys))
	var source, token []int32
	for i := range left {
		left[i] = sample{i, make([]Hypothesis, s.N)}
		out[i] = left[i].rows
		for range s.N {
			source, token = append(source, int32(i)), append(token, s.BOS)
		}
	}
	for t := 0; t < s.MaxLen && len(left) > 0; t++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		logp, err := st.Step(source, token)
		if err != nil {
			return nil, err
		}
		vocab := len(logp) / len(token)
		source, token = source[:0], token[:0]
		kept := left[:0]
		for i, x := range left {
			open := 0
			for j := range x.rows {
				h := &x.rows[j]
				if h.Ended {
					continue
				}
				row := logp[(i*s.N+j)*vocab:][:vocab]
				id := s.draw(row, uniform(s.Seed, keys[x.input], uint64(j), uint64(t)))
				h.Tokens, h.LogProbs = append(h.Tokens, id), append(h.LogProbs, row[id])
				h.Score += float64(row[id])
				h.Ended = id == s.EOS
				if !h.Ended {
					open++
				}
			}
			if open == 0 {
				continue
			}
			for j := range x.rows { // an ended row goes along, its tokens are not used
				source = append(source, int32(i*s.N+j))
				token = append(token, x.rows[j].Tokens[len(x.rows[j].Tokens)-1])
			}
			kept = append(kept, x)
		}
		left = kept
	}
	return out, nil
}

// draw returns the token at which the running sum of probabilities, in the
// order of ids, passes u of the whole.
func (s *Sampling) draw(logp []float32, u float64) int32 {
	total := 0.0
	for _, p := range logp {
		total += math.Exp(float64(p) / s.Temperature)
	}
	last, sum := 0, 0.0
	for i, p := range logp {
		w := math.Exp(float64(p) / s.Temperature)
		if w == 0 {
			continue
		}
		last = i
		if sum += w; sum > u*total {
			break
		}
	}
	return int32(last)
}

// uniform returns a number in [0, 1) made of its arguments.
func uniform(words ...uint64) float64 {
	h := uint64(0)
	for _, w := range words {
		h = mix(h ^ mix(w))
	}
	return float64(h>>11) / (1 << 53)
}

// mix is the finaliser of splitmix64.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
