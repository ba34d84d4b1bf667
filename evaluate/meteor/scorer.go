package meteor

import (
	"slices"

	"espalier/evaluate/numeric"
)

// A Scorer compares texts of a lexicon that is closed.
type Scorer struct {
	lex      *Lexicon
	hyp, ref side
	lists    lists
	found    []match // in the order in which the modules find them
	stems    []match
	senses   []match
	chosen   []match // the best alignment, in any order
	chunks   int     // in it
	search   search
	powers   map[float64]float64
}

// NewScorer returns a scorer.
func NewScorer(l *Lexicon) *Scorer {
	s := &Scorer{lex: l, powers: make(map[float64]float64)}
	n := len(l.words)
	s.hyp.first, s.ref.first = make([]int32, n), make([]int32, n)
	if l.table != nil {
		s.lists = lists{lex: l, of: make([]int32, l.table.nodes)}
	}
	return s
}

// A side is one of two texts.
type side struct {
	words    []int32
	function int
	first    []int32 // by word: the place of its first occurrence plus one, 0 for none
	next     []int32 // by place: the place of the word's next occurrence plus one
	spans    []span  // phrases that have paraphrases
	searched bool    // for spans
}

// A span is a phrase of a text that the table has.
type span struct {
	at, n int
	list  int32 // of paraphrases
}

func (s *Scorer) set(d *side, words []int32) {
	for _, w := range d.words {
		d.first[w] = 0
	}
	d.words, d.function, d.searched = words, 0, false
	d.next = slices.Grow(d.next[:0], len(words))[:len(words)]
	for i := len(words) - 1; i >= 0; i-- {
		w := words[i]
		d.next[i] = d.first[w]
		d.first[w] = int32(i + 1)
		if s.lex.words[w].function {
			d.function++
		}
	}
}

// Hypothesis sets the text that Count compares references with.
func (s *Scorer) Hypothesis(words []int32) { s.set(&s.hyp, words) }

// Count compares the hypothesis and a reference.
func (s *Scorer) Count(ref []int32) Stats {
	s.set(&s.ref, ref)
	st := Stats{Hyp: float64(len(s.hyp.words)), Ref: float64(len(ref)), HypFunction: float64(s.hyp.function), RefFunction: float64(s.ref.function)}
	s.find()
	s.chosen, s.chunks = s.search.align(s.found, len(s.hyp.words), len(ref), s.chosen[:0])
	st.Chunks = float64(s.chunks)
	words := s.lex.words
	for i := range s.chosen {
		m := &s.chosen[i]
		for _, w := range s.hyp.words[m.hyp : m.hyp+m.hypLen] {
			if words[w].function {
				st.HypFunc[m.module]++
			} else {
				st.HypContent[m.module]++
			}
		}
		for _, w := range ref[m.ref : m.ref+m.refLen] {
			if words[w].function {
				st.RefFunc[m.module]++
			} else {
				st.RefContent[m.module]++
			}
		}
		st.HypMatches += float64(m.hypLen)
		st.RefMatches += float64(m.refLen)
	}
	return st
}

// Score is the function Score, which it computes faster for many rows.
func (s *Scorer) Score(row []float64) float64 {
	return score(row, func(frag float64) float64 {
		v, ok := s.powers[frag]
		if !ok {
			v = numeric.Pow(frag, beta)
			s.powers[frag] = v
		}
		return v
	})
}

// find lists all matches. Those that begin at the same word of the reference
// are in the order of the modules.
func (s *Scorer) find() {
	s.found = s.found[:0]
	words, hyp, ref := s.lex.words, s.hyp.words, s.ref.words
	same := s.lex.same(hyp, ref)
	for j, r := range ref {
		rw := &words[r]
		s.stems, s.senses = s.stems[:0], s.senses[:0]
		for i, h := range hyp {
			hw := &words[h]
			if hw.code == rw.code {
				s.found = append(s.found, match{i, 1, j, 1, exact})
				continue
			}
			if same {
				continue // only exact ones are looked for
			}
			if hw.stem == rw.stem {
				s.stems = append(s.stems, match{i, 1, j, 1, stem})
			}
			if synonyms(hw, rw) {
				s.senses = append(s.senses, match{i, 1, j, 1, synonym})
			}
		}
		s.found = append(append(s.found, s.stems...), s.senses...)
	}
	if same || s.lex.table == nil {
		return
	}
	for _, sp := range s.spans(&s.ref) {
		s.paraphrases(sp, &s.hyp, true)
	}
	for _, sp := range s.spans(&s.hyp) {
		s.paraphrases(sp, &s.ref, false)
	}
}

// spans returns the phrases of a text that have paraphrases.
func (s *Scorer) spans(d *side) []span {
	if d.searched {
		return d.spans
	}
	d.spans, d.searched = d.spans[:0], true
	for i := range d.words {
		node := uint32(0)
		for k, w := range d.words[i:] {
			w := &s.lex.words[w]
			if w.foreign {
				break
			}
			if node = s.lex.table.child(node, w.inTable); node == 0 {
				break
			}
			if list := s.lists.get(node); list > 0 {
				d.spans = append(d.spans, span{i, k + 1, list})
			}
		}
	}
	return d.spans
}

// paraphrases adds the matches of a phrase. A pair that the table holds both
// ways is added twice, as in the original: it is then no single candidate.
func (s *Scorer) paraphrases(sp span, to *side, turned bool) {
	for list := s.lists.at(sp.list); len(list) > 0; {
		n := int(list[0])
		phrase := list[1 : 1+n]
		list = list[1+n:]
		for at := to.first[phrase[0]]; at != 0; at = to.next[at-1] {
			j := int(at - 1)
			if j+n > len(to.words) || n > 1 && !slices.Equal(phrase, to.words[j:j+n]) {
				continue
			}
			if turned {
				s.found = append(s.found, match{j, n, sp.at, sp.n, paraphrase})
			} else {
				s.found = append(s.found, match{sp.at, sp.n, j, n, paraphrase})
			}
		}
	}
}

// lists are the table's lists of paraphrases whose words texts have, each
// decoded once.
type lists struct {
	lex    *Lexicon
	of     []int32 // by the table's node: 0 unknown, -1 none, else a place in ranges
	ranges [][2]int
	text   []int32 // phrases, each behind its length
}

func (l *lists) at(list int32) []int32 {
	r := l.ranges[list]
	return l.text[r[0]:r[1]]
}

func (l *lists) get(node uint32) int32 {
	if n := l.of[node]; n != 0 {
		return n
	}
	if len(l.ranges) == 0 {
		l.ranges = append(l.ranges, [2]int{}) // 0 stands for unknown
	}
	from := len(l.text)
	for phrase := range l.lex.table.phrases(node) {
		start := len(l.text)
		l.text = append(l.text, 0)
		for id := range phrase {
			w := l.lex.local[id]
			if w < 0 {
				l.text = l.text[:start]
				break
			}
			l.text = append(l.text, w)
			l.text[start]++
		}
	}
	if len(l.text) == from {
		l.of[node] = -1
	} else {
		l.of[node] = int32(len(l.ranges))
		l.ranges = append(l.ranges, [2]int{from, len(l.text)})
	}
	return l.of[node]
}
