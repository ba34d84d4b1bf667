// Package scienceqa reads ScienceQA: one object of questions by their id,
// problems.json.
//
// A row is a question with its choices, hint, lecture and solution; its label is
// the letter of the right choice. The file names the splits itself: train, val
// and test.
package scienceqa

import (
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/example"
)

// Fields are the source fields.
type Fields struct {
	Question string   `parquet:"question" json:"question"`
	Choices  []string `parquet:"choices,list" json:"choices"`
	Hint     string   `parquet:"hint" json:"hint"`
	Lecture  string   `parquet:"lecture" json:"lecture"`
	Solution string   `parquet:"solution" json:"solution"`
}

// Meta is what the file says beside the question.
type Meta struct {
	Task     string `parquet:"task,dict" json:"task"`
	Grade    string `parquet:"grade,dict" json:"grade"`
	Subject  string `parquet:"subject,dict" json:"subject"`
	Topic    string `parquet:"topic,dict" json:"topic"`
	Category string `parquet:"category,dict" json:"category"`
	Skill    string `parquet:"skill" json:"skill"`
}

// Letters name the choices.
const Letters = "ABCDE"

// Format reads the file. A split asked for selects one of the file's.
var Format = &records.Records[Fields, Meta]{
	Corpus: "scienceqa", Task: "scienceqa", Layout: records.Members{}, KeyField: "id",
	Rows:    func(el *records.Element, row func([]byte)) { row(el.KeyName()) },
	Decoder: decoder,
}

func decoder(src *corpus.Source) func(*records.Element, *records.Out[Fields, Meta]) {
	var (
		f      Fields
		m      Meta
		answer int64
		image  *string
		split  string
	)
	object := records.NewObject(
		records.Filled("question", &f.Question), records.Texts("choices", &f.Choices), records.Integer("answer", &answer),
		records.Text("hint", &f.Hint), records.OptionalText("image", &image),
		records.Text("task", &m.Task), records.Text("grade", &m.Grade), records.Text("subject", &m.Subject),
		records.Text("topic", &m.Topic), records.Text("category", &m.Category), records.Text("skill", &m.Skill),
		records.Text("lecture", &f.Lecture), records.Text("solution", &f.Solution), records.Text("split", &split),
	)
	return func(el *records.Element, out *records.Out[Fields, Meta]) {
		key, fault := el.Key("id")
		if !fault.Bad() {
			fault = object.Read(el.Bytes)
		}
		if !fault.Bad() {
			fault = check(split, f.Choices, answer)
		}
		if fault.Bad() {
			out.Dead(fault)
			return
		}
		if src.Split != "" && !example.SameSplit(src.Split, split) {
			out.Skip()
			return
		}
		label, id := Letters[answer:answer+1], answer
		r := out.Row(key, f, m)
		out.Split(r, split)
		r.Label, r.LabelID = &label, &id
		if image != nil && *image != "" {
			name := split + "/" + key + "/" + *image
			r.Image = &name
		}
	}
}

func check(split string, choices []string, answer int64) records.Fault {
	switch {
	case split != "train" && split != "val" && split != "test":
		return records.Fault{Field: "split", Reason: "unknown split"}
	case len(choices) > len(Letters):
		return records.Fault{Field: "choices", Reason: "more than five choices"}
	case answer < 0 || answer >= int64(len(choices)):
		return records.Fault{Field: "answer", Reason: "no such choice"}
	}
	return records.Fault{}
}
