package bpe

import (
	"unicode/utf8"

	"espalier/tokenize/spm"
)

// A symbol is a part of the text that is one piece, one character or a
// user-defined piece.
type symbol struct {
	start, end int32 // of the text; equal if it was merged into the one before
	prev, next int32 // -1: none
	id         int32 // -1: no piece
	chars      int32
	frozen     bool // user-defined
}

// A merge would join a symbol and the next one.
type merge struct {
	score       float32
	left        int32
	size        int32 // bytes of both, to see that they are what they were
	id          int32
	chars, next int32 // of the left and right part, for the orders of lists
}

// before reports whether m comes before o.
func (m *merge) before(o *merge, order Order) bool {
	switch {
	case order == IDs && m.id != o.id:
		return m.id < o.id
	case order == IDs && m.chars != o.chars:
		return m.chars < o.chars
	case order == IDs || m.score != o.score:
		return m.score > o.score || m.score == o.score && m.left < o.left
	case order == Listed && m.chars != o.chars:
		return m.chars > o.chars
	case order == Listed && m.next != o.next:
		return m.next > o.next
	case order == Listed && m.id != o.id:
		return m.id < o.id
	}
	return m.left < o.left
}

// shortText is the number of symbols up to which the best merge is looked for
// among all.
const shortText = 48

// A merger cuts texts in normal form into pieces.
type merger struct {
	symbols []symbol
	heap    []merge
	split   map[string][2]string // how unused pieces came about
}

// run cuts a text. What is left are the symbols with start < end.
func (g *merger) run(m *Model, text string) {
	g.symbols, g.heap = g.symbols[:0], g.heap[:0]
	for at := 0; at < len(text); {
		size, chars, frozen := 0, 1, false
		if m.users != nil {
			size, _ = m.users.Longest(text[at:])
			frozen = size > 0
		}
		if size == 0 {
			_, size = utf8.DecodeRuneInString(text[at:])
		}
		n := int32(len(g.symbols))
		g.symbols = append(g.symbols, symbol{
			start: int32(at), end: int32(at + size), prev: n - 1, next: n + 1, chars: int32(chars), frozen: frozen,
			id: m.find(text, at, at+size),
		})
		at += size
	}
	n := len(g.symbols)
	if n == 0 {
		return
	}
	g.symbols[n-1].next = -1
	if m.unused {
		g.split = map[string][2]string{}
	}
	for i := range int32(n - 1) {
		g.consider(m, text, i)
	}
	if n <= shortText {
		for len(g.heap) > 0 {
			best := 0
			for k := 1; k < len(g.heap); k++ {
				if g.heap[k].before(&g.heap[best], m.Order) {
					best = k
				}
			}
			top := g.heap[best]
			last := len(g.heap) - 1
			g.heap[best] = g.heap[last]
			g.heap = g.heap[:last]
			g.join(m, text, top)
		}
		return
	}
	for i := len(g.heap)/2 - 1; i >= 0; i-- {
		g.sink(i, m.Order)
	}
	for len(g.heap) > 0 {
		top := g.heap[0]
		last := len(g.heap) - 1
		g.heap[0] = g.heap[last]
		g.heap = g.heap[:last]
		g.sink(0, m.Order)
		from := len(g.heap)
		g.join(m, text, top)
		for ; from < len(g.heap); from++ {
			g.rise(from, m.Order)
		}
	}
}

// consider adds the merge of a symbol and the next one if it makes a piece.
func (g *merger) consider(m *Model, text string, left int32) {
	l := &g.symbols[left]
	if l.next < 0 {
		return
	}
	r := &g.symbols[l.next]
	if l.frozen || r.frozen || m.Order != Scores && (l.id < 0 || r.id < 0) {
		return
	}
	id := m.find(text, int(l.start), int(r.end))
	if id < 0 {
		return
	}
	if m.unused && m.Pieces[id].Kind == spm.Unused {
		g.split[text[l.start:r.end]] = [2]string{text[l.start:l.end], text[r.start:r.end]}
	}
	g.heap = append(g.heap, merge{score: m.Pieces[id].Score, left: left, size: r.end - l.start, id: id, chars: l.chars, next: r.chars})
}

// join makes a merge, if its symbols are still what they were, and adds those
// that it makes possible.
func (g *merger) join(m *Model, text string, top merge) {
	l := &g.symbols[top.left]
	if l.start == l.end || l.next < 0 {
		return
	}
	r := &g.symbols[l.next]
	if r.end-l.start != top.size {
		return
	}
	l.end, l.next, l.id, l.chars = r.end, r.next, top.id, l.chars+r.chars
	if r.next >= 0 {
		g.symbols[r.next].prev = top.left
	}
	r.start = r.end
	if l.prev >= 0 {
		g.consider(m, text, l.prev)
	}
	g.consider(m, text, top.left)
}

func (g *merger) sink(i int, order Order) {
	h := g.heap
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && h[c+1].before(&h[c], order) {
			c++
		}
		if !h[c].before(&h[i], order) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}

func (g *merger) rise(i int, order Order) {
	h := g.heap
	for i > 0 {
		p := (i - 1) / 2
		if !h[i].before(&h[p], order) {
			return
		}
		h[i], h[p] = h[p], h[i]
		i = p
	}
}
