// Package pltrdy is ROUGE as the Python package rouge 1.0.1 (of pltrdy)
// computes it, which most Chinese work uses on texts whose characters are
// separated by blanks.
//
// Texts are cut into sentences at every ASCII period and into words at blanks;
// case counts. By default n-grams and words are sets, so that repetition is
// ignored; Lists counts them. F is 2PR/(P+R+1e-8): identical texts score
// .999999995. A [Scorer] may not be used by two goroutines at once.
package pltrdy

import (
	"errors"
	"strings"

	"espalier/evaluate/ngram"
	"espalier/evaluate/pytext"
)

// ErrEmpty says that a text has no piece between periods: the package raises.
var ErrEmpty = errors.New("rouge: nothing between the periods")

// A Score is precision, recall and F, each in [0, 1].
type Score struct{ P, R, F float64 }

func score(overlap, hyp, ref int) Score {
	var s Score
	if hyp > 0 {
		s.P = float64(overlap) / float64(hyp)
	}
	if ref > 0 {
		s.R = float64(overlap) / float64(ref)
	}
	s.F = 2 * (float64(s.P*s.R) / (s.P + s.R + 1e-8))
	return s
}

// A Scorer scores pairs of texts.
type Scorer struct {
	// Lists counts repeated n-grams instead of treating them as sets.
	Lists bool

	words ngram.Words
	table []int32
}

// A Text is a text that was cut.
type Text struct {
	sentences [][]uint32
	words     []uint32
}

// Cut prepares a text. A text of nothing but periods, or empty, is ErrEmpty.
func (s *Scorer) Cut(text string) (*Text, error) {
	if s.words.Len() > 1<<20 {
		s.words = ngram.Words{}
	}
	t := &Text{}
	for _, piece := range strings.Split(text, ".") {
		if piece == "" {
			continue
		}
		// Splitting a blank piece at blanks gives one empty word.
		ids := s.words.Cut(nil, strings.Join(pytext.Fields(piece), " "))
		t.sentences = append(t.sentences, ids)
		t.words = append(t.words, ids...)
	}
	if len(t.sentences) == 0 {
		return nil, ErrEmpty
	}
	return t, nil
}

// bag counts the n-grams of a list of words.
func (s *Scorer) bag(words []uint32, n int) map[string]int {
	out := make(map[string]int)
	key := make([]byte, 0, 4*n)
	for i := 0; i+n <= len(words); i++ {
		key = key[:0]
		for _, w := range words[i : i+n] {
			key = append(key, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
		}
		if s.Lists {
			out[string(key)]++
		} else {
			out[string(key)] = 1
		}
	}
	return out
}

func size(bag map[string]int) int {
	n := 0
	for _, c := range bag {
		n += c
	}
	return n
}

// N returns ROUGE-n; n-grams cross the borders of sentences.
func (s *Scorer) N(hyp, ref *Text, n int) Score {
	h, r := s.bag(hyp.words, n), s.bag(ref.words, n)
	overlap := 0
	for k, c := range h {
		overlap += min(c, r[k])
	}
	return score(overlap, size(h), size(r))
}

// L returns the summary-level ROUGE-L: for every sentence of the reference the
// words of its longest common subsequences with all sentences of the
// hypothesis are united with those of the sentences before; new ones count.
func (s *Scorer) L(hyp, ref *Text) Score {
	h, r := size(s.bag(hyp.words, 1)), size(s.bag(ref.words, 1))
	union := make(map[uint32]int)
	total := 0
	for _, rs := range ref.sentences {
		before := count(union)
		for _, hs := range hyp.sentences {
			s.unite(union, rs, hs)
		}
		total += count(union) - before
	}
	return score(total, h, r)
}

func count(bag map[uint32]int) int {
	n := 0
	for _, c := range bag {
		n += c
	}
	return n
}

// unite adds the words of a longest common subsequence: going back through the
// table, a step up in the reference only where that cell is strictly larger.
func (s *Scorer) unite(union map[uint32]int, ref, hyp []uint32) {
	w := len(hyp) + 1
	if need := (len(ref) + 1) * w; cap(s.table) < need {
		s.table = make([]int32, need)
	}
	t := s.table[:(len(ref)+1)*w]
	clear(t[:w])
	for i, x := range ref {
		up, row := t[i*w:(i+1)*w], t[(i+1)*w:(i+2)*w]
		row[0] = 0
		for j, y := range hyp {
			if x == y {
				row[j+1] = up[j] + 1
			} else {
				row[j+1] = max(up[j+1], row[j])
			}
		}
	}
	for i, j := len(ref), len(hyp); i > 0 && j > 0; {
		switch {
		case ref[i-1] == hyp[j-1]:
			if s.Lists {
				union[ref[i-1]]++
			} else {
				union[ref[i-1]] = 1
			}
			i, j = i-1, j-1
		case t[(i-1)*w+j] > t[i*w+j-1]:
			i--
		default:
			j--
		}
	}
}

// Characters puts blanks between all characters of a text, white space
// dropped: how Chinese is scored by characters.
func Characters(text string) string {
	var b strings.Builder
	for _, r := range text {
		if pytext.IsSpace(r) {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}
