package meteor

import (
	"slices"
	"sync"
	"unicode/utf8"

	"espalier/evaluate/snowball"
)

// A Lexicon numbers the words of texts and knows of each what the modules ask.
// Words are added by one goroutine; once it is closed it is read-only.
type Lexicon struct {
	data  *Data
	table *Paraphrases
	ids   map[string]int32
	words []word
	local []int32 // by the table's numbers: the lexicon's, -1 for words that no text has
}

// A word is what the modules look at. Words and stems are compared by their
// hash codes, as in the original: "an" and "c0" are the same word to it.
type word struct {
	text        string
	code, stem  int32
	function    bool
	foreign     bool // not in the table of paraphrases
	inTable     uint32
	senses      []int32
	sensesFound uint64 // a bit for each sense: words without a common bit have no common sense
}

// NewLexicon returns an empty lexicon; the table may be nil.
func NewLexicon(d *Data, table *Paraphrases) *Lexicon {
	return &Lexicon{data: d, table: table, ids: make(map[string]int32)}
}

// Number returns a word's number, a new one if need be.
func (l *Lexicon) Number(w string) int32 {
	id, ok := l.ids[w]
	if !ok {
		id = int32(len(l.words))
		l.ids[w] = id
		l.words = append(l.words, word{text: w, foreign: true})
	}
	return id
}

// Numbers numbers the words of a text.
func (l *Lexicon) Numbers(words []string) []int32 {
	out := make([]int32, len(words))
	for i, w := range words {
		out[i] = l.Number(w)
	}
	return out
}

// Close looks all words up. No word may be added later.
func (l *Lexicon) Close(workers int) {
	var wg sync.WaitGroup
	for k := range workers {
		wg.Go(func() {
			for i := k; i < len(l.words); i += workers {
				l.words[i].look(l.data)
			}
		})
	}
	wg.Wait()
	if l.table == nil {
		return
	}
	l.local = make([]int32, l.table.size)
	i := uint32(0)
	for w := range l.table.vocabulary {
		id, ok := l.ids[string(w)]
		if !ok {
			id = -1
		} else {
			l.words[id].foreign, l.words[id].inTable = false, i
		}
		l.local[i] = id
		i++
	}
}

func (w *word) look(d *Data) {
	w.code, w.stem, w.function = hashCode(w.text), hashCode(snowball.Stem(w.text)), d.function[w.text]
	if !d.HasSynsets() {
		return
	}
	w.senses = d.Senses(w.text)
	for _, s := range w.senses {
		w.sensesFound |= 1 << (uint32(s) * 0x9E3779B1 >> 26)
	}
}

// synonyms reports that two words have a common sense.
func synonyms(a, b *word) bool {
	return a.sensesFound&b.sensesFound != 0 && intersect(a.senses, b.senses)
}

// intersect reports that two ordered lists have a common number.
func intersect(a, b []int32) bool {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			return true
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return false
}

// hashCode is Java's of a string: 31 times the code so far plus the next
// UTF-16 unit, in 32 bits.
func hashCode(s string) int32 {
	h := int32(0)
	for _, r := range s {
		if r > 0xffff {
			r -= 0x10000
			h = 31*h + (0xd800 + r>>10)
			r = 0xdc00 + r&0x3ff
		}
		h = 31*h + r
	}
	return h
}

// units is the number of UTF-16 units of s.
func units(s string) int {
	n := utf8.RuneCountInString(s)
	for _, r := range s {
		if r > 0xffff {
			n++
		}
	}
	return n
}

// same reports texts whose words have the same codes.
func (l *Lexicon) same(a, b []int32) bool {
	return slices.EqualFunc(a, b, func(x, y int32) bool { return x == y || l.words[x].code == l.words[y].code })
}
