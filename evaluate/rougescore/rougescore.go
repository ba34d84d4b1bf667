// Package rougescore is ROUGE as google's rouge_score 0.1.2 computes it:
// rouge1, rouge2 and so on, rougeL over the whole text, and rougeLsum, the
// summary-level form whose sentences are lines (Lin 2004).
//
// Only ASCII letters and digits count; all else separates words. A [Scorer]
// may not be used by two goroutines at once.
package rougescore

import (
	"strings"

	"espalier/evaluate/lcs"
	"espalier/evaluate/ngram"
	"espalier/evaluate/porter"
	"espalier/evaluate/pytext"
)

// A Score is precision, recall and their F1, each in [0, 1].
type Score struct{ P, R, F float64 }

func score(p, r float64) Score {
	s := Score{P: p, R: r}
	if p+r > 0 {
		s.F = float64(2*p*r) / (p + r)
	}
	return s
}

// Tokens returns the words of a text that count, stemmed if so wanted: stems
// replace words of more than three letters.
func Tokens(text string, stem bool) []string {
	text = pytext.Lower(text)
	var out []string
	for i := 0; i < len(text); {
		j := i
		for j < len(text) && (text[j] >= 'a' && text[j] <= 'z' || text[j] >= '0' && text[j] <= '9') {
			j++
		}
		if j == i {
			i++
			continue
		}
		w := text[i:j]
		if stem && len(w) > 3 {
			w = porter.Stem(w)
		}
		if w != "" {
			out = append(out, w)
		}
		i = j
	}
	return out
}

// A Scorer scores pairs of texts.
type Scorer struct {
	stem  bool
	words ngram.Words
	stems map[string]string
	m     ngram.Matcher
	lcs   lcs.Finder
	table []int32
}

// New returns a scorer, which stems words if so wanted.
func New(stem bool) *Scorer { return &Scorer{stem: stem, stems: make(map[string]string)} }

// A Text is a text that was cut: whole, and by lines.
type Text struct {
	words []uint32
	lines [][]uint32
}

// Cut prepares a text for any number of scores.
func (s *Scorer) Cut(text string) *Text {
	if s.words.Len() > 1<<20 {
		s.words, s.stems = ngram.Words{}, make(map[string]string)
	}
	t := &Text{}
	for _, line := range strings.Split(text, "\n") {
		if line == "" {
			continue
		}
		ids := s.number(line)
		t.lines = append(t.lines, ids)
		t.words = append(t.words, ids...)
	}
	return t
}

func (s *Scorer) number(line string) []uint32 {
	var ids []uint32
	for _, w := range Tokens(line, false) {
		if s.stem && len(w) > 3 {
			st, ok := s.stems[w]
			if !ok {
				st = porter.Stem(w)
				s.stems[strings.Clone(w)] = st
			}
			w = st
		}
		if w != "" {
			ids = append(ids, s.words.Number(w))
		}
	}
	return ids
}

// N returns ROUGE-n: clipped counts of common n-grams.
func (s *Scorer) N(hyp, ref *Text, n int) Score {
	s.m.Hypothesis(hyp.words, n)
	s.m.Reference(ref.words)
	c := float64(s.m.Correct(n - 1))
	return score(c/float64(max(1, s.m.Total(n-1))), c/float64(max(1, len(ref.words)-n+1)))
}

// L returns ROUGE-L: the longest common subsequence of the whole texts.
func (s *Scorer) L(hyp, ref *Text) Score {
	if len(hyp.words) == 0 || len(ref.words) == 0 {
		return Score{}
	}
	l := float64(s.lcs.Length(hyp.words, ref.words))
	return score(l/float64(len(hyp.words)), l/float64(len(ref.words)))
}

// Lsum returns the summary-level ROUGE-L: for each line of the reference, the
// union of its longest common subsequences with all lines of the hypothesis,
// each word counted while both texts have it left.
func (s *Scorer) Lsum(hyp, ref *Text) Score {
	n, m := len(hyp.words), len(ref.words)
	if n == 0 || m == 0 {
		return Score{}
	}
	left, leftRef := make(map[uint32]int), make(map[uint32]int)
	for _, w := range hyp.words {
		left[w]++
	}
	for _, w := range ref.words {
		leftRef[w]++
	}
	hits := 0
	for _, r := range ref.lines {
		in := make([]bool, len(r))
		for _, h := range hyp.lines {
			s.mark(in, r, h)
		}
		for i, w := range r {
			if in[i] && left[w] > 0 && leftRef[w] > 0 {
				hits++
				left[w]--
				leftRef[w]--
			}
		}
	}
	return score(float64(hits)/float64(n), float64(hits)/float64(m))
}

// mark marks the places of ref that a longest common subsequence with hyp
// takes: going back through the table, a step left in hyp only where that cell
// is strictly larger.
func (s *Scorer) mark(in []bool, ref, hyp []uint32) {
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
			in[i-1] = true
			i, j = i-1, j-1
		case t[i*w+j-1] > t[(i-1)*w+j]:
			j--
		default:
			i--
		}
	}
}
