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
	dist      int32 // lattice edges that it stands for
	unchanged int32 // of them, how many keep a word
	copies    int32 // how often the script's list of edges has it
	gone      bool  // a long run of kept words, dropped from the list
}

func (a *arc) keeps() bool { return a.unchanged == a.dist }

// A lattice is all phrases that may turn a source into a hypothesis.
type lattice struct {
	src, hyp []string
	vertices []vertex
	arcs     []arc
	edges    []int32 // arcs in the order of the script's list, copies included
}

// newLattice builds the lattice of both alignments, substitutions at cost 1
// and at cost 2, and joins neighbouring edits to phrases.
func newLattice(src, hyp []string, maxUnchanged int) *lattice {
	l := &lattice{src: src, hyp: hyp}
	var edges [][2]vertex
	for _, sub := range []int32{1, 2} {
		edges = l.align(edges, sub)
	}
	l.number(edges)
	l.join(int32(maxUnchanged))
	l.dropKept()
	return l
}

// align adds the edges of all alignments of least cost, found backwards from
// the ends of both sentences.
func (l *lattice) align(edges [][2]vertex, sub int32) [][2]vertex {
	n, m := len(l.src), len(l.hyp)
	w := m + 1
	d := make([]int32, (n+1)*w)
	at := func(i, j int) *int32 { return &d[i*w+j] }
	for i := range n + 1 {
		for j := range m + 1 {
			switch {
			case i == 0:
				*at(i, j) = int32(j)
			case j == 0:
				*at(i, j) = int32(i)
			default:
				*at(i, j) = min(*at(i-1, j-1)+l.cost(i, j, sub), *at(i-1, j)+1, *at(i, j-1)+1)
			}
		}
	}
	seen := make([]bool, (n+1)*w)
	stack := []vertex{{int32(n), int32(m)}}
	seen[n*w+m] = true
	for len(stack) > 0 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		i, j := int(v.i), int(v.j)
		back := func(pi, pj int, cost int32) {
			if *at(pi, pj)+cost != *at(i, j) {
				return
			}
			p := vertex{int32(pi), int32(pj)}
			edges = append(edges, [2]vertex{p, v})
			if !seen[pi*w+pj] {
				seen[pi*w+pj] = true
				stack = append(stack, p)
			}
		}
		if i > 0 && j > 0 {
			back(i-1, j-1, l.cost(i, j, sub))
		}
		if i > 0 {
			back(i-1, j, 1)
		}
		if j > 0 {
			back(i, j-1, 1)
		}
	}
	return edges
}

func (l *lattice) cost(i, j int, sub int32) int32 {
	if l.src[i-1] == l.hyp[j-1] {
		return 0
	}
	return sub
}

func compareVertices(a, b vertex) int { return cmp.Or(cmp.Compare(a.i, b.i), cmp.Compare(a.j, b.j)) }

// number sorts vertices and edges and makes arcs of the edges.
func (l *lattice) number(edges [][2]vertex) {
	l.vertices = append(l.vertices, vertex{0, 0})
	for _, e := range edges {
		l.vertices = append(l.vertices, e[0], e[1])
	}
	slices.SortFunc(l.vertices, compareVertices)
	l.vertices = slices.Compact(l.vertices)
	place := make(map[vertex]int32, len(l.vertices))
	for k, v := range l.vertices {
		place[v] = int32(k)
	}
	slices.SortFunc(edges, func(a, b [2]vertex) int { return cmp.Or(compareVertices(a[0], b[0]), compareVertices(a[1], b[1])) })
	for k, e := range edges {
		if k > 0 && edges[k-1] == e {
			l.arcs[len(l.arcs)-1].copies++
		} else {
			a := arc{from: place[e[0]], to: place[e[1]], dist: 1, copies: 1}
			if e[1].i > e[0].i && e[1].j > e[0].j && l.src[e[0].i] == l.hyp[e[0].j] {
				a.unchanged = 1
			}
			l.arcs = append(l.arcs, a)
		}
		l.edges = append(l.edges, int32(len(l.arcs)-1))
	}
}

// join adds arcs for phrases: through every vertex in order, an arc that ends
// there and an edge that begins there make one arc, if it is shorter than what
// there is and does not keep too many words. Arcs that begin at a vertex and
// are no edges are made at later vertices only, so edges are all there is to
// look at.
func (l *lattice) join(maxUnchanged int32) {
	out := make([][]int32, len(l.vertices)) // edges, by where they begin
	in := make([][]int32, len(l.vertices))  // arcs, by where they end, sorted by where they begin
	for k, a := range l.arcs {
		out[a.from] = append(out[a.from], int32(k))
		in[a.to] = append(in[a.to], int32(k))
	}
	for k := range in {
		slices.SortFunc(in[k], func(x, y int32) int { return cmp.Compare(l.arcs[x].from, l.arcs[y].from) })
	}
	for k := range l.vertices {
		if len(out[k]) == 0 {
			continue
		}
		next := make([]int, len(out[k])) // place in the old list of arcs into each end
		merged := make([][]int32, len(out[k]))
		for _, x := range in[k] {
			from := l.arcs[x].from
			for n, y := range out[k] {
				to := l.arcs[y].to
				old := in[to]
				for next[n] < len(old) && l.arcs[old[next[n]]].from < from {
					merged[n] = append(merged[n], old[next[n]])
					next[n]++
				}
				dist, kept := l.arcs[x].dist+1, l.arcs[x].unchanged+l.arcs[y].unchanged
				there := next[n] < len(old) && l.arcs[old[next[n]]].from == from
				if kept > maxUnchanged || there && l.arcs[old[next[n]]].dist <= dist {
					continue
				}
				if there {
					a := &l.arcs[old[next[n]]]
					a.dist, a.unchanged = dist, kept
					a.copies++
					l.edges = append(l.edges, old[next[n]])
					continue
				}
				l.arcs = append(l.arcs, arc{from: from, to: to, dist: dist, unchanged: kept, copies: 1})
				l.edges = append(l.edges, int32(len(l.arcs)-1))
				merged[n] = append(merged[n], int32(len(l.arcs)-1))
			}
		}
		for n, y := range out[k] {
			to := l.arcs[y].to
			in[to] = append(merged[n], in[to][next[n]:]...)
		}
	}
}

// dropKept takes arcs of several kept words out of the list of edges; after
// each one the script passes over an edge.
func (l *lattice) dropKept() {
	kept := l.edges[:0]
	for k := 0; k < len(l.edges); k++ {
		if a := &l.arcs[l.edges[k]]; !a.gone && a.dist > 1 && a.keeps() {
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
	weight := l.weights(gold)
	dist := make([]float64, len(l.vertices))
	by := make([]int32, len(l.vertices))
	for k := range dist {
		dist[k], by[k] = math.Inf(1), -1
	}
	dist[0] = 0
	for changed := true; changed; {
		changed = false
		for _, x := range l.edges {
			a := &l.arcs[x]
			if d := dist[a.from] + weight[x]; d < dist[a.to] {
				dist[a.to], by[a.to] = d, x
				changed = true
			}
		}
	}
	var out []Edit
	for v := len(l.vertices) - 1; by[v] >= 0; {
		a := &l.arcs[by[v]]
		if !a.keeps() {
			out = append(out, l.edit(a))
		}
		v = int(a.from)
	}
	slices.Reverse(out)
	return out
}

// weights gives every arc its weight: its length, a little more if it changes
// words and is no gold edit, and minus the number of edges if it is one.
func (l *lattice) weights(gold []Edit) []float64 {
	w := make([]float64, len(l.arcs))
	for k, a := range l.arcs {
		w[k] = float64(a.dist)
	}
	type span struct{ start, end int }
	golds := make(map[span][]Edit)
	for _, g := range gold {
		golds[span{g.Start, g.End}] = append(golds[span{g.Start, g.End}], g)
	}
	inserts := make(map[int][]int32)
	win := -float64(len(l.edges))
	for _, x := range l.edges {
		a := &l.arcs[x]
		start, end := l.span(a)
		if start == end {
			inserts[start] = append(inserts[start], x)
			continue
		}
		g := golds[span{start, end}]
		switch {
		case len(g) > 0 && l.isGold(a, g):
			w[x] = win
		case !a.keeps():
			w[x] += epsilon
		}
	}
	for start, list := range inserts {
		slices.SortStableFunc(list, func(x, y int32) int {
			return cmp.Or(cmp.Compare(l.arcs[x].from, l.arcs[y].from), cmp.Compare(l.arcs[x].to, l.arcs[y].to))
		})
		l.insertions(w, list, golds[span{start, start}], win)
	}
	return w
}

func (l *lattice) isGold(a *arc, golds []Edit) bool {
	e := l.edit(a)
	return slices.ContainsFunc(golds, func(g Edit) bool { return equal(&e, &g, false) })
}

// insertions weighs the arcs of one place of insertion. Gold insertions there
// are matched in order, from both ends inwards.
func (l *lattice) insertions(w []float64, list []int32, gold []Edit, win float64) {
	left, right := 0, len(list)-1
	first, last := 0, len(gold)-1
	cur := left
	for left <= right {
		x := list[cur]
		a := &l.arcs[x]
		e := l.edit(a)
		found := -1
		if cur == left {
			for i := first; i <= last && found < 0; i++ {
				if equal(&e, &gold[i], false) {
					found = i
				}
			}
		} else {
			for i := last; i >= first && found < 0; i-- {
				if equal(&e, &gold[i], false) {
					found = i
				}
			}
		}
		switch {
		case found >= 0 && cur == left:
			w[x] = win
			first = found + 1
			for left++; left < len(list) && l.arcs[list[left]].from != a.to; left++ {
				w[list[left]] += epsilon
			}
			cur = left
		case found >= 0:
			w[x] = win
			last = found - 1
			for right--; right >= 0 && l.arcs[list[right]].to != a.from; right-- {
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
