package meteor

import "slices"

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

// A path is an alignment of the reference up to some word.
type path struct {
	matches          []*match // by place in the reference
	usedHyp, usedRef []bool
	hyp, ref         int // weighted matches; every addition drops the fraction
	chunks, distance int
	end              int // of the last match in the hypothesis, -1 behind a gap
}

func (p *path) clone() *path {
	q := *p
	q.matches, q.usedHyp, q.usedRef = slices.Clone(p.matches), slices.Clone(p.usedHyp), slices.Clone(p.usedRef)
	return &q
}

func (p *path) free(m *match) bool {
	return !slices.Contains(p.usedHyp[m.hyp:m.hyp+m.hypLen], true) && !slices.Contains(p.usedRef[m.ref:m.ref+m.refLen], true)
}

func (p *path) use(m *match) {
	p.matches[m.ref] = m
	for i := range m.hypLen {
		p.usedHyp[m.hyp+i] = true
	}
	for i := range m.refLen {
		p.usedRef[m.ref+i] = true
	}
}

// count adds a match that is taken.
func (p *path) count(m *match) {
	p.hyp = int(float64(p.hyp) + float64(float64(m.hypLen)*searchWeights[m.module]))
	p.ref = int(float64(p.ref) + float64(float64(m.refLen)*searchWeights[m.module]))
	if p.end != -1 && m.hyp != p.end {
		p.chunks++
	}
	p.end = m.hyp + m.hypLen
}

func compare(a, b *path) int {
	switch x, y := a.hyp+a.ref, b.hyp+b.ref; {
	case x != y:
		return y - x
	case a.chunks != b.chunks:
		return a.chunks - b.chunks
	}
	return a.distance - b.distance
}

func abs(x int) int { return max(x, -x) }

// align chooses among the candidates, given by the place where they begin in
// the reference. Candidates whose words no other candidate covers are fixed. The
// others are searched from left to right, the best paths kept: those with more
// weighted matches, then fewer chunks, then less distance.
func align(candidates [][]*match, hypLen int) *path {
	refLen := len(candidates)
	hypCover, refCover := make([]int, hypLen), make([]int, refLen)
	for _, list := range candidates {
		for _, m := range list {
			for i := range m.hypLen {
				hypCover[m.hyp+i]++
			}
			for i := range m.refLen {
				refCover[m.ref+i]++
			}
		}
	}
	start := &path{matches: make([]*match, refLen), usedHyp: make([]bool, hypLen), usedRef: make([]bool, refLen), end: -1}
	single := func(cover []int) bool { return !slices.ContainsFunc(cover, func(n int) bool { return n != 1 }) }
	for _, list := range candidates {
		if len(list) == 1 {
			if m := list[0]; single(hypCover[m.hyp:m.hyp+m.hypLen]) && single(refCover[m.ref:m.ref+m.refLen]) {
				start.use(m)
			}
		}
	}
	next := []*path{start}
	for at := range refLen {
		slices.SortStableFunc(next, compare)
		current := next[:min(beam, len(next))]
		next = nil
		for _, p := range current {
			if p.usedRef[at] {
				if m := p.matches[at]; m != nil && m.ref == at {
					p.count(m)
					p.distance += abs(m.ref - m.hyp)
				}
				next = append(next, p)
				continue
			}
			for _, m := range candidates[at] {
				if !p.free(m) {
					continue
				}
				q := p.clone()
				q.use(m)
				q.count(m)
				p.distance += abs(m.ref - m.hyp) // as the original does: not q's
				next = append(next, q)
			}
			if p.end != -1 {
				p.chunks++
				p.end = -1
			}
			next = append(next, p)
		}
	}
	for _, p := range next {
		if p.end != -1 {
			p.chunks++
		}
	}
	slices.SortStableFunc(next, compare)
	return next[0]
}
