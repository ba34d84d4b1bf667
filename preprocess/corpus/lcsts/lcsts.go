// Package lcsts reads LCSTS, short texts with their summaries: PART_I.txt,
// PART_II.txt and PART_III.txt, documents that look like XML and are not - nothing
// in them is escaped. It also reads texts and summaries in CPT's JSON lines, which
// LCSTS and CSL have been given away in.
//
// A row is a document. Its line is that of its first tag. Several lines of one
// block are joined without a separator, their blanks at both ends dropped.
package lcsts

import (
	"bytes"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
)

// Fields are the source fields.
type Fields struct {
	ShortText string `parquet:"short_text" json:"short_text"`
	Summary   string `parquet:"summary" json:"summary"`
}

// Meta is what a document says beside its texts.
type Meta struct {
	HumanLabel *int64 `parquet:"human_label,optional" json:"human_label"` // how well the two go together, 1 to 5
}

// Format reads the three parts. Their names are the splits, unless another label
// is asked for.
var Format = &records.Records[Fields, Meta]{
	Corpus: "lcsts", Task: "lcsts", Layout: Documents{}, KeyField: "id",
	Rows:    func(el *records.Element, row func([]byte)) { row(el.Name) },
	Decoder: decoder,
	SplitOf: func(src *corpus.Source) string {
		base, _, _ := strings.Cut(path.Base(src.Name), ".")
		if strings.HasPrefix(base, "PART_") {
			return base
		}
		return records.SplitOfName(src.Name)
	},
}

func decoder(*corpus.Source) func(*records.Element, *records.Out[Fields, Meta]) {
	return func(el *records.Element, out *records.Out[Fields, Meta]) {
		f, m, fault := document(el.Bytes)
		if fault.Bad() {
			out.Dead(fault)
			return
		}
		out.Row(string(el.Name), f, m).References = []string{f.Summary}
	}
}

// document reads the lines of a document.
func document(b []byte) (f Fields, m Meta, fault records.Fault) {
	texts := map[string]*strings.Builder{}
	open := ""
	for line := range bytes.Lines(b) {
		s := trim(line)
		name, end := tag(s)
		switch {
		case name == "doc" || len(s) == 0:
		case name == "human_label" && open == "":
			n, err := strconv.ParseInt(string(between(s, "<human_label>", "</human_label>")), 10, 64)
			if err != nil {
				return f, m, records.Fault{Field: "human_label", Reason: "number expected"}
			}
			m.HumanLabel = &n
		case open == "" && !end && (name == "summary" || name == "short_text"):
			if texts[name] != nil {
				return f, m, records.Fault{Field: name, Reason: "repeated field"}
			}
			open, texts[name] = name, &strings.Builder{}
		case end && name == open && open != "":
			open = ""
		case open == "":
			return f, m, records.Fault{Reason: "text outside of summary and short_text"}
		default:
			texts[open].Write(s)
		}
	}
	if open != "" {
		return f, m, records.Fault{Field: open, Reason: "block without an end"}
	}
	for _, x := range []struct {
		name string
		v    *string
	}{{"summary", &f.Summary}, {"short_text", &f.ShortText}} {
		switch {
		case texts[x.name] == nil:
			return f, m, records.Fault{Field: x.name, Reason: records.Missing}
		case texts[x.name].Len() == 0:
			return f, m, records.Fault{Field: x.name, Reason: records.Empty}
		}
		if *x.v = texts[x.name].String(); !utf8.ValidString(*x.v) {
			return f, m, records.Fault{Field: x.name, Reason: records.BadUTF8}
		}
	}
	return f, m, records.Fault{}
}

func trim(line []byte) []byte { return bytes.TrimFunc(line, unicode.IsSpace) }

// tag names the tag that a line is or begins with.
func tag(s []byte) (name string, end bool) {
	switch {
	case bytes.HasPrefix(s, []byte("<doc id=")) && bytes.HasSuffix(s, []byte(">")), string(s) == "</doc>":
		return "doc", s[1] == '/'
	case bytes.HasPrefix(s, []byte("<human_label>")):
		return "human_label", false
	case string(s) == "<summary>", string(s) == "<short_text>":
		return string(s[1 : len(s)-1]), false
	case string(s) == "</summary>", string(s) == "</short_text>":
		return string(s[2 : len(s)-1]), true
	}
	return "", false
}

func between(s []byte, from, to string) []byte {
	return bytes.TrimSuffix(bytes.TrimPrefix(s, []byte(from)), []byte(to))
}

// ArticleFields are the source fields of CPT's JSON lines.
type ArticleFields struct {
	Article string `parquet:"article" json:"article"`
}

// Articles reads CPT's JSON lines.
func Articles(name string) *records.Records[ArticleFields, corpus.None] {
	return &records.Records[ArticleFields, corpus.None]{
		Corpus: name, Task: name, Layout: records.JSON{},
		Decoder: func(*corpus.Source) func(*records.Element, *records.Out[ArticleFields, corpus.None]) {
			var (
				f       ArticleFields
				summary string
			)
			object := records.NewObject(records.Filled("article", &f.Article), records.Filled("summarization", &summary))
			return func(el *records.Element, out *records.Out[ArticleFields, corpus.None]) {
				if fault := object.Read(el.Bytes); fault.Bad() {
					out.Dead(fault)
					return
				}
				out.Row("", f, corpus.None{}).References = []string{summary}
			}
		},
	}
}
