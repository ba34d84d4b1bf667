// Package gqa reads the questions of GQA: one object of questions by their id,
// as in train_balanced_questions.json.
//
// A row is a question, its image that of Visual Genome. Questions of test and
// challenge have no answer.
package gqa

import (
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
)

// Fields are the source fields.
type Fields struct {
	Question string `parquet:"question" json:"question"`
}

// Meta is what the file says beside the question.
type Meta struct {
	FullAnswer *string `parquet:"fullAnswer,optional" json:"fullAnswer"`
	IsBalanced *bool   `parquet:"isBalanced,optional" json:"isBalanced"`
	Structural *string `parquet:"structural,optional" json:"structural"` // type of question, such as "query"
}

// Format reads the files.
var Format = &records.Records[Fields, Meta]{
	Corpus: "gqa", Task: "gqa", Layout: records.Members{}, KeyField: "question_id",
	Rows:    func(el *records.Element, row func([]byte)) { row(el.KeyName()) },
	Decoder: decoder,
}

func decoder(*corpus.Source) func(*records.Element, *records.Out[Fields, Meta]) {
	var (
		f      Fields
		m      Meta
		image  string
		answer *string
	)
	types := records.NewObject(records.OptionalText("structural", &m.Structural))
	object := records.NewObject(
		records.Filled("question", &f.Question), records.Filled("imageId", &image), records.OptionalText("answer", &answer),
		records.OptionalText("fullAnswer", &m.FullAnswer), records.OptionalBool("isBalanced", &m.IsBalanced), records.Nested("types", false, types),
	)
	return func(el *records.Element, out *records.Out[Fields, Meta]) {
		key, fault := el.Key("question_id")
		if fault.Bad() {
			out.Dead(fault)
			return
		}
		if fault := object.Read(el.Bytes); fault.Bad() {
			out.Dead(fault)
			return
		}
		r := out.Row(key, f, m)
		name := image
		if r.Image = &name; answer != nil {
			r.Label, r.References = answer, []string{*answer}
		}
	}
}
