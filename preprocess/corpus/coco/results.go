package coco

import (
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/rawjson"
)

// ResultFields are the source fields of a result.
type ResultFields struct {
	Caption string `parquet:"caption" json:"caption"`
}

// Results reads files of results, lists of captions by image id, as systems hand
// them in. An image may have more than one.
func Results(name string) *records.Records[ResultFields, corpus.None] {
	return &records.Records[ResultFields, corpus.None]{
		Corpus: name, Task: Task, Layout: records.Array{}, SplitOf: func(*corpus.Source) string { return "predictions" },
		Decoder: func(*corpus.Source) func(*records.Element, *records.Out[ResultFields, corpus.None]) {
			var (
				id []byte
				f  ResultFields
			)
			object := records.NewObject(records.Value("image_id", &id), records.Text("caption", &f.Caption))
			return func(el *records.Element, out *records.Out[ResultFields, corpus.None]) {
				fault := object.Read(el.Bytes)
				key := ""
				if !fault.Bad() {
					key, fault = idText("image_id", id)
				}
				if fault.Bad() {
					out.Dead(fault)
					return
				}
				out.Row(key, f, corpus.None{}).Image = &key
			}
		},
	}
}

// SpiceFields are the source fields of an input of SPICE.
type SpiceFields struct {
	Test string `parquet:"test" json:"test"`
}

// Spice reads inputs of the SPICE program: captions to be scored, with
// references.
var Spice = &records.Records[SpiceFields, corpus.None]{
	Corpus: "spice", Task: Task, Layout: records.Array{}, SplitOf: func(*corpus.Source) string { return "all" },
	Decoder: func(*corpus.Source) func(*records.Element, *records.Out[SpiceFields, corpus.None]) {
		var (
			id   []byte
			f    SpiceFields
			refs []string
		)
		object := records.NewObject(records.Value("image_id", &id), records.Text("test", &f.Test), records.Texts("refs", &refs))
		return func(el *records.Element, out *records.Out[SpiceFields, corpus.None]) {
			fault := object.Read(el.Bytes)
			key := ""
			if !fault.Bad() {
				key, fault = idText("image_id", id)
			}
			if fault.Bad() {
				out.Dead(fault)
				return
			}
			r := out.Row(key, f, corpus.None{})
			r.Image, r.References = &key, refs
		}
	},
}

// idText is an id that is given as a number or as text.
func idText(field string, raw []byte) (string, records.Fault) {
	var p rawjson.Parser
	p.Reset(raw)
	switch k := p.Kind(); {
	case k == rawjson.Text:
		text, _ := p.Text()
		if len(text) == 0 {
			return "", records.Fault{Field: field, Reason: records.Empty}
		}
		return string(text), records.Fault{}
	case k != rawjson.Number:
		return "", records.Fault{Field: field, Reason: rawjson.Mismatch(k, rawjson.Number)}
	case !rawjson.IsInteger(raw):
		return "", records.Fault{Field: field, Reason: records.NoInteger}
	}
	return string(raw), records.Fault{}
}
