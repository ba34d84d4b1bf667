// Package snlive reads SNLI-VE, sentences about the images of Flickr30k: JSON
// lines as in snli_ve_dev.jsonl, and the CSV files of e-SNLI-VE-2.0, whose labels
// differ.
//
// A row is a hypothesis, its premise the image; the caption that was the premise
// in SNLI is kept as meta only. Rows of e-SNLI-VE may have a key twice: it has
// rows that were judged more than once.
package snlive

import (
	"strings"

	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
)

// Fields are the source fields.
type Fields struct {
	Sentence2 string `parquet:"sentence2" json:"sentence2"` // the hypothesis
}

// Meta is what SNLI-VE says beside the hypothesis.
type Meta struct {
	Sentence1 *string `parquet:"sentence1,optional" json:"sentence1"` // the caption
	CaptionID *string `parquet:"captionID,optional" json:"captionID"`
}

// Classes in the order of their numbers.
var Classes = []string{"entailment", "neutral", "contradiction"}

// Format reads SNLI-VE.
var Format = &records.Records[Fields, Meta]{
	Corpus: "snli-ve", Task: "snli-ve", Layout: records.JSON{}, KeyField: "pairID",
	Rows:    records.ByMember("pairID"),
	Decoder: decoder,
}

func decoder(*corpus.Source) func(*records.Element, *records.Out[Fields, Meta]) {
	var (
		f         Fields
		m         Meta
		id, image string
		label     *string
	)
	object := records.NewObject(
		records.Filled("pairID", &id), records.Filled("Flickr30K_ID", &image), records.Text("sentence2", &f.Sentence2),
		records.OptionalText("gold_label", &label), records.OptionalText("sentence1", &m.Sentence1), records.OptionalText("captionID", &m.CaptionID),
	)
	return func(el *records.Element, out *records.Out[Fields, Meta]) {
		fault := object.Read(el.Bytes)
		if label != nil && *label == "-" { // judges did not agree
			label = nil
		}
		class, fault := records.Class(fault, "gold_label", label, Classes...)
		if fault.Bad() {
			out.Dead(fault)
			return
		}
		name := image
		r := out.Row(id, f, m)
		r.Image, r.Label, r.LabelID = &name, label, &class
	}
}

// Explained reads e-SNLI-VE-2.0.
var Explained = &records.Records[Fields, corpus.None]{
	Corpus: "e-snli-ve", Task: "snli-ve", Layout: records.CSV{Want: []string{"pairID", "sentence2", "label"}},
	Decoder: func(*corpus.Source) func(*records.Element, *records.Out[Fields, corpus.None]) {
		return func(el *records.Element, out *records.Out[Fields, corpus.None]) {
			id, label := string(el.Column("pairID")), string(el.Column("label"))
			image, _, _ := strings.Cut(id, ".jpg#")
			switch {
			case id == "":
				out.Dead(records.Fault{Field: "pairID", Reason: records.Empty})
				return
			case records.ClassOf(label, Classes...) < 0:
				out.Dead(records.Fault{Field: "label", Reason: records.NoLabel})
				return
			}
			r := out.Row(id, Fields{string(el.Column("sentence2"))}, corpus.None{})
			r.Image, r.Label = &image, &label
		}
	},
}
