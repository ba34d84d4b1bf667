package decode

import (
	"cmp"
	"math/bits"
	"slices"
)

// introsort returns places in the order of values, ascending. Ties come in the
// order in which C++'s std::sort of the GNU library leaves them, which is what
// the reference sorts with and what decides which of equal scores it keeps:
// quicksort with the median of three, then insertion.
func introsort[T cmp.Ordered](x []T) []int {
	s := sorter[T]{x: x, at: make([]int, len(x))}
	for i := range s.at {
		s.at[i] = i
	}
	n := len(x)
	if n < 2 {
		return s.at
	}
	s.quick(0, n, 2*(bits.Len(uint(n))-1))
	few := min(n, sortFew)
	for i := 1; i < few; i++ {
		s.insert(i, true)
	}
	for i := few; i < n; i++ {
		s.insert(i, false)
	}
	return s.at
}

// sortFew is the length of a run that is left to insertion.
const sortFew = 16

type sorter[T cmp.Ordered] struct {
	x  []T
	at []int
}

func (s *sorter[T]) less(i, j int) bool { return s.x[s.at[i]] < s.x[s.at[j]] }

func (s *sorter[T]) swap(i, j int) { s.at[i], s.at[j] = s.at[j], s.at[i] }

func (s *sorter[T]) quick(first, last, depth int) {
	for last-first > sortFew {
		if depth == 0 {
			slices.SortStableFunc(s.at[first:last], func(a, b int) int { return cmp.Compare(s.x[a], s.x[b]) })
			return
		}
		depth--
		s.median(first, first+1, first+(last-first)/2, last-1)
		cut := s.partition(first+1, last, first)
		s.quick(cut, last, depth)
		last = cut
	}
}

// median moves the median of three to a place.
func (s *sorter[T]) median(to, a, b, c int) {
	switch {
	case s.less(a, b):
		switch {
		case s.less(b, c):
			s.swap(to, b)
		case s.less(a, c):
			s.swap(to, c)
		default:
			s.swap(to, a)
		}
	case s.less(a, c):
		s.swap(to, a)
	case s.less(b, c):
		s.swap(to, c)
	default:
		s.swap(to, b)
	}
}

func (s *sorter[T]) partition(first, last, pivot int) int {
	for {
		for s.less(first, pivot) {
			first++
		}
		last--
		for s.less(pivot, last) {
			last--
		}
		if first >= last {
			return first
		}
		s.swap(first, last)
		first++
	}
}

// insert moves the value at i down to its place; guarded also before the first.
func (s *sorter[T]) insert(i int, guarded bool) {
	v := s.at[i]
	if guarded && s.x[v] < s.x[s.at[0]] {
		copy(s.at[1:i+1], s.at[:i])
		s.at[0] = v
		return
	}
	for i > 0 && s.x[v] < s.x[s.at[i-1]] {
		s.at[i] = s.at[i-1]
		i--
	}
	s.at[i] = v
}
