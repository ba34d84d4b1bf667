// Package snli reads the Stanford Natural Language Inference corpus: its JSON
// lines, and its tab-separated files, which hold the same rows.
package snli

import (
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/corpus/table"
)

// Fields is what SNLI has.
type Fields struct {
	Sentence1 string `parquet:"sentence1" json:"sentence1"`
	Sentence2 string `parquet:"sentence2" json:"sentence2"`
}

// Meta has what the annotators said.
type Meta struct {
	AnnotatorLabels []string `parquet:"annotator_labels,list" json:"annotator_labels"`
}

// NoGold is the label of rows on which the annotators did not agree: they have
// none, and class -1.
const NoGold = "-"

func labels() *table.Labels {
	return table.Classes("entailment", "neutral", "contradiction").Or(NoGold)
}

// SNLI tells whether a caption entails another. The key of a row is its pairID.
func SNLI() corpus.Format[Fields, Meta] {
	lines, columns := lines(), columns()
	return corpus.Standard(corpus.Either(func(src *corpus.Source) (corpus.Format[Fields, Meta], error) {
		if corpus.Ext(src) == ".txt" {
			return columns, nil
		}
		return lines, nil
	}), "")
}

func lines() corpus.Format[Fields, Meta] {
	return &records.Records[Fields, Meta]{
		Corpus: "snli", Task: "snli", Layout: records.JSON{}, Rows: records.ByMember("pairID"), KeyField: "pairID",
		Decoder: func(*corpus.Source) func(el *records.Element, out *records.Out[Fields, Meta]) {
			classes := labels()
			var f Fields
			var m Meta
			var gold, pair string
			object := records.NewObject(records.Text("sentence1", &f.Sentence1), records.Text("sentence2", &f.Sentence2), records.Text("gold_label", &gold),
				records.Filled("pairID", &pair), records.Optional(records.Texts("annotator_labels", &m.AnnotatorLabels)))
			return func(el *records.Element, out *records.Out[Fields, Meta]) {
				fault := object.Read(el.Bytes)
				label, ok := classes.Named(gold)
				if !fault.Bad() && !ok {
					fault = records.Fault{Field: "gold_label", Reason: records.NoLabel}
				}
				if fault.Bad() {
					out.Dead(fault)
					return
				}
				if m.AnnotatorLabels == nil {
					m.AnnotatorLabels = []string{}
				}
				r := out.Row(pair, f, m)
				r.Label, r.LabelID = label.Text, label.ID
			}
		},
	}
}

func columns() corpus.Format[Fields, Meta] {
	return (&table.Table[Fields, Meta]{
		Corpus: "snli", Task: "snli", Text: []string{"sentence1", "sentence2"}, Label: "gold_label", Labels: labels(), Key: "pairID",
		Set:  func(f *Fields, v []string) { f.Sentence1, f.Sentence2 = v[0], v[1] },
		Meta: []string{"label1", "label2", "label3", "label4", "label5"},
		SetMeta: func(m *Meta, v []string) {
			m.AnnotatorLabels = []string{}
			for _, s := range v {
				if s != "" {
					m.AnnotatorLabels = append(m.AnnotatorLabels, s)
				}
			}
		},
	}).Format()
}
