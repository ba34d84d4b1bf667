package feed

import (
	"errors"
	"math"
)

// A Mix says how the sources of a Set are mixed: a batch is of one source,
// drawn with a probability proportional to min(examples, Cap)^(1/Temperature).
// HyperPELT has T = 2, SkillNet T = 4 and K = 2^21.
type Mix struct {
	Temperature float64 // 0 means 1: proportional
	Cap         int64   // 0 means none
}

func (m Mix) check() error {
	if m.Temperature < 0 || math.IsNaN(m.Temperature) || m.Cap < 0 {
		return errors.New("mix: temperature and cap want to be at least 0")
	}
	return nil
}

func (m Mix) rate(examples int64) float64 {
	if m.Cap > 0 {
		examples = min(examples, m.Cap)
	}
	if m.Temperature == 0 || m.Temperature == 1 {
		return float64(examples)
	}
	return math.Pow(float64(examples), 1/m.Temperature)
}

// task returns the source of a step.
func (s *Set) task(step int64) int {
	if len(s.sources) == 1 {
		return 0
	}
	u := float64(key(s.o.Seed, drawTask, uint64(step))>>11) / (1 << 53) * s.total
	for i, r := range s.rates {
		if u -= r; u < 0 {
			return i
		}
	}
	return len(s.rates) - 1
}

// cursors returns how many of the steps before first each source has taken.
func (s *Set) cursors(first int64) []int64 {
	n := make([]int64, len(s.sources))
	if len(n) == 1 {
		n[0] = first
		return n
	}
	for step := range first {
		n[s.task(step)]++
	}
	return n
}
