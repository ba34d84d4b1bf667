// Package paraphrase reads pairs of sentences that may mean the same: PAWS-X, in
// English and Chinese, and the PKU Paraphrase Bank.
package paraphrase

import (
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
)

// PAWSXFields are the source fields of PAWS-X. Ids occur in it more than once, so
// that a row's key is its number.
type PAWSXFields struct {
	ID        string `parquet:"id" json:"id"`
	Sentence1 string `parquet:"sentence1" json:"sentence1"`
	Sentence2 string `parquet:"sentence2" json:"sentence2"`
}

// PAWSX reads the files of PAWS-X of a language, such as zh.
func PAWSX(language string) *records.Records[PAWSXFields, corpus.None] {
	return &records.Records[PAWSXFields, corpus.None]{
		Corpus: "paws-x", Task: "paws-x-" + language,
		Layout: records.TSV{Columns: []string{"id", "sentence1", "sentence2", "label"}, Header: true},
		Decoder: func(*corpus.Source) func(*records.Element, *records.Out[PAWSXFields, corpus.None]) {
			return func(el *records.Element, out *records.Out[PAWSXFields, corpus.None]) {
				label := string(el.Column("label"))
				class, fault := records.Class(records.Fault{}, "label", &label, "0", "1")
				if fault.Bad() {
					out.Dead(fault)
					return
				}
				r := out.Row("", PAWSXFields{string(el.Column("id")), string(el.Column("sentence1")), string(el.Column("sentence2"))}, corpus.None{})
				r.Label, r.LabelID = &label, &class
			}
		},
	}
}

// PKUFields are the source fields of the PKU Paraphrase Bank.
type PKUFields struct {
	Sentence1 string `parquet:"sentence1" json:"sentence1"`
	Sentence2 string `parquet:"sentence2" json:"sentence2"`
}

// PKU reads the PKU Paraphrase Bank: a line two paraphrases, the second of which
// is the reference.
var PKU = &records.Records[PKUFields, corpus.None]{
	Corpus: "pkupb", Task: "pkupb", Layout: records.TSV{Columns: []string{"sentence1", "sentence2"}},
	Decoder: func(*corpus.Source) func(*records.Element, *records.Out[PKUFields, corpus.None]) {
		return func(el *records.Element, out *records.Out[PKUFields, corpus.None]) {
			f := PKUFields{string(el.Column("sentence1")), string(el.Column("sentence2"))}
			switch {
			case f.Sentence1 == "":
				out.Dead(records.Fault{Field: "sentence1", Reason: records.Empty})
			case f.Sentence2 == "":
				out.Dead(records.Fault{Field: "sentence2", Reason: records.Empty})
			default:
				out.Row("", f, corpus.None{}).References = []string{f.Sentence2}
			}
		}
	},
}
