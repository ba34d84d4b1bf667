package vqa

import (
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
)

// ResultFields are the source fields of a result.
type ResultFields struct {
	Answer string `parquet:"answer" json:"answer"`
}

// Results reads files of results, lists of answers by question id.
var Results = &records.Records[ResultFields, corpus.None]{
	Corpus: "vqav2", Task: Task, Layout: records.Array{}, KeyField: "question_id",
	Rows:    records.ByMember("question_id"),
	SplitOf: func(*corpus.Source) string { return "predictions" },
	Decoder: func(*corpus.Source) func(*records.Element, *records.Out[ResultFields, corpus.None]) {
		var (
			id string
			f  ResultFields
		)
		object := records.NewObject(records.Digits("question_id", &id), records.Text("answer", &f.Answer))
		return func(el *records.Element, out *records.Out[ResultFields, corpus.None]) {
			if fault := object.Read(el.Bytes); fault.Bad() {
				out.Dead(fault)
				return
			}
			out.Row(id, f, corpus.None{})
		}
	},
}
