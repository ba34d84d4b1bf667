package cider

import (
	"slices"
	"sync"

	"espalier/evaluate/ngram"
)

// A census is the counting of a corpus' n-grams.
//
// An n-gram belongs to the part of its first word, so that parts have nothing
// in common and each is counted by itself, order by order: only the n-grams
// that two images have are lengthened, for a longer one is in no more images.
type census struct {
	*Corpus
	hypWords, refWords []uint32 // all texts, each with endOfText behind it
	often              []uint32 // of each word, how many references' places it has
	images             []uint32 // of each word, how many images have it in a reference
	part               []uint16 // of each word
	load               []int    // of each part, how many places of references it has
	lock               sync.Mutex
	large              map[uint32]uint16 // classes of large counts
}

// endOfText is no word's number.
const endOfText = ^uint32(0)

// newCensus strings the texts together; the corpus' lists then point into that.
func newCensus(c *Corpus, vocabulary int) *census {
	n := &census{Corpus: c, often: make([]uint32, vocabulary), images: make([]uint32, vocabulary), large: map[uint32]uint16{}}
	hyps, refs := 0, 0
	c.hypFirst, c.refFirst = make([]uint32, 0, len(c.hyps)), make([]uint32, 0, len(c.hyps))
	for i, h := range c.hyps {
		c.hypFirst, c.refFirst = append(c.hypFirst, uint32(hyps)), append(c.refFirst, uint32(refs))
		hyps += len(h) + 1
		for _, r := range c.refs[i] {
			refs += len(r) + 1
		}
	}
	n.hypWords, n.refWords = make([]uint32, 0, hyps), make([]uint32, 0, refs)
	for i, h := range c.hyps {
		n.hypWords, c.hyps[i] = strung(n.hypWords, h)
		for k, r := range c.refs[i] {
			n.refWords, c.refs[i][k] = strung(n.refWords, r)
		}
	}
	for _, w := range n.refWords {
		if w != endOfText {
			n.often[w]++
		}
	}
	c.hypGrams, c.refGrams = make([]grams, hyps), make([]grams, refs)
	return n
}

// strung appends a text with its end, and returns where it now stands.
func strung(all, text []uint32) (longer, here []uint32) {
	from := len(all)
	all = append(append(all, text...), endOfText)
	to := len(all) - 1
	return all, all[from:to:to]
}

// spread is how many of the most frequent words are dealt out by how often they
// are; the others go round.
const spread = 4096

// divide gives every word a part, so that parts have about as many n-grams. It
// returns how many there are.
func (n *census) divide(parts int) int {
	parts = min(parts, 1<<16-1)
	n.part, n.load = make([]uint16, len(n.often)), make([]int, parts)
	order := make([]uint64, len(n.often)) // by how often, the most frequent first
	for w, times := range n.often {
		order[w] = uint64(^times)<<32 | uint64(w)
	}
	slices.Sort(order)
	for i, o := range order {
		w, part := uint32(o), i%parts
		if i < spread {
			for p := range n.load {
				if n.load[p] < n.load[part] {
					part = p
				}
			}
		}
		n.part[w] = uint16(part)
		n.load[part] += int(n.often[w])
	}
	return parts
}

// class returns the class of a count above 1.
func (n *census) class(count uint32) uint16 {
	if count < firstLarge {
		return uint16(count)
	}
	n.lock.Lock()
	defer n.lock.Unlock()
	class, ok := n.large[count]
	if !ok {
		class = uint16(firstLarge + len(n.large))
		n.large[count] = class
	}
	return class
}

// A start is a place where an n-gram begins.
type start struct {
	at    uint32
	image uint32 // plus 1; of a hypothesis, nothing
	gram  uint32 // the n-gram so far: its first word, then a slot of the table
}

// A visit is one worker's count of parts.
type visit struct {
	*census
	backwards  bool    // from the last image on, so that two workers seldom write side by side
	words      []known // by word
	refs, hyps []start
	table      table
}

// A known is a word of a worker.
type known struct {
	images uint32
	last   uint32 // the image that counted it last, plus 1
}

// count counts the n-grams of a part.
func (v *visit) count(part uint16) {
	v.collect(part)
	for k := range Order - 1 {
		v.table.reset(len(v.refs) / 2)
		ahead := uint32(k + 1)
		for i := range v.refs {
			s := &v.refs[i]
			word := v.refWords[s.at+ahead]
			if word == endOfText {
				s.image = 0
				continue
			}
			if v.table.full() {
				v.table.grow(v.refs[:i])
			}
			s.gram = v.table.add(ngram.Key(s.gram, word), s.image)
		}
		shared := v.refs[:0]
		for _, s := range v.refs {
			if s.image == 0 {
				continue
			}
			if n := v.table.slots[s.gram].count; n > 1 {
				v.refGrams[s.at][k] = v.class(n)
				shared = append(shared, s)
			}
		}
		v.refs = shared
		met := v.hyps[:0]
		for _, s := range v.hyps {
			word := v.hypWords[s.at+ahead]
			if word == endOfText {
				continue
			}
			slot, ok := v.table.find(ngram.Key(s.gram, word))
			if !ok {
				continue
			}
			if n := v.table.slots[slot].count; n > 1 {
				v.hypGrams[s.at][k] = v.class(n)
				s.gram = slot
				met = append(met, s)
			}
		}
		v.hyps = met
	}
}

// collect finds the places of a part's words and counts those.
func (v *visit) collect(part uint16) {
	v.refs = slices.Grow(v.refs[:0], v.load[part])
	v.hyps = slices.Grow(v.hyps[:0], len(v.hypWords)*v.load[part]/max(1, len(v.refWords)))
	images := len(v.Corpus.refs)
	for k := range images {
		i := k
		if v.backwards {
			i = images - 1 - k
		}
		at, mark := v.refFirst[i], uint32(i+1)
		end := uint32(len(v.refWords))
		if i+1 < images {
			end = v.refFirst[i+1]
		}
		for ; at < end; at++ {
			w := v.refWords[at]
			if w == endOfText || v.part[w] != part {
				continue
			}
			if x := &v.words[w]; x.last != mark {
				x.last = mark
				x.images++
			}
			v.refs = append(v.refs, start{at, mark, w})
		}
	}
	for w, p := range v.part {
		if p == part {
			v.images[w] = v.words[w].images
		}
	}
	for at, w := range v.hypWords {
		if w != endOfText && v.part[w] == part {
			v.hyps = append(v.hyps, start{at: uint32(at), gram: w})
		}
	}
}

// A table counts the images of n-grams: open addressing, linear probing. An
// n-gram is named by its slot.
type table struct {
	slots []slot
	shift uint
	n     int
}

type slot struct {
	key   uint64
	count uint32 // 0 marks a free slot
	last  uint32 // image that counted it last, plus 1
}

// reset empties the table, with room for so many n-grams at first.
func (t *table) reset(room int) {
	size, shift := 1<<6, uint(64-6)
	for size*3/4 < room {
		size, shift = size*2, shift-1
	}
	if size <= cap(t.slots) {
		t.slots = t.slots[:size]
		clear(t.slots)
	} else {
		t.slots = make([]slot, size)
	}
	t.shift, t.n = shift, 0
}

func (t *table) home(key uint64) uint64 { return spreadKey(key) >> t.shift }

// spreadKey multiplies by odd constants, so that the high bits depend on all.
func spreadKey(key uint64) uint64 {
	key *= 0x9e3779b97f4a7c15
	key ^= key >> 32
	return key * 0xd6e8feb86659fd93
}

// full reports that the table must grow before it takes another n-gram.
func (t *table) full() bool { return t.n >= len(t.slots)*3/4 }

// add counts an image for an n-gram and returns its slot.
func (t *table) add(key uint64, image uint32) uint32 {
	mask := uint64(len(t.slots) - 1)
	i := t.home(key)
	for {
		s := &t.slots[i&mask]
		if s.count == 0 {
			*s = slot{key, 1, image}
			t.n++
			return uint32(i & mask)
		}
		if s.key == key {
			if s.last != image {
				s.last = image
				s.count++
			}
			return uint32(i & mask)
		}
		i++
	}
}

func (t *table) find(key uint64) (uint32, bool) {
	mask := uint64(len(t.slots) - 1)
	for i := t.home(key) & mask; t.slots[i].count != 0; i = (i + 1) & mask {
		if t.slots[i].key == key {
			return uint32(i), true
		}
	}
	return 0, false
}

// grow doubles the table and renames the n-grams that starts have reached.
func (t *table) grow(reached []start) {
	old := t.slots
	t.slots = make([]slot, 2*len(old))
	t.shift--
	mask := uint64(len(t.slots) - 1)
	moved := make([]uint32, len(old))
	for from, s := range old {
		if s.count == 0 {
			continue
		}
		i := t.home(s.key) & mask
		for t.slots[i].count != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = s
		moved[from] = uint32(i)
	}
	for k := range reached {
		if reached[k].image != 0 {
			reached[k].gram = moved[reached[k].gram]
		}
	}
}
