package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// A captionSet is images with five captions each, and one that is to be scored.
type captionSet struct {
	refs [][]string
	hyps []string
}

// captions returns n images, the public ones repeated under new ids if they
// are fewer. The caption to be scored is one of the image's own with every
// fourth word taken from the next image. Without the public files the captions
// are made of a generated lexicon.
func (b *bench) captions(n int) (captionSet, error) {
	base, err := b.publicCaptions()
	if err != nil {
		return captionSet{}, err
	}
	if len(base) == 0 {
		base = madeCaptions(n)
	}
	var s captionSet
	for i := range n {
		s.refs = append(s.refs, base[i%len(base)])
	}
	for i, own := range s.refs {
		s.hyps = append(s.hyps, mixed(own[i%5], s.refs[(i+1)%n][0]))
	}
	return s, nil
}

// mixed is own with every fourth word taken from other.
func mixed(own, other string) string {
	w, o := strings.Fields(own), strings.Fields(other)
	for i := 3; i < len(w) && len(o) > 0; i += 4 {
		w[i] = o[i%len(o)]
	}
	return strings.Join(w, " ")
}

// publicCaptions returns the captions of COCO's and Flickr8k's files, none if
// there are no files.
func (b *bench) publicCaptions() ([][]string, error) {
	var all [][]string
	text, err := os.ReadFile(filepath.Join(b.data, "cap-coco-val4800", "captions_val2014.json"))
	if os.IsNotExist(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var coco struct {
		Annotations []struct {
			Image   int `json:"image_id"`
			Caption string
		}
	}
	if err := json.Unmarshal(text, &coco); err != nil {
		return nil, fmt.Errorf("captions_val2014.json: %w", err)
	}
	images := map[int][]string{}
	for _, a := range coco.Annotations {
		images[a.Image] = append(images[a.Image], a.Caption)
	}
	for _, id := range slices.Sorted(maps.Keys(images)) {
		if c := images[id]; len(c) >= 5 {
			all = append(all, c[:5])
		}
	}
	lines, err := readLines(filepath.Join(b.data, "cap-flickr8k", "Flickr8k.token.head.txt"))
	if os.IsNotExist(err) {
		return all, nil
	} else if err != nil {
		return nil, err
	}
	photos := map[string][]string{}
	for _, l := range lines {
		if name, caption, ok := strings.Cut(l, "\t"); ok {
			name, _, _ = strings.Cut(name, "#")
			photos[name] = append(photos[name], caption)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(photos)) {
		if c := photos[name]; len(c) >= 5 {
			all = append(all, c[:5])
		}
	}
	return all, nil
}

func readLines(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' || r == '\r' }), err
}

// A lexicon is made-up words of which the first are the most frequent.
type lexicon struct {
	r     *rand.Rand
	words []string
	sums  []float64
}

var syllables = strings.Fields("ba ko ri ten mo sa lu ving er est qua ni dor pla th un ed ing str o")

func newLexicon(seed uint64, n int) *lexicon {
	l := &lexicon{r: rand.New(rand.NewPCG(seed, 0))}
	sum := 0.0
	for i := range n {
		var w strings.Builder
		for range 1 + l.r.IntN(4) {
			w.WriteString(syllables[l.r.IntN(len(syllables))])
		}
		sum += 1 / float64(i+2)
		l.words, l.sums = append(l.words, w.String()), append(l.sums, sum)
	}
	return l
}

// word draws a word, the i-th with a weight of 1/(i+2).
func (l *lexicon) word() string { return l.words[l.index()] }

func (l *lexicon) index() int {
	i, _ := slices.BinarySearchFunc(l.sums, l.r.Float64()*l.sums[len(l.sums)-1], cmp.Compare[float64])
	return min(i, len(l.words)-1)
}

// sentence draws lo to hi words.
func (l *lexicon) sentence(lo, hi int) string {
	var b strings.Builder
	for i := range lo + l.r.IntN(hi-lo+1) {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(l.word())
	}
	return b.String()
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func madeCaptions(n int) [][]string {
	l := newLexicon(5, 20000)
	all := make([][]string, n)
	for i := range all {
		for range 5 {
			all[i] = append(all[i], capital(l.sentence(7, 14))+".")
		}
	}
	return all
}

// writeLines writes lines to a file of the run's folder and returns its path.
func (b *bench) writeLines(name string, lines []string) (string, error) {
	path := filepath.Join(b.work, name)
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	w := bufio.NewWriter(f)
	for _, l := range lines {
		w.WriteString(l)
		w.WriteByte('\n')
	}
	err = w.Flush()
	if e := f.Close(); err == nil {
		err = e
	}
	return path, err
}

// textBytes is how much text the tokenizers get.
const textBytes = 5_000_000

// mixedText returns lines of English captions, reviews, sentence pairs,
// instructions and prose, and 12 % of Chinese news; without the public files, of
// generated words and characters.
func (b *bench) mixedText() ([]string, error) {
	var english, chinese []string
	add := func(texts ...string) {
		for _, l := range strings.FieldsFunc(strings.Join(texts, "\n"), func(r rune) bool { return r == '\n' || r == '\r' }) {
			l = strings.TrimSpace(l)
			switch {
			case l == "" || !utf8.ValidString(l):
			case strings.ContainsFunc(l, func(r rune) bool { return r > 0x4DFF }):
				chinese = append(chinese, l)
			default:
				english = append(english, l)
			}
		}
	}
	images, err := b.publicCaptions()
	if err != nil {
		return nil, err
	}
	for i := len(images) - 1; i >= 0 && i >= len(images)-4400; i-- {
		add(images[i]...)
	}
	for _, f := range []string{"glue-qnli/dev.tsv", "glue-mrpc-raw/msr_paraphrase_train_original.txt", "glue-rte-wnli/RTE/train.tsv"} {
		lines, err := readLines(filepath.Join(b.data, filepath.FromSlash(f)))
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		for _, l := range lines {
			for field := range strings.SplitSeq(l, "\t") {
				if len(field) > 20 {
					add(field)
				}
			}
		}
	}
	for _, f := range []string{"tok-sentencepiece/data/botchan.txt", "alpaca/alpaca_en_demo.json", "zh-text/corpora/CLUECorpusSmall_sampled.head.txt"} {
		path := filepath.Join(b.data, filepath.FromSlash(f))
		lines, err := readLines(path)
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		if strings.HasSuffix(f, ".json") {
			var rows []struct{ Instruction, Output string }
			text, _ := os.ReadFile(path)
			if json.Unmarshal(text, &rows) == nil {
				lines = nil
				for _, r := range rows {
					lines = append(lines, r.Instruction, r.Output)
				}
			}
		}
		add(lines...)
	}
	if len(english) == 0 {
		l := newLexicon(6, 20000)
		for len(english) < 100_000 {
			english = append(english, capital(l.sentence(4, 30))+".")
		}
	}
	if len(chinese) == 0 {
		l := newLexicon(7, 3000)
		for len(chinese) < 10_000 {
			chinese = append(chinese, l.han(10, 60))
		}
	}
	var out []string
	size := 0
	for _, part := range []struct {
		lines []string
		until int
	}{{english, textBytes * 88 / 100}, {chinese, textBytes}} {
		for i := 0; size < part.until; i++ {
			l := part.lines[i%len(part.lines)]
			out = append(out, l)
			size += len(l) + 1
		}
	}
	return out, nil
}

// han draws lo to hi characters, frequent ones more often.
func (l *lexicon) han(lo, hi int) string {
	var b strings.Builder
	for range lo + l.r.IntN(hi-lo+1) {
		b.WriteRune(0x4E00 + rune(l.index()*7919%3000))
	}
	return b.String()
}
