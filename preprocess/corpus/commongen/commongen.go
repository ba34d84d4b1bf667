// Package commongen reads CommonGen: sets of concepts, and sentences that use all
// of a set.
package commongen

import (
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
)

// Fields is what CommonGen has.
type Fields struct {
	Concepts string `parquet:"concept_set" json:"concept_set"` // joined by "#"
}

// CommonGen reads JSON lines. The references of a row are its scenes; rows of test
// files have none. Rows are known by their number.
func CommonGen() corpus.Format[Fields, corpus.None] {
	return corpus.Standard[Fields, corpus.None](&records.Records[Fields, corpus.None]{
		Corpus: "common_gen", Task: "common_gen", Layout: records.JSON{},
		Decoder: func(*corpus.Source) func(el *records.Element, out *records.Out[Fields, corpus.None]) {
			var f Fields
			var scenes []string
			object := records.NewObject(records.Filled("concept_set", &f.Concepts), records.Optional(records.Texts("scene", &scenes)))
			return func(el *records.Element, out *records.Out[Fields, corpus.None]) {
				if fault := object.Read(el.Bytes); fault.Bad() {
					out.Dead(fault)
					return
				}
				out.Row("", f, corpus.None{}).References = scenes
			}
		},
	}, "")
}
