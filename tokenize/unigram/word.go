package unigram

import (
	"math"

	"espalier/tokenize/memo"
)

// ways are the two best sums at an end, in float64, and the better way.
type ways struct {
	best, second float64
	start, id    int32
}

// longWord is the length, in bytes, from which a word is searched exactly at
// once.
const longWord = 1 << 12

// byWord appends the ids of a text word by word. No piece goes on from one word
// to the next, so that all a word needs to know of those before is their sum;
// and its rounding, which can change a near tie.
func (e *Encoder) byWord(ids []int32, text string) []int32 {
	words := e.m.words
	spent := float32(0)          // at least the absolute sum
	exact, base := 0, float32(0) // the sum of text[:exact]
	for i := 0; i < len(text); {
		if text[i] == ' ' {
			i++
			continue
		}
		j := memo.End(text, i, ' ')
		var limit, weight float32
		before := len(ids)
		ref, hash := words.Find(text, i, j)
		if ref != 0 {
			limit, weight = unpack(words.Number(ref))
			ids = words.Append(ids, ref)
		} else if j-i < longWord {
			e.buf = e.norm.Append(e.buf[:0], text[i:j])
			ids, limit, weight = e.both(ids, str(e.buf))
			if j-i <= memo.MaxKey {
				words.Add(text, i, j, hash, ids[before:], pack(limit, weight))
			}
		} else {
			limit = -1
		}
		if spent > limit {
			for exact < i {
				if text[exact] == ' ' {
					exact++
					continue
				}
				end := memo.End(text, exact, ' ')
				e.buf = e.norm.Append(e.buf[:0], text[exact:end])
				base = e.search(str(e.buf), base)
				exact = end
			}
			e.buf = e.norm.Append(e.buf[:0], text[i:j])
			old := base
			base = e.search(str(e.buf), base)
			exact = j
			ids = e.collect(ids[:before], str(e.buf))
			weight = old - base
		}
		spent += weight
		i = j
	}
	return ids
}

func pack(limit, weight float32) uint64 {
	return uint64(math.Float32bits(limit)) | uint64(math.Float32bits(weight))<<32
}

func unpack(n uint64) (limit, weight float32) {
	return math.Float32frombits(uint32(n)), math.Float32frombits(uint32(n >> 32))
}

// both appends the ids of the best way through a word in normal form, its weight
// (the absolute of its sum) and the limit: as long as the absolute sum of what is
// before does not exceed it, rounding cannot make another way win.
//
// A sum of k scores in float32 is off by at most k half units in the last place
// of its largest partial sum. Scores are not positive, so no partial sum of the
// winner is larger than its whole. Hence the way that search finds is not worse
// than the best one by more than k units, and the best one itself if the second
// best is worse than that. The limit leaves a factor of two for what happens to
// scores and sums outside this count.
func (e *Encoder) both(ids []int32, text string) (_ []int32, limit, weight float32) {
	m, n := e.m, len(text)
	if cap(e.two) <= n {
		e.two = make([]ways, n+n/2+64)
	}
	if cap(e.nodes) <= n {
		e.nodes = make([]node, n+n/2+64)
	}
	two := e.two[:n+1]
	for i := range two {
		two[i] = ways{math.Inf(-1), math.Inf(-1), -1, -1}
	}
	two[0].best = 0
	chars := 0
	for at := 0; at < n; chars++ {
		from := two[at]
		size := min(charLen(text[at]), n-at)
		single := false
		t := m.trie.Root()
		for i := at; i < n; {
			var ok bool
			if t, ok = m.trie.Step(t, text[i]); !ok {
				break
			}
			i++
			id := t.Value()
			if id < 0 || m.scores[id].unused {
				continue
			}
			two[i].add(&from, m.scores[id].double, int32(at), id)
			single = single || i == at+size
		}
		if !single {
			two[at+size].add(&from, float64(m.unknown), int32(at), m.Unk)
		}
		at += size
	}
	for end := n; end > 0; end = int(two[end].start) {
		e.nodes[end] = node{start: two[end].start, id: two[end].id}
	}
	ids = e.collect(ids, text)
	last := two[n]
	weight = float32(-last.best)
	if math.IsInf(last.second, -1) {
		return ids, math.MaxFloat32, weight
	}
	unit := (last.best - last.second) / float64(2*chars)
	if unit <= 0 {
		return ids, -1, weight
	}
	f, x := math.Frexp(unit)
	if f == 0.5 { // a power of two: the unit must be smaller
		x--
	}
	// sums below 2^(x+23) have a last place worth at most 2^(x-1)
	return ids, float32(min(math.Ldexp(1, x+23)-float64(2*weight)-1, math.MaxFloat32)), weight
}

// add offers a way that goes on from another one.
func (w *ways) add(from *ways, score float64, start, id int32) {
	v := from.best + score
	if v > w.best {
		w.second = max(w.best, from.second+score)
		w.best, w.start, w.id = v, start, id
	} else {
		w.second = max(w.second, v)
	}
}
