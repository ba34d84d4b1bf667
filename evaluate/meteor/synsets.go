package meteor

import (
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"espalier/pipeline"
)

// synsets are a dictionary: lines two by two, a word and the numbers of its
// synsets. The text stays as it is; a hash table with open addressing tells
// where words are.
type synsets struct {
	text  []byte
	slots []uint32 // places plus one
	shift uint
}

func readSynsets(tables fs.FS, dir string) (*synsets, error) {
	text, err := fs.ReadFile(tables, synsetFile)
	if err != nil {
		return nil, &pipeline.RefusedError{File: filepath.Join(dir, synsetFile), Offset: -1, Reason: "METEOR's table is missing"}
	}
	if len(text) > math.MaxInt32 {
		return nil, &pipeline.RefusedError{File: filepath.Join(dir, synsetFile), Offset: -1, Reason: "more than 2 GB"}
	}
	s := &synsets{text: lineFeeds(text)}
	if line, err := s.index(); err != nil {
		return nil, &pipeline.RefusedError{File: filepath.Join(dir, synsetFile), Line: line, Offset: -1, Reason: err.Error()}
	}
	return s, nil
}

// cutLine returns the line at a place, and the next one's place.
func (s *synsets) cutLine(at int) ([]byte, int) {
	if n := bytes.IndexByte(s.text[at:], '\n'); n >= 0 {
		return s.text[at : at+n], at + n + 1
	}
	return s.text[at:], len(s.text)
}

// index makes the table and checks the numbers. Of a word's entries the last
// counts.
func (s *synsets) index() (line int64, err error) {
	n := 1 << 10
	for entries := bytes.Count(s.text, []byte{'\n'})/2 + 1; n < 2*entries; {
		n *= 2
	}
	s.slots, s.shift = make([]uint32, n), shiftOf(uint64(n))
	for at := 0; at < len(s.text); {
		word, next := s.cutLine(at)
		line += 2
		if next == len(s.text) {
			return line - 1, errHalf
		}
		s.slots[s.find(string(word))] = uint32(at + 1)
		numbers, end := s.cutLine(next)
		if !digits(numbers) {
			if _, err := parseSynsets(nil, string(numbers)); err != nil {
				return line, err
			}
		}
		at = end
	}
	return line, nil
}

// digits reports numbers of at most nine digits between single blanks.
func digits(b []byte) bool {
	n := 0
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			if n++; n > 9 {
				return false
			}
		case c == ' ' && n > 0:
			n = 0
		default:
			return false
		}
	}
	return true
}

// find returns a word's slot, a free one if there is no such word.
func (s *synsets) find(word string) int {
	h := uint64(14695981039346656037)
	for i := range len(word) {
		h = (h ^ uint64(word[i])) * 1099511628211
	}
	i := int(h * 0x9E3779B97F4A7C15 >> s.shift)
	for ; s.slots[i] != 0; i = (i + 1) & (len(s.slots) - 1) {
		rest := s.text[s.slots[i]-1:]
		if len(rest) > len(word) && rest[len(word)] == '\n' && string(rest[:len(word)]) == word {
			break
		}
	}
	return i
}

func (s *synsets) has(word string) bool { return s.slots[s.find(word)] != 0 }

// add appends a word's synsets.
func (s *synsets) add(out []int32, word string) []int32 {
	at := s.slots[s.find(word)]
	if at == 0 {
		return out
	}
	numbers, _ := s.cutLine(int(at) - 1 + len(word) + 1)
	out, _ = parseSynsets(out, string(numbers)) // checked when it was read
	return out
}

func parseSynsets(out []int32, numbers string) ([]int32, error) {
	for n := range strings.FieldsSeq(numbers) {
		v, err := strconv.ParseInt(n, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("synset %q is no number", n)
		}
		out = append(out, int32(v))
	}
	return out, nil
}

// suffixes are WordNet's rules for base forms of nouns, verbs and adjectives, in
// their order.
var suffixes = [][2]string{
	{"s", ""},
	{"ses", "s"},
	{"xes", "x"},
	{"zes", "z"},
	{"ches", "ch"},
	{"shes", "sh"},
	{"men", "man"},
	{"ies", "y"},
	{"s", ""},
	{"ies", "y"},
	{"es", "e"},
	{"es", ""},
	{"ed", "e"},
	{"ed", ""},
	{"ing", "e"},
	{"ing", ""},
	{"er", ""},
	{"est", ""},
	{"er", "e"},
	{"est", "e"},
}

// base returns the first base form that the dictionary has, "" if there is none.
// Words of one or two letters and those in ss are their own. For those in ful
// the suffix is looked for before ful and, as in the original, taken from the
// whole word.
func (s *synsets) base(word string) string {
	if strings.HasSuffix(word, "ss") || units(word) <= 2 {
		return word
	}
	stem, ful := strings.CutSuffix(word, "ful")
	for _, x := range suffixes {
		if !strings.HasSuffix(stem, x[0]) {
			continue
		}
		if b := word[:len(word)-len(x[0])] + x[1]; s.has(b) {
			if ful {
				b += "ful"
			}
			return b
		}
	}
	return ""
}

// baseForms returns the synsets of a word's base forms, in order.
func (d *Data) baseForms(word string) []int32 {
	var out []int32
	if bases, ok := d.exceptions[word]; ok {
		for _, b := range bases {
			out = d.synsets.add(out, b)
		}
	} else {
		out = d.synsets.add(out, d.synsets.base(word))
	}
	return ordered(out)
}

// HasSynsets reports that there is a dictionary.
func (d *Data) HasSynsets() bool { return d.synsets != nil }

// Senses returns all synsets of a word, its base forms' too, in order.
func (d *Data) Senses(word string) []int32 {
	return ordered(d.synsets.add(d.baseForms(word), word))
}

func ordered(numbers []int32) []int32 {
	slices.Sort(numbers)
	return slices.Compact(numbers)
}
