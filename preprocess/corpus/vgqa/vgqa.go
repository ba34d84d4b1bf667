// Package vgqa reads the question-answer pairs of Visual Genome: a list of
// images with their pairs, question_answers.json.
//
// A row is a pair. Answers are kept as they stand, capital and full stop
// included. The corpus has no splits of its own.
package vgqa

import (
	"fmt"

	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/rawjson"
)

// Fields are the source fields.
type Fields struct {
	Question string `parquet:"question" json:"question"`
}

// Format reads the file.
var Format = &records.Records[Fields, corpus.None]{
	Corpus: "vgqa", Task: "vgqa", Layout: records.Array{}, KeyField: "qa_id",
	Rows: rows, Decoder: decoder,
	SplitOf: func(*corpus.Source) string { return "all" },
}

// rows tells the pairs of an image by their ids, none if it cannot be read.
func rows(el *records.Element, row func([]byte)) {
	if el.Kind() != rawjson.Object {
		return
	}
	var p rawjson.Parser
	for item := range records.Items(&p, el.Member("qas")) {
		row(records.KeyOf(item, "qa_id"))
	}
}

func decoder(*corpus.Source) func(*records.Element, *records.Out[Fields, corpus.None]) {
	var (
		f          Fields
		id, image  string
		answer     string
		p          rawjson.Parser
		pair       = records.NewObject(records.Digits("qa_id", &id), records.Filled("question", &f.Question), records.Filled("answer", &answer), records.Digits("image_id", &image))
		qas        []byte
		imageEntry = records.NewObject(records.Value("qas", &qas))
	)
	return func(el *records.Element, out *records.Out[Fields, corpus.None]) {
		fault := imageEntry.Read(el.Bytes)
		if k := records.KindOf(qas); !fault.Bad() && k != rawjson.Array {
			fault = records.Fault{Field: "qas", Reason: rawjson.Mismatch(k, rawjson.Array)}
		}
		if fault.Bad() {
			// However many pairs it may hold, they are not told apart.
			out.Lost(fault)
			return
		}
		i := 0
		for item := range records.Items(&p, qas) {
			fault := pair.Read(item)
			if fault.Bad() {
				fault.Where, fault.Raw = fmt.Sprintf(".qas[%d]", i), item
				out.Dead(fault)
			} else {
				name, text := image, answer
				r := out.Row(id, f, corpus.None{})
				r.Image, r.Label, r.References = &name, &text, []string{text}
			}
			i++
		}
	}
}
