package meteor

import (
	"cmp"
	"math"
	"slices"
)

// beam is how many alignments are kept.
const beam = 40

// A match pairs words of the hypothesis with words of the reference: where they
// begin and how many they are.
type match struct {
	hyp, hypLen int
	ref, refLen int
	module      int
}

// searchWeights are the modules' in the search, which are not those of the score.
var searchWeights = [modules]float64{1, .5, .5, .5}

func abs(x int) int { return max(x, -x) }

// A search chooses among candidates. Those whose words no other one covers are
// fixed. The others are searched from left to right in the reference, the best
// trails kept: those with more weighted matches, then fewer chunks, then less
// distance. Trails are values, the words that they use bits, and what they took
// are chains that share their beginnings; the tests have the same without that.
type search struct {
	cands             []match // by the place in the reference
	start             []int32 // of a place's candidates
	hypCover          []int32
	refCover          []int32
	fixed             []int32 // by place: the candidate that is taken, -1 for none
	cur, next         []trail
	curBits, nextBits []uint64
	ranks             []rank
	links             []link
}

// A trail is a path of the search.
type trail struct {
	hyp, ref, chunks, distance, end int
	last                            int32 // link, -1 for none
}

type link struct{ cand, before int32 }

// A rank orders trails: first those with less.
type rank struct {
	first, second uint64
	at            int32
}

func (r rank) compare(o rank) int {
	if c := cmp.Compare(r.first, o.first); c != 0 {
		return c
	}
	if c := cmp.Compare(r.second, o.second); c != 0 {
		return c
	}
	return cmp.Compare(r.at, o.at)
}

// order sorts the trails of next, the best first, into cur, as many as the beam
// holds.
func (s *search) order(width int) {
	if len(s.next) == 1 {
		s.cur, s.next = s.next, s.cur[:0]
		s.curBits, s.nextBits = s.nextBits, s.curBits[:0]
		return
	}
	s.ranks = s.ranks[:0]
	for i := range s.next {
		t := &s.next[i]
		s.ranks = append(s.ranks, rank{uint64(math.MaxInt32-(t.hyp+t.ref))<<32 | uint64(t.chunks), uint64(t.distance), int32(i)})
	}
	if r := s.ranks; len(r) <= 64 {
		for i := 1; i < len(r); i++ {
			x, k := r[i], i
			for ; k > 0 && (x.first < r[k-1].first || x.first == r[k-1].first && x.second < r[k-1].second); k-- {
				r[k] = r[k-1]
			}
			r[k] = x
		}
	} else {
		slices.SortFunc(r, rank.compare)
	}
	s.cur, s.curBits = s.cur[:0], s.curBits[:0]
	for _, r := range s.ranks[:min(beam, len(s.ranks))] {
		s.cur = append(s.cur, s.next[r.at])
		s.curBits = append(s.curBits, s.nextBits[int(r.at)*width:int(r.at+1)*width]...)
	}
	s.next, s.nextBits = s.next[:0], s.nextBits[:0]
}

func taken(bits []uint64, at, n int) bool {
	for i := at; i < at+n; i++ {
		if bits[i>>6]>>(i&63)&1 != 0 {
			return true
		}
	}
	return false
}

func take(bits []uint64, at, n int) {
	for i := at; i < at+n; i++ {
		bits[i>>6] |= 1 << (i & 63)
	}
}

// add counts a match that a trail takes.
func (t *trail) add(m *match) {
	t.hyp = int(float64(t.hyp) + float64(float64(m.hypLen)*searchWeights[m.module]))
	t.ref = int(float64(t.ref) + float64(float64(m.refLen)*searchWeights[m.module]))
	if t.end != -1 && m.hyp != t.end {
		t.chunks++
	}
	t.end = m.hyp + m.hypLen
}

// skip leaves a word of the reference without a match.
func (t *trail) skip() {
	if t.end != -1 {
		t.chunks++
		t.end = -1
	}
}

// align appends the matches of the best alignment, and counts its chunks.
func (s *search) align(found []match, hypLen, refLen int, out []match) ([]match, int) {
	s.sort(found, hypLen, refLen)
	hypBits := (hypLen + 63) >> 6
	width := hypBits + (refLen+63)>>6
	s.links = s.links[:0]
	s.next = append(s.next[:0], trail{end: -1, last: -1})
	s.nextBits = append(s.nextBits[:0], make([]uint64, width)...)
	for _, k := range s.fixed {
		if k >= 0 {
			m := &s.cands[k]
			take(s.nextBits[:hypBits], m.hyp, m.hypLen)
			take(s.nextBits[hypBits:], m.ref, m.refLen)
		}
	}
	for at := range refLen {
		s.order(width)
		cands := s.cands[s.start[at]:s.start[at+1]]
		if k := s.fixed[at]; k >= 0 || len(cands) == 0 {
			for i := range s.cur {
				t := &s.cur[i]
				if k >= 0 {
					t.add(&s.cands[k])
					t.distance += abs(s.cands[k].ref - s.cands[k].hyp)
				} else if !taken(s.curBits[i*width+hypBits:], at, 1) {
					t.skip()
				}
			}
			s.back()
			continue
		}
		for i := range s.cur {
			t, bits := &s.cur[i], s.curBits[i*width:(i+1)*width]
			if !taken(bits[hypBits:], at, 1) {
				s.branch(t, bits, hypBits, at)
				t.skip()
			}
			s.next = append(s.next, *t)
			s.nextBits = append(s.nextBits, bits...)
		}
	}
	s.order(width)
	for i := range s.cur {
		s.cur[i].skip()
	}
	s.back()
	s.order(width)
	for _, k := range s.fixed {
		if k >= 0 {
			out = append(out, s.cands[k])
		}
	}
	best := &s.cur[0]
	for k := best.last; k >= 0; k = s.links[k].before {
		out = append(out, s.cands[s.links[k].cand])
	}
	return out, best.chunks
}

// branch adds the trails that take one of the candidates at a place.
func (s *search) branch(t *trail, bits []uint64, hypBits, at int) {
	for k := s.start[at]; k < s.start[at+1]; k++ {
		m := &s.cands[k]
		if taken(bits, m.hyp, m.hypLen) || taken(bits[hypBits:], m.ref, m.refLen) {
			continue
		}
		q := *t
		q.add(m)
		q.last = int32(len(s.links))
		s.links = append(s.links, link{k, t.last})
		t.distance += abs(m.ref - m.hyp) // as the original does: not q's
		from := len(s.nextBits)
		s.next, s.nextBits = append(s.next, q), append(s.nextBits, bits...)
		take(s.nextBits[from:], m.hyp, m.hypLen)
		take(s.nextBits[from+hypBits:], m.ref, m.refLen)
	}
}

// back makes the present trails the next ones.
func (s *search) back() {
	s.cur, s.next = s.next, s.cur
	s.curBits, s.nextBits = s.nextBits, s.curBits
}

// sort puts candidates in the order of their places and finds those whose words
// no other one covers.
func (s *search) sort(found []match, hypLen, refLen int) {
	s.start = append(s.start[:0], make([]int32, refLen+2)...)
	s.fixed = s.fixed[:0]
	s.hypCover, s.refCover = append(s.hypCover[:0], make([]int32, hypLen)...), append(s.refCover[:0], make([]int32, refLen)...)
	for i := range found {
		m := &found[i]
		s.start[m.ref+2]++
		for k := range m.hypLen {
			s.hypCover[m.hyp+k]++
		}
		for k := range m.refLen {
			s.refCover[m.ref+k]++
		}
	}
	for i := 2; i < len(s.start); i++ {
		s.start[i] += s.start[i-1]
	}
	s.cands = slices.Grow(s.cands[:0], len(found))[:len(found)]
	for i := range found {
		at := &s.start[found[i].ref+1]
		s.cands[*at] = found[i]
		*at++
	}
	s.start = s.start[:refLen+1]
	single := func(cover []int32) bool { return !slices.ContainsFunc(cover, func(n int32) bool { return n != 1 }) }
	for at := range refLen {
		k := int32(-1)
		if s.start[at+1]-s.start[at] == 1 {
			m := &s.cands[s.start[at]]
			if single(s.hypCover[m.hyp:m.hyp+m.hypLen]) && single(s.refCover[m.ref:m.ref+m.refLen]) {
				k = s.start[at]
			}
		}
		s.fixed = append(s.fixed, k)
	}
}
