// Package zhtext reads small Chinese sets in plain layouts: labelled reviews
// (book_review, chnsenticorp), sentences with their translation
// (news-commentary), and abstracts whose sentences are labelled for a summary
// (zh-summ).
package zhtext

import (
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/rawjson"
)

// ReviewFields are the source fields of a review.
type ReviewFields struct {
	Text string `parquet:"text_a" json:"text_a"`
}

// Reviews reads a set of reviews: a line with a label, 0 or 1, and a text.
func Reviews(name string) *records.Records[ReviewFields, corpus.None] {
	return &records.Records[ReviewFields, corpus.None]{
		Corpus: name, Task: name, Layout: records.TSV{Columns: []string{"label", "text_a"}, Header: true},
		Decoder: func(*corpus.Source) func(*records.Element, *records.Out[ReviewFields, corpus.None]) {
			return func(el *records.Element, out *records.Out[ReviewFields, corpus.None]) {
				label := string(el.Column("label"))
				class, fault := records.Class(records.Fault{}, "label", &label, "0", "1")
				if fault.Bad() {
					out.Dead(fault)
					return
				}
				r := out.Row("", ReviewFields{string(el.Column("text_a"))}, corpus.None{})
				r.Label, r.LabelID = &label, &class
			}
		},
	}
}

// PairFields are the source fields of a translation.
type PairFields struct {
	EN string `parquet:"en" json:"en"`
	ZH string `parquet:"zh" json:"zh"`
}

// News reads News Commentary: a line an English and a Chinese sentence.
var News = &records.Records[PairFields, corpus.None]{
	Corpus: "news-commentary", Task: "en-zh", Layout: records.TSV{Columns: []string{"en", "zh"}},
	Decoder: func(*corpus.Source) func(*records.Element, *records.Out[PairFields, corpus.None]) {
		return func(el *records.Element, out *records.Out[PairFields, corpus.None]) {
			out.Row("", PairFields{string(el.Column("en")), string(el.Column("zh"))}, corpus.None{})
		}
	},
}

// SentencesFields are the source fields of an abstract.
type SentencesFields struct {
	Text []string `parquet:"text,list" json:"text"`
}

// SentencesMeta tells which sentences belong to the summary.
type SentencesMeta struct {
	Label []int64 `parquet:"label,list" json:"label"`
}

// Sentences reads abstracts, JSON lines.
var Sentences = &records.Records[SentencesFields, SentencesMeta]{
	Corpus: "zh-summ", Task: "zh-summ", Layout: records.JSON{},
	Decoder: func(*corpus.Source) func(*records.Element, *records.Out[SentencesFields, SentencesMeta]) {
		var (
			f      SentencesFields
			labels []byte
			p      rawjson.Parser
		)
		object := records.NewObject(records.Texts("text", &f.Text), records.Value("label", &labels))
		return func(el *records.Element, out *records.Out[SentencesFields, SentencesMeta]) {
			fault := object.Read(el.Bytes)
			var m SentencesMeta
			for raw := range records.Items(&p, labels) {
				n, ok := rawjson.Integer(raw)
				if !ok && !fault.Bad() {
					fault = records.Fault{Field: "label", Reason: records.NoInteger}
				}
				m.Label = append(m.Label, n)
			}
			if !fault.Bad() && len(m.Label) != len(f.Text) {
				fault = records.Fault{Field: "label", Reason: "not one for each sentence"}
			}
			if fault.Bad() {
				out.Dead(fault)
				return
			}
			out.Row("", f, m)
		}
	},
}
