// Package gec reads corpora of grammatical error correction: M2 files, the test
// set and the training file of NLPCC-2018, MuCGEC, and sources with corrected
// sentences in files beside them.
package gec

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"espalier/pipeline"
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
)

// SourceFields are the source fields of sentences to be corrected.
type SourceFields struct {
	Source string `parquet:"source" json:"source"`
}

// Train reads the training file of NLPCC-2018, a line a learner's sentence: id,
// number of corrections, sentence, corrections. The blanks between words go. The
// number of corrections may be wrong, so the columns count; a sentence without
// one, or with one that says that nothing needs to be changed, is its own.
var Train = &records.Records[SourceFields, corpus.None]{
	Corpus: "nlpcc2018", Task: "nlpcc", Layout: records.Lines{}, KeyField: "id",
	SplitOf: func(*corpus.Source) string { return "train" },
	Rows: func(el *records.Element, row func([]byte)) {
		id, _, ok := bytes.Cut(el.Bytes, []byte{'\t'})
		if !ok {
			id = nil
		}
		row(id)
	},
	Decoder: func(*corpus.Source) func(*records.Element, *records.Out[SourceFields, corpus.None]) { return trainLine },
}

const unchanged = "\u4e0d\u9700\u8981\u4fee\u6539" // nothing needs to be changed

func trainLine(el *records.Element, out *records.Out[SourceFields, corpus.None]) {
	if len(el.Bytes) == 0 {
		out.Skip()
		return
	}
	c := strings.Split(string(el.Bytes), "\t")
	names := []string{"id", "corrections", "source"}
	for i, text := range c {
		if !utf8.ValidString(text) {
			out.Dead(records.Fault{Field: append(names, "corrections")[min(i, 3)], Reason: records.BadUTF8})
			return
		}
	}
	switch {
	case len(c) < len(names):
		out.Dead(records.Fault{Field: names[len(c)], Reason: records.NoColumn})
		return
	case c[0] == "":
		out.Dead(records.Fault{Field: "id", Reason: records.Empty})
		return
	}
	if n, err := strconv.Atoi(c[1]); err != nil || n < 0 {
		out.Dead(records.Fault{Field: "corrections", Reason: "number expected"})
		return
	}
	source := strings.ReplaceAll(c[2], " ", "")
	var refs []string
	for _, x := range c[3:] {
		if x = strings.ReplaceAll(x, " ", ""); strings.Contains(x, unchanged) {
			x = source
		}
		refs = append(refs, x)
	}
	if refs == nil {
		refs = []string{source}
	}
	out.Row(c[0], SourceFields{source}, corpus.None{}).References = refs
}

// MuCGEC reads the files of MuCGEC, a line a sentence: id, sentence, corrections.
var MuCGEC = &records.Records[SourceFields, corpus.None]{
	Corpus: "mucgec", Task: "gec", Layout: records.Lines{}, KeyField: "id",
	Rows: func(el *records.Element, row func([]byte)) {
		id, _, _ := bytes.Cut(el.Bytes, []byte{'\t'})
		row(id)
	},
	Decoder: func(*corpus.Source) func(*records.Element, *records.Out[SourceFields, corpus.None]) {
		return func(el *records.Element, out *records.Out[SourceFields, corpus.None]) {
			c := strings.Split(string(el.Bytes), "\t")
			switch {
			case !utf8.Valid(el.Bytes):
				out.Dead(records.Fault{Field: "source", Reason: records.BadUTF8})
			case c[0] == "":
				out.Dead(records.Fault{Field: "id", Reason: records.Empty})
			case len(c) < 2:
				out.Dead(records.Fault{Field: "source", Reason: records.NoColumn})
			default:
				out.Row(c[0], SourceFields{c[1]}, corpus.None{}).References = c[2:]
			}
		}
	},
}

// Sentences reads sentences to be corrected, a line each.
var Sentences = &records.Records[SourceFields, corpus.None]{
	Corpus: "nlpcc2018", Task: "nlpcc", Layout: records.Lines{}, SplitOf: test,
	Decoder: func(*corpus.Source) func(*records.Element, *records.Out[SourceFields, corpus.None]) {
		return func(el *records.Element, out *records.Out[SourceFields, corpus.None]) {
			if f, ok := source(el, out); ok {
				out.Row("", f, corpus.None{})
			}
		}
	},
}

// test is the split of source.txt.
func test(*corpus.Source) string { return "test" }

// source returns the fields of a line, if it is UTF-8.
func source[M any](el *records.Element, out *records.Out[SourceFields, M]) (SourceFields, bool) {
	if !utf8.Valid(el.Bytes) {
		out.Dead(records.Fault{Field: "source", Reason: records.BadUTF8})
		return SourceFields{}, false
	}
	return SourceFields{string(el.Bytes)}, true
}

// GoldMeta is the block of an M2 file that goes with a sentence.
type GoldMeta struct {
	GoldSentence string   `parquet:"gold_sentence" json:"gold_sentence"` // in words
	GoldEdits    []string `parquet:"gold_edits,list" json:"gold_edits"`  // as they stand
}

// Gold reads the test set of NLPCC-2018: sentences, a line each, to which the
// blocks of an M2 file are joined in their order.
var Gold = &records.Records[SourceFields, GoldMeta]{
	Corpus: "nlpcc2018", Task: "nlpcc", Layout: records.Lines{}, SplitOf: test,
	Joins: func(src *corpus.Source) (int64, error) {
		blocks, err := goldBlocks(src.Joined[0])
		return int64(len(blocks)), err
	},
	Decoder: func(src *corpus.Source) func(*records.Element, *records.Out[SourceFields, GoldMeta]) {
		blocks, _ := goldBlocks(src.Joined[0]) // the plan has refused it if it cannot be read
		return func(el *records.Element, out *records.Out[SourceFields, GoldMeta]) {
			if f, ok := source(el, out); ok && el.Index < int64(len(blocks)) {
				out.Row("", f, blocks[el.Index])
			}
		}
	},
}

// goldBlocks reads the blocks of an M2 file as they stand.
func goldBlocks(src *corpus.Source) (blocks []GoldMeta, _ error) {
	first := true
	err := records.JoinedLines(src, func(line string) {
		switch {
		case line == "":
		case first:
			blocks = append(blocks, GoldMeta{GoldSentence: cut2(line), GoldEdits: []string{}})
		default:
			last := &blocks[len(blocks)-1]
			last.GoldEdits = append(last.GoldEdits, cut2(line))
		}
		first = line == ""
	})
	return blocks, err
}

// cut2 is a line of an M2 file without its first two characters.
func cut2(line string) string { return line[min(2, len(line)):] }

// Parallel reads sentences to be corrected, a line each, to which files of
// corrected sentences are joined line by line.
func Parallel(name string) *records.Records[SourceFields, corpus.None] {
	return &records.Records[SourceFields, corpus.None]{
		Corpus: name, Task: "gec", Layout: records.Lines{},
		Joins: func(src *corpus.Source) (int64, error) {
			lists, err := corrected(src)
			if err != nil {
				return 0, err
			}
			for i, list := range lists {
				if len(list) != len(lists[0]) {
					return 0, &pipeline.RefusedError{File: src.Joined[i].Name, Offset: -1, Reason: fmt.Sprintf("%d lines where %s has %d", len(list), src.Joined[0].Name, len(lists[0]))}
				}
			}
			return int64(len(lists[0])), nil
		},
		Decoder: func(src *corpus.Source) func(*records.Element, *records.Out[SourceFields, corpus.None]) {
			lists, _ := corrected(src)
			return func(el *records.Element, out *records.Out[SourceFields, corpus.None]) {
				f, ok := source(el, out)
				if !ok {
					return
				}
				r := out.Row("", f, corpus.None{})
				for _, list := range lists {
					if el.Index < int64(len(list)) {
						r.References = append(r.References, list[el.Index])
					}
				}
			}
		},
	}
}

// corrected reads the files of corrected sentences.
func corrected(src *corpus.Source) (lists [][]string, _ error) {
	for _, other := range src.Joined {
		list := []string{}
		if err := records.JoinedLines(other, func(line string) { list = append(list, line) }); err != nil {
			return nil, err
		}
		lists = append(lists, list)
	}
	return lists, nil
}
