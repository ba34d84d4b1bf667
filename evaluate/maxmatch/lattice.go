package maxmatch

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// epsilon is what an arc that is no gold edit costs beside its length.
const epsilon = 0.001

// A vertex is a place in source and hypothesis.
type vertex struct{ i, j int32 }

// An arc goes from one vertex to a later one: it replaces the source words
// between their i by the hypothesis words between their j.
type arc struct {
	from, to  int32
	dist      int32  // lattice edges that it stands for
	unchanged uint16 // of them, how many keep a word
	gone      bool   // a long run of kept words, dropped from the list
}

func (a *arc) keeps() bool { return int32(a.unchanged) == a.dist }

// arcs are a list that grows without moving.
type arcs struct {
	chunks [][]arc
	n      int
}

const arcBits = 14 // of the place in a chunk

func (l *arcs) at(x int32) *arc { return &l.chunks[x>>arcBits][x&(1<<arcBits-1)] }

func (l *arcs) add(a arc) int32 {
	x := int32(l.n)
	if l.n>>arcBits == len(l.chunks) {
		l.chunks = append(l.chunks, make([]arc, 1<<arcBits))
	}
	*l.at(x) = a
	l.n++
	return x
}

// A lattice is all phrases that may turn a source into a hypothesis. Its memory
// serves one pair of sentences after the other.
type lattice struct {
	src, hyp []string
	vertices []vertex
	first    []int32 // of each vertex, the first arc of one edge that begins there; one more
	arcs     arcs    // those of one edge first, by where they begin and end
	edges    []int32 // arcs in the order of the script's list, copies included

	words   map[string]int32
	srcIDs  []int32
	hypIDs  []int32
	dist    []int32 // of the alignment
	moves   []uint8 // of each place, the edges that end there, by alignment
	number  []int32 // of each place, its vertex plus 1
	into    [][]step
	free    [][]step
	weight  []float64
	cost    []float64
	by      []int32
	golds   [][]Edit  // by where they start
	inserts [][]int32 // arcs, by where they insert, if there are gold insertions
}

// build makes the lattice of both alignments, substitutions at cost 1 and at
// cost 2, and joins neighbouring edits to phrases.
func (l *lattice) build(src, hyp []string, maxUnchanged, maxArcs int) error {
	l.src, l.hyp = src, hyp
	l.arcs.n = 0
	l.vertices, l.first, l.edges = l.vertices[:0], l.first[:0], l.edges[:0]
	l.intern()
	size := (len(src) + 1) * (len(hyp) + 1)
	if size > maxArcs {
		return ErrTooLarge
	}
	l.dist, l.moves, l.number = resize(l.dist, size), resize(l.moves, size), resize(l.number, size)
	clear(l.moves)
	l.align(1, 0)
	l.align(2, 3)
	l.collect()
	if err := l.join(uint16(min(maxUnchanged, math.MaxUint16-1)), maxArcs); err != nil {
		return err
	}
	l.dropKept()
	return nil
}

func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// emptied returns n empty lists that keep their memory.
func emptied[T any](s [][]T, n int) [][]T {
	s = resize(s, n)
	for i := range s {
		s[i] = s[i][:0]
	}
	return s
}

// intern numbers the words of both sentences.
func (l *lattice) intern() {
	if l.words == nil {
		l.words = make(map[string]int32)
	}
	clear(l.words)
	ids := func(out []int32, words []string) []int32 {
		for _, w := range words {
			id, ok := l.words[w]
			if !ok {
				id = int32(len(l.words))
				l.words[w] = id
			}
			out = append(out, id)
		}
		return out
	}
	l.srcIDs, l.hypIDs = ids(l.srcIDs[:0], l.src), ids(l.hypIDs[:0], l.hyp)
}

// The edges that end at a place come from the left (an inserted word), from
// above (one taken out) and from across (one replaced or kept).
const (
	left = 1 << iota
	above
	across
	reached = 1 << 6 // by an alignment of least cost
)

// most is an alignment's cost at most: what lies between a common beginning and
// a common end is replaced.
func (l *lattice) most(sub int32) int {
	a, b := l.srcIDs, l.hypIDs
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if sub > 1 {
		return len(a) + len(b)
	}
	return max(len(a), len(b))
}

// align marks the edges of all alignments of least cost, found backwards from
// the ends of both sentences; shift tells the alignments apart. None of them
// comes further from the diagonal than its cost, so only a band is looked at.
func (l *lattice) align(sub int32, shift int) {
	n, m := len(l.src), len(l.hyp)
	w, band := m+1, l.most(sub)
	const far = math.MaxInt32 / 2
	for j := range m + 1 {
		l.dist[j] = int32(j)
	}
	for i := 1; i <= n; i++ {
		row, up, s := l.dist[i*w:i*w+w], l.dist[(i-1)*w:i*w], l.srcIDs[i-1]
		row[0] = int32(i)
		first, last := max(1, i-band), min(m, i+band)
		if first > 1 {
			row[min(first-1, m)] = far
		}
		if last < m {
			row[last+1] = far
		}
		for j := first; j <= last; j++ {
			c := sub
			if s == l.hypIDs[j-1] {
				c = 0
			}
			row[j] = min(up[j-1]+c, up[j]+1, row[j-1]+1)
		}
	}
	// A place that an edge is marked to is on a path: rows from the last.
	on := uint8(reached << (shift / 3))
	l.moves[n*w+m] |= on
	for i := n; i >= 0; i-- {
		for j := min(m, i+band); j >= max(0, i-band); j-- {
			at := i*w + j
			if l.moves[at]&on == 0 {
				continue
			}
			if i > 0 && j > 0 {
				c := sub
				if l.srcIDs[i-1] == l.hypIDs[j-1] {
					c = 0
				}
				if l.dist[at-w-1]+c == l.dist[at] {
					l.moves[at] |= across << shift
					l.moves[at-w-1] |= on
				}
			}
			if i > 0 && l.dist[at-w]+1 == l.dist[at] {
				l.moves[at] |= above << shift
				l.moves[at-w] |= on
			}
			if j > 0 && l.dist[at-1]+1 == l.dist[at] {
				l.moves[at] |= left << shift
				l.moves[at-1] |= on
			}
		}
	}
}

// collect makes vertices of the places that are reached, and arcs of the edges
// in the order of their ends; what both alignments have is listed twice.
func (l *lattice) collect() {
	n, m := len(l.src), len(l.hyp)
	w := m + 1
	for at, marks := range l.moves {
		if marks >= reached {
			l.vertices = append(l.vertices, vertex{int32(at / w), int32(at % w)})
			l.number[at] = int32(len(l.vertices))
		}
	}
	for k, v := range l.vertices {
		l.first = append(l.first, int32(l.arcs.n))
		at := int(v.i)*w + int(v.j)
		edge := func(to int, move uint8, kept uint16) {
			both := l.moves[to] & (move | move<<3)
			if both == 0 {
				return
			}
			x := l.arcs.add(arc{from: int32(k), to: l.number[to] - 1, dist: 1, unchanged: kept})
			l.edges = append(l.edges, x)
			if both == move|move<<3 {
				l.edges = append(l.edges, x)
			}
		}
		if int(v.j) < m {
			edge(at+1, left, 0)
		}
		if int(v.i) < n {
			edge(at+w, above, 0)
		}
		if int(v.i) < n && int(v.j) < m {
			kept := uint16(0)
			if l.srcIDs[v.i] == l.hypIDs[v.j] {
				kept = 1
			}
			edge(at+w+1, across, kept)
		}
	}
	l.first = append(l.first, int32(l.arcs.n))
}

// A step is an arc in the list of those that end at a vertex.
type step struct {
	from, arc int32
	dist      int32
	unchanged uint16
}

// join adds arcs for phrases: through every vertex in order, an arc that ends
// there and an edge that begins there make one arc, if it is shorter than what
// there is and does not keep too many words. Arcs that begin at a vertex and
// are no edges are made at later vertices only, so edges are all there is to
// look at.
func (l *lattice) join(maxUnchanged uint16, maxArcs int) error {
	l.into = resize(l.into, len(l.vertices)) // by where they begin
	for x := range int32(l.arcs.n) {
		a := l.arcs.at(x)
		l.into[a.to] = append(l.buffer(l.into[a.to]), step{a.from, x, a.dist, a.unchanged})
	}
	var next [3]int // place in the old list of arcs into each end
	var merged [3][]step
	for k := range l.vertices {
		begin := l.first[k]
		out := int(l.first[k+1] - begin)
		for n := range out {
			next[n], merged[n] = 0, l.buffer(nil)
		}
		for _, in := range l.into[k] {
			for n := range out {
				y := l.arcs.at(begin + int32(n))
				old := l.into[y.to]
				for next[n] < len(old) && old[next[n]].from < in.from {
					merged[n] = append(merged[n], old[next[n]])
					next[n]++
				}
				s := step{in.from, 0, in.dist + 1, in.unchanged + y.unchanged}
				if s.unchanged > maxUnchanged {
					continue
				}
				if next[n] < len(old) && old[next[n]].from == in.from {
					there := &old[next[n]]
					if there.dist > s.dist {
						there.dist, there.unchanged = s.dist, s.unchanged
						a := l.arcs.at(there.arc)
						a.dist, a.unchanged = s.dist, s.unchanged
						l.edges = append(l.edges, there.arc)
					}
					continue
				}
				s.arc = l.arcs.add(arc{from: s.from, to: y.to, dist: s.dist, unchanged: s.unchanged})
				l.edges = append(doubled(l.edges), s.arc)
				merged[n] = append(merged[n], s)
			}
		}
		if len(l.edges) > maxArcs {
			return ErrTooLarge
		}
		for n := range out {
			to := l.arcs.at(begin + int32(n)).to
			old := l.into[to]
			l.into[to] = append(merged[n], old[next[n]:]...)
			l.free = append(l.free, old[:0])
		}
		l.free = append(l.free, l.into[k][:0])
		l.into[k] = nil
	}
	return nil
}

// buffer returns a list to append to: s if it is one, else one that was done
// with.
func (l *lattice) buffer(s []step) []step {
	if s == nil && len(l.free) > 0 {
		s = l.free[len(l.free)-1]
		l.free = l.free[:len(l.free)-1]
	}
	return s
}

// doubled has room for one more; a full slice doubles, for a long one is dear to
// move.
func doubled[T any](s []T) []T {
	if len(s) == cap(s) {
		return slices.Grow(s, max(64, len(s)))
	}
	return s
}

// dropKept takes arcs of several kept words out of the list of edges; after
// each one the script passes over an edge.
func (l *lattice) dropKept() {
	kept := l.edges[:0]
	for k := 0; k < len(l.edges); k++ {
		if a := l.arcs.at(l.edges[k]); !a.gone && a.dist > 1 && a.keeps() {
			a.gone = true
			if k++; k == len(l.edges) {
				break
			}
		}
		kept = append(kept, l.edges[k])
	}
	l.edges = kept
}

func (l *lattice) span(a *arc) (start, end int) {
	return int(l.vertices[a.from].i), int(l.vertices[a.to].i)
}

// edit returns an arc as an edit.
func (l *lattice) edit(a *arc) Edit {
	f, t := l.vertices[a.from], l.vertices[a.to]
	return Edit{int(f.i), int(t.i), strings.Join(l.src[f.i:t.i], " "), []string{strings.Join(l.hyp[f.j:t.j], " ")}}
}

// best returns the edits of the cheapest path, for one annotator's gold edits.
func (l *lattice) best(gold []Edit) []Edit {
	l.weigh(gold)
	weight := l.weight
	l.cost, l.by = resize(l.cost, len(l.vertices)), resize(l.by, len(l.vertices))
	dist, by := l.cost, l.by
	for k := range dist {
		dist[k], by[k] = math.Inf(1), -1
	}
	dist[0] = 0
	// Edges are relaxed in the order of the list, over and over, until each one
	// was without effect since the last that had one.
	relax := func(from, to int) (last int) {
		for n, x := range l.edges[from:to] {
			a := l.arcs.at(x)
			if d := dist[a.from] + weight[x]; d < dist[a.to] {
				dist[a.to], by[a.to] = d, x
				last = from + n + 1
			}
		}
		return last
	}
	for end := len(l.edges); end > 0; {
		last := relax(0, end)
		if last == 0 {
			break
		}
		end = max(last, relax(end, len(l.edges)))
	}
	var out []Edit
	for v := len(l.vertices) - 1; by[v] >= 0; {
		a := l.arcs.at(by[v])
		if !a.keeps() {
			out = append(out, l.edit(a))
		}
		v = int(a.from)
	}
	slices.Reverse(out)
	return out
}

// weigh gives every arc its weight: its length, a little more if it changes
// words and is no gold edit, and minus the number of edges if it is one. An arc
// that inserts words gets that little more for each of its copies.
func (l *lattice) weigh(gold []Edit) {
	l.weight = resize(l.weight, l.arcs.n)
	w := l.weight
	for k := range w {
		w[k] = float64(l.arcs.at(int32(k)).dist)
	}
	l.golds, l.inserts = emptied(l.golds, len(l.src)+1), emptied(l.inserts, len(l.src)+1)
	golds := l.golds
	for _, g := range gold {
		if g.Start >= 0 && g.Start <= len(l.src) {
			golds[g.Start] = append(golds[g.Start], g)
		}
	}
	inserts := l.inserts
	win := -float64(len(l.edges))
	for _, x := range l.edges {
		a := l.arcs.at(x)
		start, end := l.span(a)
		switch {
		case start != end:
			if len(golds[start]) > 0 && l.isGold(a, golds[start]) {
				w[x] = win
			} else if !a.keeps() {
				w[x] += epsilon
			}
		case slices.ContainsFunc(golds[start], insertion):
			inserts[start] = append(inserts[start], x)
		default:
			w[x] += epsilon
		}
	}
	for start, list := range inserts {
		slices.SortStableFunc(list, func(x, y int32) int {
			return cmp.Or(cmp.Compare(l.arcs.at(x).from, l.arcs.at(y).from), cmp.Compare(l.arcs.at(x).to, l.arcs.at(y).to))
		})
		l.insertions(w, list, slices.DeleteFunc(golds[start], func(g Edit) bool { return !insertion(g) }), win)
	}
}

func insertion(g Edit) bool { return g.Start == g.End }

func (l *lattice) isGold(a *arc, golds []Edit) bool {
	for i := range golds {
		if l.same(a, &golds[i]) {
			return true
		}
	}
	return false
}

// same reports that an arc is a gold edit.
func (l *lattice) same(a *arc, g *Edit) bool {
	f, t := l.vertices[a.from], l.vertices[a.to]
	if int(f.i) != g.Start || int(t.i) != g.End {
		return false
	}
	made := l.hyp[f.j:t.j]
	return joins(l.src[f.i:t.i], g.Original) && slices.ContainsFunc(g.Corrections, func(c string) bool { return joins(made, c) })
}

// joins reports that words joined by blanks are a text.
func joins(words []string, text string) bool {
	for i, w := range words {
		if i > 0 {
			if text == "" || text[0] != ' ' {
				return false
			}
			text = text[1:]
		}
		rest, ok := strings.CutPrefix(text, w)
		if !ok {
			return false
		}
		text = rest
	}
	return text == ""
}

// insertions weighs the arcs of one place of insertion. Gold insertions there
// are matched in order, from both ends inwards.
func (l *lattice) insertions(w []float64, list []int32, gold []Edit, win float64) {
	left, right := 0, len(list)-1
	first, last := 0, len(gold)-1
	cur := left
	for left <= right {
		x := list[cur]
		a := l.arcs.at(x)
		found := -1
		if cur == left {
			for i := first; i <= last && found < 0; i++ {
				if l.same(a, &gold[i]) {
					found = i
				}
			}
		} else {
			for i := last; i >= first && found < 0; i-- {
				if l.same(a, &gold[i]) {
					found = i
				}
			}
		}
		switch {
		case found >= 0 && cur == left:
			w[x] = win
			first = found + 1
			for left++; left < len(list) && l.arcs.at(list[left]).from != a.to; left++ {
				w[list[left]] += epsilon
			}
			cur = left
		case found >= 0:
			w[x] = win
			last = found - 1
			for right--; right >= 0 && l.arcs.at(list[right]).to != a.from; right-- {
				w[list[right]] += epsilon
			}
			cur = right
		default:
			w[x] += epsilon
			if cur == left {
				left++
				cur = right
			} else {
				right--
				cur = left
			}
		}
	}
}
