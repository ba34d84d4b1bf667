package cider

import (
	"math/bits"
	"slices"

	"espalier/evaluate/ngram"
)

// gramBytes is about what a table takes for a distinct n-gram.
const gramBytes = 44

// Need returns how many bytes the table of a corpus can take at most, if no two
// n-grams of its references are alike.
func Need(refs [][][]uint32) int64 { return ngrams(refs) * gramBytes }

// ngrams counts the n-grams of all orders.
func ngrams(refs [][][]uint32) int64 {
	n := int64(0)
	for _, image := range refs {
		for _, r := range image {
			for k := range Order {
				n += int64(max(0, len(r)-k))
			}
		}
	}
	return n
}

// Corpus counts the document frequencies of a corpus. If the table could need
// more than limit bytes, a first pass finds the n-grams that two images may
// have in common, and only these are counted: one that a single image has
// weighs as much as one that none has, so no score changes. The result is
// finished. Stop is asked now and then, and ends the counting if it is true.
func Corpus(words *ngram.Words, refs [][][]uint32, limit int64, stop func() bool) *DF {
	d := NewDF(words)
	var common *sketch
	if Need(refs) > limit {
		common = newSketch(ngrams(refs))
		for i, r := range refs {
			if i%4096 == 0 && stop() {
				return d
			}
			common.add(r)
		}
	}
	for i, r := range refs {
		if i%4096 == 0 && stop() {
			return d
		}
		if common == nil {
			d.AddImage(r)
		} else {
			d.addCommon(r, common)
		}
	}
	d.Finish()
	return d
}

// A sketch remembers, in a few bits each, which n-grams two images may share.
// It never forgets one that they do.
type sketch struct {
	once, twice []uint64 // bits
	shift       int
	image       []uint64 // hashes of the present image's n-grams
}

// newSketch has eight bits an n-gram, so that few stand for others.
func newSketch(grams int64) *sketch {
	width := max(6, bits.Len64(uint64(grams)*8-1))
	return &sketch{once: make([]uint64, 1<<(width-6)), twice: make([]uint64, 1<<(width-6)), shift: 64 - width}
}

// extend returns the hash of an n-gram from that of its first words.
func extend(h uint64, word uint32) uint64 {
	h = (h ^ uint64(word) + 1) * 0x9e3779b97f4a7c15
	h ^= h >> 32
	return h * 0xd6e8feb86659fd93
}

func (s *sketch) add(refs [][]uint32) {
	s.image = s.image[:0]
	for _, r := range refs {
		for i := range r {
			h := uint64(0)
			for k := 0; k < Order && i+k < len(r); k++ {
				h = extend(h, r[i+k])
				s.image = append(s.image, h>>s.shift)
			}
		}
	}
	slices.Sort(s.image)
	for _, h := range slices.Compact(s.image) {
		word, bit := h>>6, uint64(1)<<(h&63)
		if s.once[word]&bit != 0 {
			s.twice[word] |= bit
		}
		s.once[word] |= bit
	}
}

func (s *sketch) common(h uint64) bool {
	h >>= s.shift
	return s.twice[h>>6]>>(h&63)&1 == 1
}

// addCommon is AddImage for the n-grams that images may share. A longer one is
// shared only if its first words are.
func (d *DF) addCommon(refs [][]uint32, s *sketch) {
	d.images++
	mark := uint32(d.images)
	for _, r := range refs {
		for i := range r {
			h, prefix := uint64(0), uint32(0)
			for k := 0; k < Order && i+k < len(r); k++ {
				if h = extend(h, r[i+k]); !s.common(h) {
					break
				}
				prefix = d.add(k, prefix, r[i+k], 1, mark)
			}
		}
	}
	d.logN = 0
}
