package bytebpe

// shortWord is the number of bytes up to which the best merge is looked for
// among all pairs.
const shortWord = 40

// A symbol of a long word.
type symbol struct {
	id         int32 // -1: merged into the one before
	prev, next int32 // -1: none
}

// A merge of a long word: of the symbol at a place and the next one.
type merge struct {
	rank uint32
	at   int32
	to   int32
}

// A merger turns words into ids.
type merger struct {
	long []symbol
	heap []merge
}

// word appends the ids of the word text[i:j].
func (g *merger) word(m *Model, ids []int32, text string, i, j int) []int32 {
	n := j - i
	if n > shortWord {
		return g.longWord(m, ids, text, i, j)
	}
	from := len(ids)
	for k := i; k < j-1; k++ {
		ids = append(ids, m.single[text[k]])
	}
	ids = append(ids, m.last[text[j-1]])
	if n == 1 {
		return ids
	}
	var ranks [shortWord]uint32
	var tos [shortWord]int32
	s := ids[from:]
	for k := 0; k+1 < len(s); k++ {
		ranks[k], tos[k] = m.pairs.find(s[k], s[k+1])
	}
	ranks[len(s)-1] = noRank
	for {
		best, at := uint32(noRank), 0
		for k, r := range ranks[:len(s)] {
			if r < best {
				best, at = r, k
			}
		}
		if best == noRank {
			return ids[:from+len(s)]
		}
		s[at] = tos[at]
		copy(s[at+1:], s[at+2:])
		copy(ranks[at+1:len(s)], ranks[at+2:len(s)])
		copy(tos[at+1:len(s)], tos[at+2:len(s)])
		s = s[:len(s)-1]
		ranks[len(s)-1] = noRank
		if at+1 < len(s) {
			ranks[at], tos[at] = m.pairs.find(s[at], s[at+1])
		}
		if at > 0 {
			ranks[at-1], tos[at-1] = m.pairs.find(s[at-1], s[at])
		}
	}
}

// longWord is word with a heap of merges.
func (g *merger) longWord(m *Model, ids []int32, text string, i, j int) []int32 {
	g.long, g.heap = g.long[:0], g.heap[:0]
	n := int32(j - i)
	for k := range n {
		id := m.single[text[i+int(k)]]
		if k == n-1 {
			id = m.last[text[j-1]]
		}
		g.long = append(g.long, symbol{id, k - 1, k + 1})
	}
	g.long[n-1].next = -1
	for k := range n - 1 {
		g.consider(m, k)
	}
	for k := len(g.heap)/2 - 1; k >= 0; k-- {
		g.sink(k)
	}
	for len(g.heap) > 0 {
		top := g.heap[0]
		last := len(g.heap) - 1
		g.heap[0] = g.heap[last]
		g.heap = g.heap[:last]
		g.sink(0)
		l := &g.long[top.at]
		if l.id < 0 || l.next < 0 {
			continue
		}
		r := &g.long[l.next]
		if rank, _ := m.pairs.find(l.id, r.id); rank != top.rank {
			continue
		}
		l.id = top.to
		r.id = -1
		l.next = r.next
		if r.next >= 0 {
			g.long[r.next].prev = top.at
		}
		from := len(g.heap)
		if l.prev >= 0 {
			g.consider(m, l.prev)
		}
		g.consider(m, top.at)
		for ; from < len(g.heap); from++ {
			g.rise(from)
		}
	}
	for k := int32(0); k >= 0; k = g.long[k].next {
		ids = append(ids, g.long[k].id)
	}
	return ids
}

// consider adds the merge of a symbol and the next one, if there is one.
func (g *merger) consider(m *Model, at int32) {
	l := &g.long[at]
	if l.next < 0 {
		return
	}
	if rank, to := m.pairs.find(l.id, g.long[l.next].id); rank != noRank {
		g.heap = append(g.heap, merge{rank, at, to})
	}
}

func (m merge) before(o merge) bool { return m.rank < o.rank || m.rank == o.rank && m.at < o.at }

func (g *merger) sink(i int) {
	h := g.heap
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && h[c+1].before(h[c]) {
			c++
		}
		if !h[c].before(h[i]) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}

func (g *merger) rise(i int) {
	h := g.heap
	for i > 0 {
		p := (i - 1) / 2
		if !h[i].before(h[p]) {
			return
		}
		h[i], h[p] = h[p], h[i]
		i = p
	}
}
