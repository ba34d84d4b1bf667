// Package ter is the translation edit rate as sacrebleu 2.6.0 computes it
// (Snover et al. 2006), which follows Tercom: insertions, deletions,
// substitutions and shifts of phrases, found greedily.
//
// A segment's edits are those of the reference that needs fewest; its length is
// the mean of the references'. Both add up. All functions are safe for
// concurrent use.
package ter

import (
	"fmt"
	"math"
	"strings"

	"espalier/evaluate/ngram"
	"espalier/evaluate/pytext"
	"espalier/evaluate/sacrebleu"
)

// Limits of Tercom and of sacrebleu.
const (
	maxShiftSize  = 10
	maxShiftDist  = 50
	beamWidth     = 25
	maxCandidates = 1000
)

// Options are the variants.
type Options struct {
	Normalize bool // separate punctuation
	NoPunct   bool // delete punctuation
	Asian     bool // with the two above: treat Chinese and Japanese characters too
	Case      bool // keep case
}

// Signature says which variant was computed, in sacrebleu's words. Refs is the
// number of references of each segment, -1 if it varies.
func (o *Options) Signature(refs int) string {
	yes := map[bool]string{true: "yes", false: "no"}
	n, c := fmt.Sprint(refs), "lc"
	if refs < 0 {
		n = "var"
	}
	if o.Case {
		c = "mixed"
	}
	return fmt.Sprintf("nrefs:%s|case:%s|tok:tercom|norm:%s|punct:%s|asian:%s|version:%s", n, c, yes[o.Normalize], yes[!o.NoPunct], yes[o.Asian], sacrebleu.Version)
}

// TokenizeReference returns the words of a reference. sacrebleu cuts it, and
// then cuts what came of it, which separates a possessive before a break that
// is no blank.
func (o *Options) TokenizeReference(s string) []string {
	words := o.Tokenize(s)
	if !o.Normalize {
		return words // they stay as they are
	}
	return o.Tokenize(strings.Join(words, " "))
}

// Tokenize returns the words of a hypothesis.
func (o *Options) Tokenize(s string) []string {
	s = pytext.StripRight(s)
	if !o.Case {
		s = pytext.Lower(s)
	}
	if o.Normalize {
		s = o.normalise(s)
	}
	if o.NoPunct {
		s = strings.Map(func(r rune) rune {
			if strings.ContainsRune(".,?:;!\"()", r) || o.Asian && asianPunctuation(r) {
				return -1
			}
			return r
		}, s)
	}
	return pytext.Fields(s)
}

var entities = strings.NewReplacer("\n-", "", "\n", " ")

func (o *Options) normalise(s string) string {
	s = entities.Replace(s)
	for _, e := range [][2]string{{"&quot;", `"`}, {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}} {
		s = strings.ReplaceAll(s, e[0], e[1])
	}
	s = sacrebleu.Symbols(" " + s + " ")
	s = strings.ReplaceAll(s, "'s ", " 's ")
	s = sacrebleu.Points(s)
	if !o.Asian {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if asian(r) || asianPunctuation(r) {
			b.WriteString(" " + string(r) + " ")
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// asian reports characters that stand alone.
func asian(r rune) bool {
	return r >= 0x4e00 && r <= 0x9fff || r >= 0x3400 && r <= 0x4dbf || r >= 0x31c0 && r <= 0x31ef || r >= 0x2e80 && r <= 0x2eff ||
		r >= 0x3300 && r <= 0x33ff || r >= 0xf900 && r <= 0xfaff || r >= 0xfe30 && r <= 0xfe4f || r >= 0x3200 && r <= 0x3f22
}

func asianPunctuation(r rune) bool {
	return r == 0x3001 || r == 0x3002 || r >= 0x3008 && r <= 0x3011 || r >= 0x3014 && r <= 0x301f || r >= 0xff61 && r <= 0xff65 || r == 0x30fb ||
		strings.ContainsRune("\uff0e\uff0c\uff1f\uff1a\uff1b\uff01\uff02\uff08\uff09", r)
}

// Count returns the edits of a segment and the length of its references.
func (o *Options) Count(hyp string, refs []string) (edits int, length float64) {
	var words ngram.Words
	number := func(list []string) []uint32 {
		var ids []uint32
		for _, w := range list {
			ids = append(ids, words.Number(w))
		}
		return ids
	}
	h := number(o.Tokenize(hyp))
	edits = math.MaxInt
	total := 0
	for _, r := range refs {
		ref := number(o.TokenizeReference(r))
		total += len(ref)
		edits = min(edits, Edits(h, ref))
	}
	return edits, float64(total) / float64(len(refs))
}

// Score returns the rate of summed edits and lengths, in percent.
func Score(edits, length float64) float64 {
	switch {
	case length > 0:
		return 100 * (edits / length)
	case edits > 0:
		return 100
	}
	return 0
}

// Edits returns the edits that turn a hypothesis into a reference, both as
// numbers of words. Phrases are shifted as long as that helps.
func Edits(hyp, ref []uint32) int {
	if len(ref) == 0 {
		return len(hyp)
	}
	s := &searcher{ref: ref, width: len(ref) + 1}
	shifts, checked := 0, 0
	for {
		var gain int
		var next []uint32
		gain, next, checked = s.shift(hyp, checked)
		if checked >= maxCandidates || gain <= 0 {
			break
		}
		shifts++
		hyp = next
	}
	d, _ := s.distance(hyp)
	return shifts + d
}
