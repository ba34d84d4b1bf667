package merge

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// plain joins as the definition says, all symbols being of size 1 at first.
func plain(t *Table, s []int32) ([]int32, []int32) {
	s = slices.Clone(s)
	sizes := slices.Repeat([]int32{1}, len(s))
	for {
		best, at := uint32(None), -1
		for k := 0; k+1 < len(s); k++ {
			if rank := t.find(s[k], s[k+1]); rank < best {
				best, at = rank, k
			}
		}
		if at < 0 {
			return s, sizes
		}
		s[at] = t.To(best)
		s = slices.Delete(s, at+1, at+2)
		sizes[at] += sizes[at+1]
		sizes = slices.Delete(sizes, at+1, at+2)
	}
}

func TestMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, base := range []int32{0, 120, 100000} { // ids of the small table, on its edge, behind it
		const n = 400
		m, err := New(int(base)+n, n)
		if err != nil {
			t.Fatal(err)
		}
		known := int32(5)
		for rank := range n - 5 {
			m.Set(rank, base+r.Int32N(known), base+r.Int32N(known), base+known)
			known++
		}
		var g Merger
		for range 3000 {
			s := make([]int32, r.IntN(90))
			for k := range s {
				s[k] = base + r.Int32N(5)
			}
			want, wantSizes := plain(m, s)
			sizes := slices.Repeat([]int32{1}, len(s))
			if got := g.Merge(m, slices.Clone(s), nil); !slices.Equal(got, want) {
				t.Fatalf("%v, want %v", got, want)
			}
			if got := g.Merge(m, s, sizes); !slices.Equal(got, want) || !slices.Equal(sizes[:len(got)], wantSizes) {
				t.Fatalf("%v, %v, want %v, %v", got, sizes, want, wantSizes)
			}
		}
	}
}

func TestTable(t *testing.T) {
	m, err := New(300, 3)
	if err != nil {
		t.Fatal(err)
	}
	m.Set(0, 0, 0, 1)
	m.Set(1, 299, 2, 3)
	m.Set(2, 0, 0, 4) // again: the last counts
	for _, x := range []struct {
		l, r int32
		want uint32
	}{{0, 0, 2}, {299, 2, 1}, {2, 299, None}, {0, 1, None}} {
		if got := m.Find(x.l, x.r); got != x.want {
			t.Errorf("%d, %d: %d, want %d", x.l, x.r, got, x.want)
		}
		if got := m.find(x.l, x.r); got != x.want {
			t.Errorf("%d, %d without the small table: %d, want %d", x.l, x.r, got, x.want)
		}
	}
	if m.To(2) != 4 || m.Len() != 3 {
		t.Error("what merges make")
	}
	if _, err := New(MaxPieces+1, 1); err == nil {
		t.Error("too many pieces are accepted")
	}
	if _, err := New(MaxPieces, 1<<21); err == nil {
		t.Error("too many merges are accepted")
	}
}

func TestNoAllocations(t *testing.T) {
	m, err := New(3, 1)
	if err != nil {
		t.Fatal(err)
	}
	m.Set(0, 0, 0, 1)
	var g Merger
	s := make([]int32, 500)
	run := func() {
		s = s[:500]
		clear(s)
		s = g.Merge(m, s, nil)
	}
	run()
	if n := testing.AllocsPerRun(20, run); n > 0 {
		t.Errorf("%g allocations", n)
	}
}
