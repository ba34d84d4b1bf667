// Package draw draws the random numbers that NumPy draws from a seed, so that
// resamples are those of tools written with it: [PCG64] is
// numpy.random.default_rng (O'Neill 2014, with NumPy's SeedSequence), [MT19937]
// the generator behind numpy.random.seed (Matsumoto and Nishimura 1998).
//
// A generator may not be used by two goroutines at once.
package draw

import "math/bits"

// A PCG64 is NumPy's default generator.
type PCG64 struct {
	hi, lo       uint64 // state
	incHi, incLo uint64
	half         uint32 // the upper half of the last word
	halves       bool   // it is not used yet
	flips        uint32
	left         int // bits of flips that are not used yet
}

// The multiplier of the state.
const mulHi, mulLo = 2549297995355413924, 4865540595714422341

// NewPCG64 returns default_rng(seed).
func NewPCG64(seed uint64) *PCG64 {
	s := seedWords(seed)
	p := &PCG64{incHi: s[2]<<1 | s[3]>>63, incLo: s[3]<<1 | 1}
	p.step()
	var carry uint64
	p.lo, carry = bits.Add64(p.lo, s[1], 0)
	p.hi, _ = bits.Add64(p.hi, s[0], carry)
	p.step()
	return p
}

// seedWords is SeedSequence(seed).generate_state(4, uint64).
func seedWords(seed uint64) [4]uint64 {
	var pool [4]uint32
	c := uint32(0x43b0d7e5)
	hash := func(v uint32) uint32 {
		v ^= c
		c *= 0x931e8875
		v *= c
		return v ^ v>>16
	}
	entropy := [4]uint32{uint32(seed), uint32(seed >> 32)}
	for i := range pool {
		pool[i] = hash(entropy[i])
	}
	for from := range pool {
		for to := range pool {
			if from != to {
				v := 0xca01f9dd*pool[to] - 0x4973f715*hash(pool[from])
				pool[to] = v ^ v>>16
			}
		}
	}
	c = 0x8b51f9dd
	var out [4]uint64
	for i := range 8 {
		v := pool[i%4] ^ c
		c *= 0x58f38ded
		v *= c
		out[i/2] |= uint64(v^v>>16) << (32 * (i % 2))
	}
	return out
}

func (p *PCG64) step() {
	hi, lo := bits.Mul64(p.lo, mulLo)
	hi += p.hi*mulLo + p.lo*mulHi
	var carry uint64
	p.lo, carry = bits.Add64(lo, p.incLo, 0)
	p.hi, _ = bits.Add64(hi, p.incHi, carry)
}

// Uint64 returns 64 random bits.
func (p *PCG64) Uint64() uint64 {
	p.step()
	return bits.RotateLeft64(p.hi^p.lo, -int(p.hi>>58))
}

// Uint32 returns 32 random bits: the halves of a word, the lower one first.
func (p *PCG64) Uint32() uint32 {
	if p.halves {
		p.halves = false
		return p.half
	}
	v := p.Uint64()
	p.half, p.halves = uint32(v>>32), true
	return uint32(v)
}

// Below returns a number from 0 to n-1, as integers and choice draw it (Lemire
// 2019); n is at least 1 and below 1<<32. One number is drawn from nothing.
func (p *PCG64) Below(n uint32) uint32 {
	if n <= 1 {
		return 0
	}
	m := uint64(p.Uint32()) * uint64(n)
	if uint32(m) < n {
		for least := -n % n; uint32(m) < least; {
			m = uint64(p.Uint32()) * uint64(n)
		}
	}
	return uint32(m >> 32)
}

// Bool returns a truth value, as integers(2, dtype=bool) draws it: the bits of
// a word of 32, the lowest first.
func (p *PCG64) Bool() bool {
	if p.left == 0 {
		p.flips, p.left = p.Uint32(), 32
	}
	b := p.flips&1 == 1
	p.flips >>= 1
	p.left--
	return b
}

// An MT19937 is NumPy's legacy generator.
type MT19937 struct {
	state [624]uint32
	at    int
}

// NewMT19937 returns the generator after numpy.random.seed(seed).
func NewMT19937(seed uint32) *MT19937 {
	m := &MT19937{at: len(MT19937{}.state)}
	for i := range m.state {
		m.state[i] = seed
		seed = 1812433253*(seed^seed>>30) + uint32(i) + 1
	}
	return m
}

// Uint32 returns 32 random bits.
func (m *MT19937) Uint32() uint32 {
	const n, shift = 624, 397
	if m.at == n {
		for i := range m.state {
			y := m.state[i]&0x80000000 | m.state[(i+1)%n]&0x7fffffff
			v := m.state[(i+shift)%n] ^ y>>1
			if y&1 == 1 {
				v ^= 0x9908b0df
			}
			m.state[i] = v
		}
		m.at = 0
	}
	y := m.state[m.at]
	m.at++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// Below returns a number from 0 to n-1, as choice draws it: words cut to the
// bits of n-1 until one is small enough.
func (m *MT19937) Below(n uint32) uint32 {
	if n <= 1 {
		return 0
	}
	mask := uint32(1)<<bits.Len32(n-1) - 1
	for {
		if v := m.Uint32() & mask; v < n {
			return v
		}
	}
}
