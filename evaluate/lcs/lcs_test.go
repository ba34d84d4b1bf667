package lcs

import (
	"math/rand/v2"
	"testing"
)

// table is the textbook dynamic programme.
func table(a, b []uint32) int {
	prev, cur := make([]int, len(b)+1), make([]int, len(b)+1)
	for _, x := range a {
		for j, y := range b {
			if x == y {
				cur[j+1] = prev[j] + 1
			} else {
				cur[j+1] = max(prev[j+1], cur[j])
			}
		}
		prev, cur = cur, prev
	}
	return prev[len(b)]
}

func TestLengthEqualsTheTable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	lengths := []int{0, 1, 2, 3, 10, 63, 64, 65, 127, 128, 129, 200}
	var f Finder
	for _, n := range lengths {
		for _, m := range lengths {
			for _, vocab := range []int{1, 2, 5, 50} {
				a, b := make([]uint32, n), make([]uint32, m)
				for i := range a {
					a[i] = uint32(r.IntN(vocab))
				}
				for i := range b {
					b[i] = uint32(r.IntN(vocab + 1))
				}
				if got, want := f.Length(a, b), table(a, b); got != want {
					t.Fatalf("Length of %d and %d words of %d = %d, want %d", n, m, vocab, got, want)
				}
			}
		}
	}
}
