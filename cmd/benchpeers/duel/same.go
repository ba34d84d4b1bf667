package duel

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// Fill fills x with numbers from -1 to 1 in no pattern, a function of the seed
// and of each number's place; the peers' fill gives the same.
func Fill(x []float32, seed uint32) {
	for i := range x {
		z := uint32(i)*0x9E3779B1 + seed*0x85EBCA77
		z ^= z >> 15
		z *= 0x85EBCA6B
		z ^= z >> 13
		z *= 0xC2B2AE35
		z ^= z >> 16
		x[i] = float32(int32(z)) * 0x1p-31
	}
}

// samples is how many values of a result are compared.
const samples = 1000

// Sample picks values of a result, as the peers do.
func Sample(x []float32) []float64 {
	step := max(len(x)/samples, 1) | 1
	var out []float64
	for i := 0; i < len(x) && len(out) < samples; i += step {
		out = append(out, float64(x[i]))
	}
	return out
}

// Same reports where results differ: by more than the bound times the largest
// value of theirs.
func Same(ours, theirs map[string][]float64, bound float64) error {
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		x, y := ours[name], theirs[name]
		if len(x) != len(y) || len(x) == 0 {
			return fmt.Errorf("results differ: %d values of %s, theirs %d", len(x), name, len(y))
		}
		largest := 0.0
		for _, v := range y {
			largest = max(largest, math.Abs(v))
		}
		for i := range x {
			if !(math.Abs(x[i]-y[i]) <= bound*largest) {
				return fmt.Errorf("results differ: %s, value %d is %g, theirs %g, with a largest of %g and a bound of %g of it", name, i, x[i], y[i], largest, bound)
			}
		}
	}
	return nil
}
