// Package matinf reads MATINF, questions of mothers with descriptions and answers:
// train.csv, dev.csv and test.csv.
//
// A row is a question; its reference is the answer, its label the class of the
// question, which may be empty.
package matinf

import (
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
)

// Fields are the source fields.
type Fields struct {
	Question    string `parquet:"question" json:"question"`
	Description string `parquet:"description" json:"description"`
	Answer      string `parquet:"answer" json:"answer"`
}

// Format reads the files.
var Format = &records.Records[Fields, corpus.None]{
	Corpus: "matinf", Task: "matinf", KeyField: "id",
	Layout: records.CSV{Want: []string{"id", "question", "description", "answer", "class"}},
	Rows:   records.ByColumn("id"),
	Decoder: func(*corpus.Source) func(*records.Element, *records.Out[Fields, corpus.None]) {
		return func(el *records.Element, out *records.Out[Fields, corpus.None]) {
			id := string(el.Column("id"))
			if id == "" {
				out.Dead(records.Fault{Field: "id", Reason: records.Empty})
				return
			}
			f := Fields{string(el.Column("question")), string(el.Column("description")), string(el.Column("answer"))}
			class := string(el.Column("class"))
			r := out.Row(id, f, corpus.None{})
			r.Label, r.References = &class, []string{f.Answer}
		}
	},
}
