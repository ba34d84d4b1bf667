package unigram

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"espalier/tokenize/spm"
)

// Learn makes the pieces of a vocabulary of at most size pieces from the counts
// of words: texts between blanks. The pieces are <pad>, </s> and <unk>, as T5 has
// them, all characters, the mark of a blank among them, and what byte-pair
// encoding (Sennrich et al. 2016) joins of them, the most frequent neighbours
// first, of equals the one that is first in byte order. A piece's score is the
// logarithm of its share in the words so divided.
//
// It is for miniatures and for models from nothing. SentencePiece's own training
// prunes a large vocabulary by expectation maximisation and gives other pieces.
func Learn(counts map[string]int64, size int) ([]spm.Piece, error) {
	l := learner{counts: map[pair]int64{}, where: map[pair]map[int]bool{}, ids: map[string]int32{}}
	for _, w := range slices.Sorted(maps.Keys(counts)) {
		l.words = append(l.words, learnt{l.split(w), counts[w]})
	}
	if len(l.words) == 0 {
		return nil, errors.New("unigram: no words to learn from")
	}
	const special = 3
	if len(l.texts) > size-special {
		return nil, fmt.Errorf("unigram: size %d, want at least %d: there are %d characters", size, len(l.texts)+special, len(l.texts))
	}
	for i := range l.words {
		l.count(i, 1)
	}
	for len(l.texts) < size-special && l.merge() {
	}
	return append([]spm.Piece{
		{Text: "<pad>", Kind: spm.Control},
		{Text: "</s>", Kind: spm.Control},
		{Text: "<unk>", Kind: spm.Unknown},
	}, l.pieces()...), nil
}

// A pair is two pieces side by side.
type pair struct{ left, right int32 }

// learnt is a word as it is divided so far.
type learnt struct {
	pieces []int32
	n      int64
}

type learner struct {
	texts  []string // of the pieces
	ids    map[string]int32
	words  []learnt
	counts map[pair]int64
	where  map[pair]map[int]bool // words that may hold a pair

	pending candidates
}

// split returns the characters of a word, the mark in front.
func (l *learner) split(word string) []int32 {
	var ids []int32
	for _, r := range spm.Mark + word {
		ids = append(ids, l.id(string(r)))
	}
	return ids
}

func (l *learner) id(text string) int32 {
	id, ok := l.ids[text]
	if !ok {
		id = int32(len(l.texts))
		l.ids[text] = id
		l.texts = append(l.texts, text)
	}
	return id
}

// count adds the pairs of word i, sign times, and tells pending of those that
// change.
func (l *learner) count(i int, sign int64) {
	w := &l.words[i]
	for k := 1; k < len(w.pieces); k++ {
		p := pair{w.pieces[k-1], w.pieces[k]}
		l.counts[p] += sign * w.n
		if sign > 0 {
			if l.where[p] == nil {
				l.where[p] = map[int]bool{}
			}
			l.where[p][i] = true
		}
		l.push(p, l.counts[p])
	}
}

func (l *learner) push(p pair, n int64) {
	heap.Push(&l.pending, candidate{p, n, l.texts[p.left] + l.texts[p.right]})
}

// merge joins the most frequent pair and reports whether one stood twice.
func (l *learner) merge() bool {
	for len(l.pending) > 0 {
		c := heap.Pop(&l.pending).(candidate)
		if c.n != l.counts[c.pair] {
			continue // it has changed since, and is there again
		}
		if c.n < 2 {
			return false
		}
		id := l.id(c.text)
		touched := slices.Sorted(maps.Keys(l.where[c.pair]))
		delete(l.where, c.pair)
		for _, i := range touched {
			l.count(i, -1)
			l.words[i].pieces = join(l.words[i].pieces, c.pair, id)
			l.count(i, 1)
		}
		return true
	}
	return false
}

// join puts id in the place of each p, from the left.
func join(pieces []int32, p pair, id int32) []int32 {
	out := pieces[:0]
	for k := 0; k < len(pieces); k++ {
		if k+1 < len(pieces) && pieces[k] == p.left && pieces[k+1] == p.right {
			out = append(out, id)
			k++
		} else {
			out = append(out, pieces[k])
		}
	}
	return out
}

// pieces returns the pieces by falling score, those of equal score by their
// texts.
func (l *learner) pieces() []spm.Piece {
	uses := make([]int64, len(l.texts))
	total := int64(0)
	for _, w := range l.words {
		for _, id := range w.pieces {
			uses[id] += w.n
			total += w.n
		}
	}
	out := make([]spm.Piece, len(l.texts))
	for i, text := range l.texts {
		// A piece that is left nowhere counts as half a use.
		share := max(float64(uses[i]), 0.5) / float64(total)
		score := math.Round(math.Log(share)*1e4) / 1e4 // the same on every machine
		out[i] = spm.Piece{Text: text, Score: float32(score), Kind: spm.Normal}
	}
	slices.SortFunc(out, func(a, b spm.Piece) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.Text, b.Text))
	})
	return out
}

// A candidate is a pair that stood n times.
type candidate struct {
	pair
	n    int64
	text string
}

// candidates is a heap, the most frequent on top.
type candidates []candidate

func (c candidates) Len() int      { return len(c) }
func (c candidates) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c *candidates) Push(x any)   { *c = append(*c, x.(candidate)) }
func (c candidates) Less(i, j int) bool {
	a, b := &c[i], &c[j]
	return cmp.Or(cmp.Compare(b.n, a.n), strings.Compare(a.text, b.text), cmp.Compare(a.left, b.left)) < 0
}

func (c *candidates) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}
