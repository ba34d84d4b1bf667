package cherrant

import (
	"strings"
	"unicode/utf8"
)

// marksInOrder are the marks that do not make a change of order with another
// piece.
const marksInOrder = asciiMarks + "！？｡＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃》「」『』【】〔〕〖〗〘〙〚〛〜〝〞〟–—‘'‛“”„‟…‧."

// merge makes edits of the steps of an alignment.
func merge(steps []step, src, dst []string) []step {
	var runs []step
	for i := 0; i < len(steps); {
		k := i + 1
		for k < len(steps) && kind(steps[k]) == kind(steps[i]) {
			k++
		}
		runs = appendRun(runs, steps[i:k])
		i = k
	}
	var out []step
	for _, s := range moves(runs, src, dst) {
		if span(src, s.from, s.to) != span(dst, s.dstFrom, s.dstTo) {
			out = append(out, trim(s, src, dst))
		}
	}
	return out
}

// kind tells matches, changes of order and the rest.
func kind(s step) byte {
	if s.op == opMatch || s.op == opOrder {
		return s.op
	}
	return 0
}

// appendRun appends steps of one kind that follow each other: changes of order
// as they are, insertions with deletions and nothing else too, any other run as
// one step.
func appendRun(out, run []step) []step {
	if run[0].op == opOrder || len(run) == 1 {
		return append(out, run...)
	}
	var matches, inserts, deletes, replaces bool
	for _, s := range run {
		matches, inserts = matches || s.op == opMatch, inserts || s.op == opInsert
		deletes, replaces = deletes || s.op == opDelete, replaces || s.op == opReplace
	}
	switch {
	case matches:
		return append(out, join(run, opMatch))
	case inserts && deletes && !replaces:
		return append(out, run...)
	case inserts && !replaces:
		return append(out, join(run, opInsert))
	case deletes && !replaces:
		return append(out, join(run, opDelete))
	}
	return append(out, join(run, opReplace))
}

// join is one step from the first's begin to the last's end.
func join(run []step, op byte) step {
	a, b := run[0], run[len(run)-1]
	s := step{op: op, from: a.from, to: b.to, dstFrom: a.dstFrom, dstTo: b.dstTo}
	if op == opOrder {
		s.length = b.to - a.from
	}
	return s
}

// moves joins what changes places around pieces that stay: two replacements
// that swap their texts, a deletion and the insertion of the same. Matches are
// left out.
func moves(runs []step, src, dst []string) []step {
	var out []step
	for i := 0; i < len(runs); {
		if i < len(runs)-2 {
			a, b, c := runs[i], runs[i+1], runs[i+2]
			tried, moved := false, false
			switch {
			case a.op == opReplace && b.op == opMatch && c.op == opReplace:
				tried, moved = true, swapped(span(src, a.from, a.to), span(dst, a.dstFrom, a.dstTo), span(src, c.from, c.to), span(dst, c.dstFrom, c.dstTo))
			case a.op == opDelete && (b.op == opMatch || b.op == opOrder) && c.op == opInsert:
				tried, moved = true, alike(span(src, a.from, a.to), span(dst, c.dstFrom, c.dstTo))
			case a.op == opInsert && (b.op == opMatch || b.op == opOrder) && c.op == opDelete:
				tried, moved = true, alike(span(src, c.from, c.to), span(dst, a.dstFrom, a.dstTo))
			}
			if moved {
				out = append(out, join(runs[i:i+3], opOrder))
				i += 3
				continue
			}
			if tried {
				out = append(out, a)
				i++
				continue
			}
		}
		if runs[i].op != opMatch {
			out = append(out, runs[i])
		}
		i++
	}
	return out
}

func span(pieces []string, from, to int) string { return strings.Join(pieces[from:to], "") }

// swapped reports that the first text's replacement is the second text and the
// other way round, one error aside where no text is a single character.
func swapped(one, byOne, two, byTwo string) bool {
	if min(length(one), length(byOne), length(two), length(byTwo)) == 1 {
		return one == byTwo && byOne == two
	}
	return distance(one, byTwo) <= 1 && distance(byOne, two) <= 1
}

// alike reports that a deleted text is inserted again, one error aside where
// neither is a single character, or turned round.
func alike(deleted, inserted string) bool {
	a, b := deleted, inserted
	if length(a) < length(b) {
		a, b = b, a
	}
	switch {
	case strings.Contains(marksInOrder, a), strings.Contains(marksInOrder, b), length(a)-length(b) > 1:
		return false
	case length(b) == 1:
		return a == b
	}
	return distance(a, b) <= 1 || length(a) == length(b) && strings.Contains(a+a, b)
}

func length(s string) int { return utf8.RuneCountInString(s) }

// distance is Levenshtein's.
func distance(s, t string) int {
	a, b := []rune(s), []rune(t)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		before := row[0]
		row[0] = i + 1
		for j, y := range b {
			d := before
			if x != y {
				d = 1 + min(before, row[j], row[j+1])
			}
			before, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}

// trim takes what a replacement leaves as it is off its ends.
func trim(s step, src, dst []string) step {
	if s.op != opReplace {
		return s
	}
	t := s
	text := span(dst, s.dstFrom, s.dstTo)
	common := ""
	for i := s.from; i < s.to && strings.HasPrefix(text, common+src[i]); i++ {
		common += src[i]
		t.from = i + 1
	}
	if k, ok := covers(dst, s.dstFrom, s.dstTo, common, 1); ok {
		t.dstFrom = k
	} else {
		t.from = s.from
	}
	common = ""
	for i := s.to - 1; i >= t.from && strings.HasSuffix(text, src[i]+common); i-- {
		common = src[i] + common
		t.to = i
	}
	if k, ok := covers(dst, s.dstTo, t.dstFrom, common, -1); ok {
		t.dstTo = k
	} else {
		t.to = s.to
	}
	switch {
	case t.from == t.to:
		t.op = opInsert
	case t.dstFrom == t.dstTo:
		t.op = opDelete
	}
	return t
}

// covers returns where pieces end that have the text together, going up or
// down from a border to another. An empty text has none.
func covers(pieces []string, from, to int, text string, by int) (int, bool) {
	if text == "" {
		return from, false
	}
	n := 0
	for i := from; i != to; i += by {
		if by > 0 {
			n += len(pieces[i])
		} else {
			n += len(pieces[i-1])
		}
		if n >= len(text) {
			return i + by, n == len(text)
		}
	}
	return from, false
}
