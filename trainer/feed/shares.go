package feed

import (
	"math"
	"slices"
)

// Shares returns the probability of each source, given their examples. An
// infinite temperature mixes all sources that have any equally.
func (m Mix) Shares(examples []int64) []float64 {
	out := make([]float64, len(examples))
	total := 0.0
	for i, n := range examples {
		if n > 0 {
			out[i] = m.rate(n)
			total += out[i]
		}
	}
	for i := range out {
		if total > 0 {
			out[i] /= total
		}
	}
	return out
}

// Epochs returns how often each source is gone through in a number of steps of
// batches of one size, on average; 0 for sources without examples.
func (m Mix) Epochs(examples []int64, steps, batch int64) []float64 {
	out := m.Shares(examples)
	for i, n := range examples {
		if n > 0 {
			out[i] = out[i] * float64(steps) * float64(batch) / float64(n)
		}
	}
	return out
}

// A Reference draws sources as the code of SkillNet-NLG does, with NumPy's
// RandomState.choice. It is there to compare with that code; training draws by
// step number.
type Reference struct {
	mt  mersenne
	cdf []float64
}

// NewReference returns the draws of a seed over sources with these probabilities.
func NewReference(seed uint32, shares []float64) *Reference {
	r := &Reference{}
	r.mt.seed(seed)
	sum := 0.0
	for _, p := range shares {
		sum += p
		r.cdf = append(r.cdf, sum)
	}
	for i := range r.cdf {
		r.cdf[i] /= sum
	}
	return r
}

// Next draws a source.
func (r *Reference) Next() int {
	u := r.mt.float64()
	i, _ := slices.BinarySearchFunc(r.cdf, u, func(c, u float64) int {
		if c <= u { // the first that is larger
			return -1
		}
		return 1
	})
	return min(i, len(r.cdf)-1)
}

// A mersenne is MT19937: M. Matsumoto, T. Nishimura: Mersenne Twister. ACM
// TOMACS 8 (1998).
type mersenne struct {
	state [624]uint32
	next  int
}

func (m *mersenne) seed(s uint32) {
	m.state[0] = s
	for i := 1; i < len(m.state); i++ {
		s = 1812433253*(s^s>>30) + uint32(i)
		m.state[i] = s
	}
	m.next = len(m.state)
}

func (m *mersenne) uint32() uint32 {
	if m.next == len(m.state) {
		for i := range m.state {
			y := m.state[i]&0x80000000 | m.state[(i+1)%624]&0x7fffffff
			m.state[i] = m.state[(i+397)%624] ^ y>>1 ^ y&1*0x9908b0df
		}
		m.next = 0
	}
	y := m.state[m.next]
	m.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// float64 is a number of 53 bits in [0, 1).
func (m *mersenne) float64() float64 {
	a, b := m.uint32()>>5, m.uint32()>>6
	return math.Ldexp(float64(uint64(a)<<26+uint64(b)), -53)
}
