package cherrant

import (
	"bufio"
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding/simplifiedchinese"

	"espalier/pipeline"
)

//go:embed tables/pinyin.txt
var pinyinText string

//go:embed tables/t2s.txt
var simpleText string

// What counts as a Chinese character.
const firstHan, lastHan = 0x4e00, 0x9fff

// pinyin has the syllables of each character from U+4E00 on, without tones.
var pinyin = sync.OnceValue(func() [][]uint16 {
	out := make([][]uint16, lastHan+1-firstHan)
	syllable := uint16(0)
	for line := range strings.Lines(pinyinText) {
		_, chars, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		for _, r := range chars {
			out[r-firstHan] = append(out[r-firstHan], syllable)
		}
		syllable++
	}
	return out
})

// sounds returns the numbers of a character's syllables.
func sounds(r rune) []uint16 { return pinyin()[r-firstHan] }

// simple are the tables of simplified characters.
type simple struct {
	first   map[rune]string   // is done before
	then    map[string]string // the longest that fits
	longest int               // of then's names, in characters
}

var simplified = sync.OnceValue(func() *simple {
	s := &simple{first: make(map[rune]string), then: make(map[string]string)}
	part := 0
	for line := range strings.Lines(simpleText) {
		if line[0] == '#' {
			part++
			continue
		}
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if part == 1 {
			r, _ := utf8.DecodeRuneInString(key)
			s.first[r] = value
			continue
		}
		s.then[key] = value
		s.longest = max(s.longest, utf8.RuneCountInString(key))
	}
	return s
})

// Simplify puts traditional characters into simplified ones as OpenCC 1.4.2
// does with its configuration t2s.
func Simplify(text string) string {
	s := simplified()
	if strings.ContainsFunc(text, func(r rune) bool { _, ok := s.first[r]; return ok }) {
		var b strings.Builder
		for _, r := range text {
			if v, ok := s.first[r]; ok {
				b.WriteString(v)
			} else {
				b.WriteRune(r)
			}
		}
		text = b.String()
	}
	var b strings.Builder
	var ends []int
	for i := 0; i < len(text); {
		ends = ends[:0]
		for k := i; k < len(text) && len(ends) < s.longest; {
			_, n := utf8.DecodeRuneInString(text[k:])
			k += n
			ends = append(ends, k)
		}
		end := ends[0]
		value := text[i:end]
		for _, k := range slices.Backward(ends) {
			if v, ok := s.then[text[i:k]]; ok {
				end, value = k, v
				break
			}
		}
		b.WriteString(value)
		i = end
	}
	return b.String()
}

// Names of the tool's files.
const (
	cilinFile      = "cilin.txt"
	confusionFile  = "confusion_dict.txt"
	vocabularyFile = "chinese_vocab.txt"
)

// Tables are what the tool reads from its folder data.
type Tables struct {
	classes    map[string]string      // of meaning, by word
	confusions map[rune]map[rune]bool // characters that are written for another
	vocabulary *vocabulary
}

// Load reads a folder with the tool's tables: cilin.txt (the thesaurus, in GBK
// or UTF-8), confusion_dict.txt and chinese_vocab.txt (BERT's vocabulary). A
// file that is not there is done without, see [Tables.Names]. Without a folder
// there are none.
func Load(dir string) (*Tables, error) {
	t := &Tables{}
	if dir == "" {
		return t, nil
	}
	found := false
	for _, f := range []struct {
		name string
		read func(lines []line) error
	}{{cilinFile, t.readCilin}, {confusionFile, t.readConfusions}, {vocabularyFile, t.readVocabulary}} {
		path := filepath.Join(dir, f.name)
		lines, err := readLines(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		found = true
		if err := f.read(lines); err != nil {
			return nil, err
		}
	}
	if !found {
		return nil, &pipeline.RefusedError{File: dir, Offset: -1, Reason: fmt.Sprintf("the folder has none of %s, %s, %s", cilinFile, confusionFile, vocabularyFile)}
	}
	return t, nil
}

// Names lists the tables that there are.
func (t *Tables) Names() []string {
	names := []string{"pinyin"}
	if t.classes != nil {
		names = append(names, "cilin")
	}
	if t.confusions != nil {
		names = append(names, "confusion")
	}
	return names
}

// HasVocabulary reports that words can be cut, see Options.Words.
func (t *Tables) HasVocabulary() bool { return t.vocabulary != nil }

// A line is one of a file that is read.
type line struct {
	text string
	file string
	n    int64
}

func (l *line) refuse(format string, args ...any) error {
	return &pipeline.RefusedError{File: l.file, Line: l.n, Offset: -1, Reason: fmt.Sprintf(format, args...)}
}

// readLines reads a text in UTF-8 or GBK.
func readLines(path string) ([]line, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(b) {
		if b, err = simplifiedchinese.GBK.NewDecoder().Bytes(b); err != nil || bytes.ContainsRune(b, utf8.RuneError) {
			return nil, &pipeline.RefusedError{File: path, Offset: -1, Reason: "neither UTF-8 nor GBK"}
		}
	}
	var out []line
	s := bufio.NewScanner(bytes.NewReader(b))
	s.Buffer(nil, len(b)+1)
	for s.Scan() {
		out = append(out, line{s.Text(), path, int64(len(out)) + 1})
	}
	return out, s.Err()
}

// readCilin reads lines of a class's code and its words. Of a word's classes
// the last counts.
func (t *Tables) readCilin(lines []line) error {
	t.classes = make(map[string]string)
	for _, l := range lines {
		if strings.TrimSpace(l.text) == "" {
			continue
		}
		words := strings.Split(l.text, " ")
		code := words[0]
		if len(code) < 4 || strings.ContainsFunc(code[:4], func(r rune) bool { return r >= utf8.RuneSelf }) {
			return l.refuse("%.20q is no code, want such as Aa01A01=", code)
		}
		for _, w := range words[1:] {
			t.classes[w] = code[:4]
		}
	}
	return nil
}

// readConfusions reads lines of a character and those that are written for it.
func (t *Tables) readConfusions(lines []line) error {
	t.confusions = make(map[rune]map[rune]bool)
	for _, l := range lines {
		words := strings.Split(l.text, " ")
		key, n := utf8.DecodeRuneInString(words[0])
		if n != len(words[0]) {
			continue // of words, which are no pieces here
		}
		set := make(map[rune]bool)
		for _, w := range words[1:] {
			if r, n := utf8.DecodeRuneInString(w); n == len(w) && n > 0 {
				set[r] = true
			}
		}
		t.confusions[key] = set
	}
	return nil
}

func (t *Tables) readVocabulary(lines []line) error {
	v := &vocabulary{pieces: make(map[string]bool)}
	for _, l := range lines {
		v.pieces[strings.TrimSpace(l.text)] = true
	}
	t.vocabulary = v
	return nil
}
