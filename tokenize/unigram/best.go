package unigram

import (
	"slices"

	"espalier/tokenize/spm"
)

// A Way is one way to cut a text and the sum of its scores.
type Way struct {
	IDs   []int32
	Score float32
}

// Bounds of the search for the best ways: how many may be asked for, and at how
// many unfinished ways all but the best are dropped, as SentencePiece does.
const (
	maxWays   = 1024
	maxAgenda = 10000
	minAgenda = 512
)

// An edge is a piece at a place of the text, in the order SentencePiece meets
// them.
type edge struct {
	start, id   int32
	score, back float32 // its own, and of the best way up to its end
}

// A partial way goes from an edge to the end of the text.
type partial struct {
	edge   int32 // -1: the text's beginning, -2: its end
	next   int32 // the partial way it is in front of
	fx, gx float32
}

// Best returns up to n ways to cut a text, the best first, as SentencePiece's
// nbest search finds them. An empty text has one way.
func (m *Model) Best(text string, n int) []Way {
	n = max(1, min(n, maxWays))
	normal := string(m.Norm.Append(nil, text))
	if normal == "" {
		return []Way{{}}
	}
	if n == 1 {
		return []Way{{IDs: m.NewEncoder().Append(nil, text)}}
	}
	edges, ends, h := m.lattice(normal)
	all := []partial{{edge: -2, next: -1, fx: h}}
	heap := agenda{all: &all}
	heap.push(0)
	var ways []Way
	for len(heap.order) > 0 {
		top := heap.pop()
		p := all[top]
		if p.edge == -1 {
			ways = append(ways, Way{m.idsOf(all, edges, p.next), p.fx})
			if len(ways) == n {
				break
			}
			continue
		}
		at := len(normal)
		if p.edge >= 0 {
			at = int(edges[p.edge].start)
		}
		if at == 0 {
			all = append(all, partial{edge: -1, next: top, fx: p.gx, gx: p.gx})
			heap.push(int32(len(all) - 1))
		}
		for _, k := range ends[at] {
			x := &edges[k]
			all = append(all, partial{edge: k, next: top, fx: x.back + p.gx, gx: x.score + p.gx})
			heap.push(int32(len(all) - 1))
		}
		if len(heap.order) >= maxAgenda {
			fewer := agenda{all: &all}
			for range min(minAgenda, 10*n) {
				fewer.push(heap.pop())
			}
			heap = fewer
		}
	}
	return ways
}

// lattice returns the edges of a text in normal form, those that end at each
// place, and the best sum.
func (m *Model) lattice(normal string) (edges []edge, ends [][]int32, best float32) {
	ends = make([][]int32, len(normal)+1)
	back := func(at int, score float32) float32 {
		if at == 0 {
			return score
		}
		b := edges[ends[at][0]].back + score
		for _, k := range ends[at][1:] {
			b = max(b, edges[k].back+score)
		}
		return b
	}
	add := func(start, end int, id int32, score float32) {
		edges = append(edges, edge{int32(start), id, score, back(start, score)})
		ends[end] = append(ends[end], int32(len(edges)-1))
	}
	for at := 0; at < len(normal); {
		size := min(charLen(normal[at]), len(normal)-at)
		single := false
		t := m.trie.Root()
		for i := at; i < len(normal); {
			var ok bool
			if t, ok = m.trie.Step(t, normal[i]); !ok {
				break
			}
			i++
			id := t.Value()
			if id < 0 || m.scores[id].unused {
				continue
			}
			score := m.scores[id].single
			if !m.Float32 && m.Pieces[id].Kind == spm.User {
				score = userScore
			}
			add(at, i, id, score)
			single = single || i == at+size
		}
		if !single {
			add(at, at+size, m.Unk, m.unknown)
		}
		at += size
	}
	return edges, ends, back(len(normal), 0)
}

func (m *Model) idsOf(all []partial, edges []edge, first int32) []int32 {
	var ids []int32
	for p := all[first]; p.edge >= 0; p = all[p.next] {
		id := edges[p.edge].id
		if id == m.Unk && len(ids) > 0 && ids[len(ids)-1] == id {
			continue
		}
		ids = append(ids, id)
	}
	return slices.Clip(ids)
}

// An agenda is a heap of partial ways, the one of the largest fx on top. Which
// of equal ones that is follows from the moves of the C++ library's heap, which
// are made here too.
type agenda struct {
	all   *[]partial
	order []int32
}

func (a *agenda) less(x, y int32) bool { return (*a.all)[x].fx < (*a.all)[y].fx }

func (a *agenda) push(p int32) {
	a.order = append(a.order, p)
	a.rise(len(a.order)-1, p)
}

func (a *agenda) rise(hole int, p int32) {
	for hole > 0 {
		parent := (hole - 1) / 2
		if !a.less(a.order[parent], p) {
			break
		}
		a.order[hole] = a.order[parent]
		hole = parent
	}
	a.order[hole] = p
}

// pop takes the top: the hole it leaves sinks to the bottom, then the last way
// rises from there.
func (a *agenda) pop() int32 {
	n := len(a.order) - 1
	top, last := a.order[0], a.order[n]
	a.order = a.order[:n]
	if n == 0 {
		return top
	}
	hole, child := 0, 0
	for child < (n-1)/2 {
		child = 2 * (child + 1)
		if a.less(a.order[child], a.order[child-1]) {
			child--
		}
		a.order[hole] = a.order[child]
		hole = child
	}
	if n&1 == 0 && child == (n-2)/2 {
		child = 2*child + 1
		a.order[hole] = a.order[child]
		hole = child
	}
	a.rise(hole, last)
	return top
}
