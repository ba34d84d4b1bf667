package op

import "math"

// Mask returns what [Dropout.Kept] needs, computed once: two words of the
// mixed key, the threshold below which a hash is dropped, and the scale of what
// survives.
func (d Dropout) Mask() (k0, k1 uint32, below uint64, scale float32) {
	z := d.Key + 0x9e3779b97f4a7c15 // splitmix64, so that keys 0, 1, 2, ... are unrelated
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	if d.P >= 1 {
		return uint32(z), uint32(z >> 32), 1 << 32, 0
	}
	below = uint64(math.Ceil(float64(d.P) * (1 << 32)))
	return uint32(z), uint32(z >> 32), below, 1 / (1 - d.P)
}

// Hash is the hash of element i under a mixed key: two rounds of a bijective
// 32-bit mixer, with the key's halves and the index's upper half between them.
func Hash(k0, k1 uint32, i uint64) uint32 {
	x := mix(uint32(i) ^ k0)
	return mix(x ^ k1 ^ uint32(i>>32)*0x9e3779b1)
}

// mix is the mixer lowbias32 found by C. Wellons' hash prospector.
func mix(x uint32) uint32 {
	x ^= x >> 16
	x *= 0x7feb352d
	x ^= x >> 15
	x *= 0x846ca68b
	return x ^ x>>16
}

// Kept reports whether element i survives.
func (d Dropout) Kept(i uint64) bool {
	k0, k1, below, _ := d.Mask()
	return uint64(Hash(k0, k1, i)) >= below
}
