// Package word is the word vocabulary of caption models: words in order of
// their frequency, as a SentencePiece model of type "word" holds them.
//
// A [Counter] counts running words; [Counter.Vocab] keeps the most frequent. The
// rule equals the trainer of SentencePiece 0.2 with its default character
// coverage of 0.9995 (spec/acort.md 2.1): words that hold a rare character never
// enter, whatever their count; the others are ranked by count, then by code
// point, and cut by rank. There is no threshold on counts, and no error if there
// are fewer words than places.
//
// A [Vocab] is immutable and safe for concurrent use. A Counter is not.
package word

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Ids of the special pieces. Words follow from First.
const (
	Pad   int32 = 0
	Unk   int32 = 1
	BOS   int32 = 2
	EOS   int32 = 3
	First int32 = 4
)

// UnkText is how an unknown word is printed.
const UnkText = "<unk>"

// Coverage is the share of all characters that the characters of a vocabulary
// cover: SentencePiece's default, which the published run keeps.
const Coverage float32 = 0.9995

const wordStart = '\u2581'

var specials = [First]string{"<pad>", UnkText, "<bos>", "<eos>"}

// A Vocab maps words to ids.
type Vocab struct {
	words    []string
	logProbs []float32
	ids      map[string]int32
}

// Size returns the number of ids, the special ones included.
func (v *Vocab) Size() int { return len(v.words) + int(First) }

// Words returns the words in the order of their ids, from First. The caller
// must not change them.
func (v *Vocab) Words() []string { return v.words }

// ID returns the id of a word, Unk if it is not in the vocabulary. The special
// pieces are no words: their texts are unknown, too.
func (v *Vocab) ID(word string) int32 {
	if id, ok := v.ids[word]; ok {
		return id
	}
	return Unk
}

// Word returns the word of an id: UnkText for all ids that have none.
func (v *Vocab) Word(id int32) string {
	if i := int(id - First); i >= 0 && i < len(v.words) {
		return v.words[i]
	}
	return UnkText
}

// LogProb returns the natural logarithm of a word's relative frequency as the
// model holds it, 0 for special ids.
func (v *Vocab) LogProb(id int32) float32 {
	if i := int(id - First); i >= 0 && i < len(v.words) {
		return v.logProbs[i]
	}
	return 0
}

// Append appends the ids of a text's words, which stand between blanks. With
// merge, a run of unknown words gives one id, as SentencePiece does.
func (v *Vocab) Append(ids []int32, text string, merge bool) []int32 {
	from := len(ids)
	for w := range strings.FieldsSeq(text) {
		id := v.ID(w)
		if merge && id == Unk && len(ids) > from && ids[len(ids)-1] == Unk {
			continue
		}
		ids = append(ids, id)
	}
	return ids
}

func build(words []string, logProbs []float32) *Vocab {
	v := &Vocab{words: words, logProbs: logProbs, ids: make(map[string]int32, len(words))}
	for i, w := range words {
		v.ids[w] = First + int32(i)
	}
	return v
}

// A Counter counts the running words of a text.
type Counter struct {
	words map[string]int64
	total int64
}

// Add counts the words of a text, which stand between blanks.
func (c *Counter) Add(text string) {
	if c.words == nil {
		c.words = make(map[string]int64)
	}
	for w := range strings.FieldsSeq(text) {
		if n, ok := c.words[w]; ok {
			c.words[w] = n + 1
		} else {
			c.words[strings.Clone(w)] = 1
		}
		c.total++
	}
}

// Total returns the number of running words.
func (c *Counter) Total() int64 { return c.total }

// Count returns how often a word was met.
func (c *Counter) Count(w string) int64 { return c.words[w] }

// Distinct returns the number of different words.
func (c *Counter) Distinct() int { return len(c.words) }

// Rare returns the characters that are too rare to be covered, with their
// counts. A word's start counts as a character once per running word.
func (c *Counter) Rare() map[rune]int64 {
	counts := map[rune]int64{wordStart: c.total}
	total := c.total
	for w, n := range c.words {
		for _, r := range w {
			counts[r] += n
			total += n
		}
	}
	type char struct {
		r rune
		n int64
	}
	order := make([]char, 0, len(counts))
	for r, n := range counts {
		order = append(order, char{r, n})
	}
	slices.SortFunc(order, func(a, b char) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.r, b.r)) })
	covered := int64(0)
	for _, o := range order {
		if float32(float64(covered)/float64(total)) >= Coverage {
			break
		}
		covered += o.n
		delete(counts, o.r)
	}
	return counts
}

// Vocab returns the vocabulary of at most size ids, the special ones included.
func (c *Counter) Vocab(size int) (*Vocab, error) {
	if size < int(First)+1 {
		return nil, fmt.Errorf("size: %d, want at least %d", size, First+1)
	}
	if c.total == 0 {
		return nil, errors.New("no words to make a vocabulary of")
	}
	rare := c.Rare()
	isRare := func(r rune) bool { _, ok := rare[r]; return ok }
	words := make([]string, 0, len(c.words))
	for w := range c.words {
		if len(rare) == 0 || strings.IndexFunc(w, isRare) < 0 {
			words = append(words, w)
		}
	}
	slices.SortFunc(words, func(a, b string) int {
		return cmp.Or(cmp.Compare(c.words[b], c.words[a]), strings.Compare(a, b)) // bytes of UTF-8 order as code points do
	})
	words = slices.Clone(words[:min(len(words), size-int(First))])
	logProbs := make([]float32, len(words))
	for i, w := range words {
		logProbs[i] = float32(ln(float64(c.words[w]) / float64(c.total)))
	}
	return build(words, logProbs), nil
}

// ln is the natural logarithm to about 1e-15, the same on every machine.
func ln(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		e--
	}
	s := (m - 1) / (m + 1)
	square := s * s
	sum := 0.0
	for k := 25; k >= 1; k -= 2 { // ln m = 2 (s + s^3/3 + s^5/5 + ...)
		sum = float64(sum*square) + 1/float64(k)
	}
	return float64(float64(e)*math.Ln2) + float64(2*s)*sum
}

// Write writes the vocabulary as SentencePiece's file word.vocab: a line an id,
// piece, TAB, log-probability of six digits.
func (v *Vocab) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	for _, s := range specials {
		fmt.Fprintf(b, "%s\t0\n", s)
	}
	for i, word := range v.words {
		fmt.Fprintf(b, "%c%s\t%s\n", wordStart, word, strconv.FormatFloat(float64(v.logProbs[i]), 'g', 6, 64))
	}
	return b.Flush()
}

// Read reads a file word.vocab, a published one too.
func Read(r io.Reader) (*Vocab, error) {
	s := bufio.NewScanner(r)
	var words []string
	var logProbs []float32
	seen := map[string]bool{}
	n := 0
	for ; s.Scan(); n++ {
		piece, score, found := strings.Cut(s.Text(), "\t")
		if !found {
			return nil, fmt.Errorf("line %d: want a piece, TAB and a number", n+1)
		}
		if !utf8.ValidString(piece) {
			return nil, fmt.Errorf("line %d: invalid UTF-8", n+1)
		}
		p, err := strconv.ParseFloat(score, 32)
		if err != nil {
			return nil, fmt.Errorf("line %d: %q is no number", n+1, score)
		}
		if n < len(specials) {
			if piece != specials[n] {
				return nil, fmt.Errorf("line %d: piece %q, want %q", n+1, piece, specials[n])
			}
			continue
		}
		word, ok := strings.CutPrefix(piece, string(wordStart))
		switch {
		case !ok:
			return nil, fmt.Errorf("line %d: piece %q does not begin with U+2581", n+1, piece)
		case word == "" || strings.IndexFunc(word, unicode.IsSpace) >= 0:
			return nil, fmt.Errorf("line %d: piece %q is no word", n+1, piece)
		case seen[word]:
			return nil, fmt.Errorf("line %d: word %q is there twice", n+1, word)
		}
		seen[word] = true
		words = append(words, word)
		logProbs = append(logProbs, float32(p))
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	if n <= len(specials) {
		return nil, fmt.Errorf("%d lines are no vocabulary", n)
	}
	return build(words, logProbs), nil
}
