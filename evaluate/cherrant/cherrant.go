// Package cherrant finds the edits that turn a Chinese sentence into its
// correction, as ChERRANT does at character level (HillZhang1999/MuCGEC, commit
// 3922193, parallel_to_m2), and writes them as blocks of an M2 file.
//
// Both sentences are aligned at least cost, where a character is the cheaper to
// replace the nearer the other is: in class of meaning (the thesaurus Cilin), in
// sound (pinyin) or as one that writers confuse. Neighbouring steps are merged
// to edits: M misses, R is redundant, S is replaced, W is out of order. Where
// several alignments are cheapest, each different list of edits is kept.
//
// Pinyin and the table of simplified characters are part of the package;
// thesaurus and confusions are read from the tool's folder data, see [Load]. A
// [Finder] is safe for concurrent use.
package cherrant

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"espalier/evaluate/pytext"
)

// A Type is what an edit does.
type Type byte

// Types of edits.
const (
	Missing   Type = 'M'
	Redundant Type = 'R'
	Replaced  Type = 'S'
	Order     Type = 'W'
)

// An Edit puts Text, pieces with blanks between, where the source has its
// pieces from From to To.
type Edit struct {
	Type     Type
	From, To int
	Text     string
}

// Options are the variants.
type Options struct {
	First       bool // of several cheapest alignments only the first (-s first)
	Traditional bool // corrections are not put into simplified characters (--no_simplified)
	Words       bool // pieces are those of the vocabulary in Tables (--bpe)
}

// mostSteps bounds the alignments of one pair that are looked at, and
// mostCells the table of their costs. The tool has no bounds: it takes forever
// where there are many alignments.
const (
	mostSteps = 1 << 23
	mostCells = 1 << 22
)

// ErrLong is returned for texts whose alignment would take too much memory.
var ErrLong = errors.New("cherrant: the text is too long for one sentence")

// A Finder finds edits.
type Finder struct {
	Options
	Tables *Tables
}

// Check reports options that the tables do not allow.
func (f *Finder) Check() error {
	if f.Words && !f.Tables.HasVocabulary() {
		return fmt.Errorf("cherrant: pieces of words need %s among the tables", vocabularyFile)
	}
	return nil
}

// String says what finds edits: the options, and the tables that costs look at.
func (f *Finder) String() string {
	strategy := "all"
	if f.First {
		strategy = "first"
	}
	pieces := "char"
	if f.Words {
		pieces = "char-bpe"
	}
	return fmt.Sprintf("edits:%s|tables:%s|strategy:%s|simplified:%t", pieces, strings.Join(f.Tables.Names(), "+"), strategy, !f.Traditional)
}

// What annotators write in the place of a correction.
const (
	noErrors   = "没有错误"
	impossible = "无法标注"
)

// Source cuts a sentence into pieces.
func (f *Finder) Source(text string) []string { return f.cut(squeeze(text)) }

// Target cuts a correction into pieces, in simplified characters.
func (f *Finder) Target(text string) []string {
	text = squeeze(text)
	if !f.Traditional {
		text = Simplify(text)
	}
	return f.cut(text)
}

// squeeze takes out all white space.
func squeeze(text string) string { return strings.Join(pytext.Fields(text), "") }

// missingPart is one piece, though it has six characters.
const missingPart = "[缺失成分]"

func (f *Finder) cut(text string) []string {
	var out []string
	if f.Words {
		out = f.Tables.vocabulary.cut(text)
	} else {
		out = make([]string, 0, utf8.RuneCountInString(text))
		for _, r := range text {
			out = append(out, string(r))
		}
	}
	if !strings.Contains(text, missingPart) {
		return out
	}
	return strings.Split(strings.ReplaceAll(strings.Join(out, " "), "[ 缺 失 成 分 ]", missingPart), " ")
}

// Edits returns the lists of edits of a source's and a target's pieces, and
// whether there are so many cheapest alignments that not all were looked at.
func (f *Finder) Edits(src, dst []string) (lists [][]Edit, cut bool, err error) {
	if (len(src)+1)*(len(dst)+1) > mostCells {
		return nil, false, ErrLong
	}
	a := f.align(src, dst)
	seen := make(map[string]bool)
	var key []byte
	a.each(f.First, func(steps []step) {
		merged := merge(steps, src, dst)
		key = key[:0]
		for _, s := range merged {
			for _, v := range []int{int(s.op), s.length, s.from, s.to, s.dstFrom, s.dstTo} {
				key = append(strconv.AppendInt(key, int64(v), 10), ' ')
			}
		}
		if seen[string(key)] {
			return
		}
		seen[string(key)] = true
		edits := make([]Edit, 0, len(merged))
		for _, s := range merged {
			edits = append(edits, s.edit(dst))
		}
		lists = append(lists, edits)
	})
	return lists, a.left <= 0, nil
}

// edit is a step as an edit.
func (s *step) edit(dst []string) Edit {
	e := Edit{From: s.from, To: s.to, Text: strings.Join(dst[s.dstFrom:s.dstTo], " ")}
	switch s.op {
	case opOrder:
		e.Type = Order
	case opDelete:
		e.Type, e.Text = Redundant, nothing
	case opInsert:
		e.Type = Missing
	default:
		e.Type = Replaced
	}
	return e
}

// nothing is the correction of an edit that has none.
const nothing = "-NONE-"

// AppendBlock appends the block of an M2 file that a sentence and its
// corrections give, one annotator each. It tells whether alignments were left
// out.
func (f *Finder) AppendBlock(b []byte, source string, targets []string) (_ []byte, cut bool, err error) {
	src := f.Source(source)
	b = append(append(append(b, "S "...), strings.Join(src, " ")...), '\n')
	plain := strings.Join(src, "")
	for k, target := range targets {
		dst := f.Target(target)
		head, tail := "T"+strconv.Itoa(k), "|||REQUIRED|||-NONE-|||"+strconv.Itoa(k)+"\n"
		switch text := strings.Join(dst, ""); text {
		case plain, noErrors:
			b = append(append(b, head+" "+noErrors+"\nA -1 -1|||noop|||"+nothing...), tail...)
			continue
		case impossible:
			b = append(append(b, head+" "+impossible+"\nA -1 -1|||NA|||"+nothing...), tail...)
			continue
		}
		lists, more, err := f.Edits(src, dst)
		if err != nil {
			return nil, false, err
		}
		cut = cut || more
		for n, list := range lists {
			b = append(b, head+"-A"+strconv.Itoa(n)+" "+strings.Join(dst, " ")+"\n"...)
			for _, e := range list {
				b = append(b, "A "+strconv.Itoa(e.From)+" "+strconv.Itoa(e.To)+"|||"+string(e.Type)+"|||"...)
				b = append(append(b, e.Text...), tail...)
			}
		}
	}
	return b, cut, nil
}
