package feed

import "math/bits"

// Draws are functions of keys alone. A key is a chain of splitmix64 steps over
// the seed, a number that names the purpose, and what the draw is for.

const (
	drawBlocks  = 1 // order of the blocks of an epoch
	drawWindow  = 2 // order of the examples of a window
	drawBatches = 3 // order of the batches of a window
	drawRows    = 4 // rows of an example
	drawTask    = 5 // task of a step
)

// mix is the finaliser of splitmix64, a bijection of 64-bit words.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func key(seed uint64, parts ...uint64) uint64 {
	k := mix(seed)
	for _, p := range parts {
		k = mix(k ^ mix(p))
	}
	return k
}

// hash is FNV-1a.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// below returns draw i of a key, from 0 to n-1.
func below(k uint64, i, n int) int {
	hi, _ := bits.Mul64(mix(k+uint64(i)), uint64(n))
	return int(hi)
}

// shuffle orders x by a key (Fisher-Yates).
func shuffle[T any](x []T, k uint64) {
	for i := len(x) - 1; i > 0; i-- {
		j := below(k, i, i+1)
		x[i], x[j] = x[j], x[i]
	}
}
