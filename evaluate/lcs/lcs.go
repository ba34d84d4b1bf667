// Package lcs finds the length of the longest common subsequence of two
// sequences of numbers.
//
// It is the bit-parallel algorithm of Hyyrö (2004): one machine word holds 64
// columns of the dynamic-programming matrix, so texts of up to 64 words cost
// one step a word. A [Finder] keeps its buffers and may not be used by two
// goroutines at once.
package lcs

import "math/bits"

// A Finder computes lengths. The zero Finder is ready.
type Finder struct {
	slot  map[uint32]int32 // first row of a word's bit masks
	masks []uint64
	v     []uint64
}

// Length returns the length of the longest common subsequence of a and b.
func (f *Finder) Length(a, b []uint32) int {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	if len(a) <= 64 {
		return f.short(a, b)
	}
	return f.long(a, b)
}

// short holds all of a in one word and finds masks by linear search.
func (f *Finder) short(a, b []uint32) int {
	v := ^uint64(0)
	for _, w := range b {
		var m uint64
		for i, x := range a {
			if x == w {
				m |= 1 << i
			}
		}
		u := v & m
		v = (v + u) | (v &^ m)
	}
	if len(a) < 64 {
		v |= ^uint64(0) << len(a)
	}
	return bits.OnesCount64(^v)
}

func (f *Finder) long(a, b []uint32) int {
	if f.slot == nil {
		f.slot = make(map[uint32]int32)
	}
	clear(f.slot)
	n := (len(a) + 63) / 64
	f.masks = f.masks[:0]
	for i, w := range a {
		s, ok := f.slot[w]
		if !ok {
			s = int32(len(f.masks))
			f.slot[w] = s
			for range n {
				f.masks = append(f.masks, 0)
			}
		}
		f.masks[int(s)+i/64] |= 1 << (i % 64)
	}
	f.v = f.v[:0]
	for range n {
		f.v = append(f.v, ^uint64(0))
	}
	for _, w := range b {
		s, ok := f.slot[w]
		if !ok {
			continue
		}
		m := f.masks[s : int(s)+n]
		var carry uint64
		for j, v := range f.v {
			u := v & m[j]
			sum, c := bits.Add64(v, u, carry)
			carry = c
			f.v[j] = sum | (v &^ m[j])
		}
	}
	total := 0
	for j, v := range f.v {
		if rest := len(a) - 64*j; rest < 64 {
			v |= ^uint64(0) << rest
		}
		total += bits.OnesCount64(^v)
	}
	return total
}
