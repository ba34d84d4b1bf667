package ter

import (
	"math"
	"slices"
)

// infinity marks cells outside the beam.
const infinity = math.MaxInt32 / 2

// An op is a step of the alignment, from hypothesis to reference.
type op byte

const (
	undefined op = iota
	keep
	substitute
	remove // a word of the hypothesis
	insert // a word of the reference
)

// A searcher looks for shifts against one reference.
type searcher struct {
	ref   []uint32
	width int
	dist  []int32
	ops   []op
	buf   []uint32
}

// distance returns the edit distance of a hypothesis and the steps of one
// alignment. Only cells near the diagonal are looked at. Of equal steps keeping
// or substituting comes first, then removing, then inserting.
func (s *searcher) distance(hyp []uint32) (int, []op) {
	n, m := len(hyp), len(s.ref)
	if need := (n + 1) * s.width; cap(s.dist) < need {
		s.dist, s.ops = make([]int32, need), make([]op, need)
	}
	s.dist, s.ops = s.dist[:(n+1)*s.width], s.ops[:(n+1)*s.width]
	for j := range m + 1 {
		s.dist[j], s.ops[j] = int32(j), insert
	}
	ratio := 1.0
	if n > 0 {
		ratio = float64(m) / float64(n)
	}
	beam := beamWidth
	if float64(beamWidth) < ratio/2 {
		beam = int(math.Ceil(ratio/2 + beamWidth))
	}
	for i := 1; i <= n; i++ {
		up, row, ops := s.dist[(i-1)*s.width:i*s.width], s.dist[i*s.width:(i+1)*s.width], s.ops[i*s.width:(i+1)*s.width]
		for j := range row {
			row[j], ops[j] = infinity, undefined
		}
		diagonal := int(math.Floor(float64(i) * ratio))
		low, high := max(0, diagonal-beam), min(m+1, diagonal+beam)
		if i == n {
			high = m + 1
		}
		for j := low; j < high; j++ {
			if j == 0 {
				row[0], ops[0] = up[0]+1, remove
				continue
			}
			cost, step := up[j-1]+1, substitute
			if hyp[i-1] == s.ref[j-1] {
				cost, step = up[j-1], keep
			}
			if up[j]+1 < cost {
				cost, step = up[j]+1, remove
			}
			if row[j-1]+1 < cost {
				cost, step = row[j-1]+1, insert
			}
			if cost < infinity {
				row[j], ops[j] = cost, step
			}
		}
	}
	var steps []op
	for i, j := n, m; i > 0 || j > 0; {
		step := s.ops[i*s.width+j]
		switch step {
		case keep, substitute:
			i, j = i-1, j-1
		case insert:
			j--
		default:
			i--
		}
		steps = append(steps, step)
	}
	slices.Reverse(steps)
	return int(s.dist[n*s.width+m]), steps
}

// align turns steps into the place of each reference word in the hypothesis,
// and the words that are wrong on either side.
func align(steps []op) (at []int, refErr, hypErr []bool) {
	h := -1
	for _, step := range steps {
		wrong := step != keep
		switch step {
		case keep, substitute:
			h++
			at, refErr, hypErr = append(at, h), append(refErr, wrong), append(hypErr, wrong)
		case remove:
			h++
			hypErr = append(hypErr, true)
		default:
			at, refErr = append(at, h), append(refErr, true)
		}
	}
	return at, refErr, hypErr
}

// shift finds the shift of a phrase that lowers the edit distance most; of
// equal ones the longest, then the one from furthest left, then to furthest
// left. It stops when too many were tried.
func (s *searcher) shift(hyp []uint32, checked int) (gain int, best []uint32, _ int) {
	before, steps := s.distance(hyp)
	at, refErr, hypErr := align(steps)
	best = hyp
	found := false
	var length, from, to int
	for start := range hyp {
		for r := range s.ref {
			if r-start > maxShiftDist || start-r > maxShiftDist {
				continue
			}
			for n := 1; n <= maxShiftSize && start+n <= len(hyp) && r+n <= len(s.ref) && hyp[start+n-1] == s.ref[r+n-1]; n++ {
				if !slices.Contains(hypErr[start:start+n], true) || !slices.Contains(refErr[r:r+n], true) || at[r] >= start && at[r] < start+n {
					continue
				}
				last := -1
				for offset := -1; offset < n; offset++ {
					place := 0
					if r+offset >= 0 {
						if r+offset >= len(at) {
							break
						}
						place = at[r+offset] + 1
					}
					if place == last {
						continue
					}
					last = place
					s.buf = move(s.buf[:0], hyp, start, n, place)
					after, _ := s.distance(s.buf)
					g := before - after
					checked++
					if !found || better(g, n, start, place, gain, length, from, to) {
						found = true
						gain, length, from, to = g, n, start, place
						best = slices.Clone(s.buf)
					}
				}
				if checked >= maxCandidates {
					return gain, best, checked
				}
			}
		}
	}
	return gain, best, checked
}

func better(g, n, start, place, gain, length, from, to int) bool {
	switch {
	case g != gain:
		return g > gain
	case n != length:
		return n > length
	case start != from:
		return start < from
	}
	return place < to
}

// move appends the words with n of them, from start, put before target.
func move(dst, words []uint32, start, n, target int) []uint32 {
	phrase := words[start : start+n]
	switch {
	case target < start:
		dst = append(append(dst, words[:target]...), phrase...)
		return append(append(dst, words[target:start]...), words[start+n:]...)
	case target > start+n:
		dst = append(append(dst, words[:start]...), words[start+n:target]...)
		return append(append(dst, phrase...), words[target:]...)
	}
	end := min(n+target, len(words))
	dst = append(append(dst, words[:start]...), words[start+n:end]...)
	return append(append(dst, phrase...), words[end:]...)
}
