// Package boolq reads BoolQ as Google published it, before SuperGLUE: JSON lines
// with an answer, true or false, and no split without one.
package boolq

import (
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/corpus/table"
)

// Fields is what BoolQ has.
type Fields struct {
	Question string `parquet:"question" json:"question"`
	Passage  string `parquet:"passage" json:"passage"`
}

// BoolQ has questions that a passage answers with yes or no. Rows are known by
// their number.
func BoolQ() corpus.Format[Fields, corpus.None] {
	return corpus.Standard[Fields, corpus.None](&records.Records[Fields, corpus.None]{
		Corpus: "boolq", Task: "boolq", Layout: records.JSON{},
		Decoder: func(*corpus.Source) func(el *records.Element, out *records.Out[Fields, corpus.None]) {
			classes := table.Classes("False", "True")
			var f Fields
			var answer bool
			object := records.NewObject(records.Text("question", &f.Question), records.Text("passage", &f.Passage), records.Bool("answer", &answer))
			return func(el *records.Element, out *records.Out[Fields, corpus.None]) {
				if fault := object.Read(el.Bytes); fault.Bad() {
					out.Dead(fault)
					return
				}
				class := 0
				if answer {
					class = 1
				}
				label := classes.Class(class)
				r := out.Row("", f, corpus.None{})
				r.Label, r.LabelID = label.Text, label.ID
			}
		},
	}, "")
}
