package meteor

import (
	"slices"
	"strings"
	"testing"

	"espalier/evaluate/snowball"
)

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

// alignPlain chooses among the candidates, given by the place where they begin in
// the reference. Candidates whose words no other candidate covers are fixed. The
// others are searched from left to right, the best paths kept: those with more
// weighted matches, then fewer chunks, then less distance.
func alignPlain(candidates [][]*match, hypLen int) *path {
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
	slices.SortStableFunc(next, compare)
	next = next[:min(beam, len(next))]
	for _, p := range next { // ordered and cut while their last chunks still do not count
		if p.end != -1 {
			p.chunks++
		}
	}
	slices.SortStableFunc(next, compare)
	return next[0]
}

// plainTable is a table of paraphrases as a map.
type plainTable struct {
	of      map[string][]string
	longest int // words
}

func readPlain(t *testing.T, text string) *plainTable {
	t.Helper()
	p := &plainTable{of: make(map[string][]string)}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := 2; i < len(lines); i += 3 {
		first, second := strings.Fields(lines[i-1]), strings.Join(strings.Fields(lines[i]), " ")
		key := strings.Join(first, " ")
		p.of[key] = append(p.of[key], second)
		p.longest = max(p.longest, len(first))
	}
	return p
}

// find visits the matches of a pair of texts.
func (p *plainTable) find(hyp, ref []string, visit func(*match)) {
	one := func(from, to []string, turned bool) {
		for i := range from {
			for n := 1; n <= p.longest && i+n <= len(from); n++ {
				for _, phrase := range p.of[strings.Join(from[i:i+n], " ")] {
					words := strings.Fields(phrase)
					for j := 0; j+len(words) <= len(to); j++ {
						switch {
						case !slices.Equal(words, to[j:j+len(words)]):
						case turned:
							visit(&match{j, len(words), i, n, paraphrase})
						default:
							visit(&match{i, n, j, len(words), paraphrase})
						}
					}
				}
			}
		}
	}
	one(ref, hyp, true)
	one(hyp, ref, false)
}

// plainCandidates lists all matches by the place where they begin in the
// reference.
func plainCandidates(d *Data, table *plainTable, hyp, ref []string) [][]*match {
	out := make([][]*match, len(ref))
	equal := func(a, b string) bool { return hashCode(a) == hashCode(b) }
	pairs := func(module int, fits func(h, r string) bool) {
		for j := range ref {
			for i := range hyp {
				if fits(hyp[i], ref[j]) {
					out[j] = append(out[j], &match{i, 1, j, 1, module})
				}
			}
		}
	}
	pairs(exact, equal)
	if slices.EqualFunc(hyp, ref, equal) {
		return out
	}
	pairs(stem, func(h, r string) bool { return equal(snowball.Stem(h), snowball.Stem(r)) && !equal(h, r) })
	if d.HasSynsets() {
		pairs(synonym, func(h, r string) bool { return intersect(d.Senses(h), d.Senses(r)) && !equal(h, r) })
	}
	if table != nil {
		table.find(hyp, ref, func(m *match) { out[m.ref] = append(out[m.ref], m) })
	}
	return out
}

// plainMatches are the best alignment's, in the order of the reference.
func plainMatches(d *Data, table *plainTable, hyp, ref []string) (out []match, chunks int) {
	best := alignPlain(plainCandidates(d, table, hyp, ref), len(hyp))
	for _, m := range best.matches {
		if m != nil {
			out = append(out, *m)
		}
	}
	return out, best.chunks
}
