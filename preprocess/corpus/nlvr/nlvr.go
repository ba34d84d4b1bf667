// Package nlvr reads NLVR2: JSON lines of sentences about two images, such as
// dev.json.
//
// A row is a sentence. The names of its images are those of the sentence without
// the last part, with -img0 and -img1.
package nlvr

import (
	"strings"

	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
)

// Fields are the source fields.
type Fields struct {
	Sentence string `parquet:"sentence" json:"sentence"`
}

// Meta is what the file says beside the sentence.
type Meta struct {
	Images []string `parquet:"images,list" json:"images"` // left and right
	Synset *string  `parquet:"synset,optional" json:"synset"`
}

// Format reads the files.
var Format = &records.Records[Fields, Meta]{
	Corpus: "nlvr2", Task: "nlvr2", Layout: records.JSON{}, KeyField: "identifier",
	Rows:    records.ByMember("identifier"),
	Decoder: decoder,
}

func decoder(*corpus.Source) func(*records.Element, *records.Out[Fields, Meta]) {
	var (
		f     Fields
		m     Meta
		id    string
		label *string
	)
	object := records.NewObject(records.Filled("identifier", &id), records.Filled("sentence", &f.Sentence), records.OptionalText("label", &label), records.OptionalText("synset", &m.Synset))
	return func(el *records.Element, out *records.Out[Fields, Meta]) {
		fault := object.Read(el.Bytes)
		class, fault := records.Class(fault, "label", label, "False", "True")
		if fault.Bad() {
			out.Dead(fault)
			return
		}
		stem := id
		if i := strings.LastIndexByte(id, '-'); i >= 0 {
			stem = id[:i]
		}
		m.Images = []string{stem + "-img0", stem + "-img1"}
		r := out.Row(id, f, m)
		r.Label, r.LabelID = label, &class
	}
}
