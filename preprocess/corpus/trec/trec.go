// Package trec reads files with a label, a blank and a text on each line: the
// questions of TREC, and TREC and SST with numbers for labels as they circulate
// for sentence classification.
package trec

import (
	"bytes"
	"cmp"
	"path"
	"strings"
	"unicode/utf8"

	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/corpus/table"
	"espalier/preprocess/rawfile"
	"espalier/preprocess/rawjson"
)

// Fields is what a line has beside its label.
type Fields struct {
	Text string `parquet:"text" json:"text"`
}

// Meta has the label of TREC as it stands, such as "DESC:manner".
type Meta struct {
	Fine string `parquet:"fine,dict" json:"fine"`
}

// coarse are the coarse classes in the order of their numbers here. Others order
// them otherwise: names are what counts.
var coarse = []string{"DESC", "ENTY", "ABBR", "HUM", "NUM", "LOC"}

// TREC has questions by what they ask for. The files are Latin-1 unless another
// encoding is declared; the byte F0, which stands in one of them, is a blank.
func TREC() corpus.Format[Fields, Meta] {
	labels := table.Classes("description", "entity", "abbreviation", "human", "numeric", "location")
	f := &records.Records[Fields, Meta]{
		Corpus: "trec", Task: "trec", Layout: records.Lines{Skip: empty},
		Decoder: func(src *corpus.Source) func(el *records.Element, out *records.Out[Fields, Meta]) {
			decoder, err := rawfile.NewDecoder(cmp.Or(src.Encoding, "latin-1"))
			return func(el *records.Element, out *records.Out[Fields, Meta]) {
				if err != nil {
					out.Dead(records.Fault{Reason: err.Error()})
					return
				}
				line := bytes.ReplaceAll(decoder.Text(el.Bytes), []byte("ð"), []byte{' '})
				fine, text, fault := split(line)
				name, _, _ := bytes.Cut(fine, []byte{':'})
				class := int(records.ClassOf(string(name), coarse...))
				if class < 0 {
					fault = records.Fault{Field: "label", Reason: records.NoLabel}
				}
				if fault.Bad() {
					out.Dead(fault)
					return
				}
				r := out.Row("", Fields{string(text)}, Meta{string(fine)})
				label := labels.Class(class)
				r.Label, r.LabelID = label.Text, label.ID
			}
		},
	}
	named, test := corpus.Standard[Fields, Meta](f, ""), corpus.Standard[Fields, Meta](f, "test")
	return corpus.Either(func(src *corpus.Source) (corpus.Format[Fields, Meta], error) {
		if strings.HasPrefix(path.Base(src.Name), "TREC_10.") { // the published name of the test file
			return test, nil
		}
		return named, nil
	})
}

// Labelled reads a set whose labels are kept as they stand, such as the numbers
// of TREC.train.all and stsa.binary.dev. What they mean differs by the file.
func Labelled(name, task string) corpus.Format[Fields, corpus.None] {
	return corpus.Standard[Fields, corpus.None](&records.Records[Fields, corpus.None]{
		Corpus: name, Task: task, Layout: records.Lines{Skip: empty},
		Decoder: func(src *corpus.Source) func(el *records.Element, out *records.Out[Fields, corpus.None]) {
			decoder, err := rawfile.NewDecoder(src.Encoding)
			return func(el *records.Element, out *records.Out[Fields, corpus.None]) {
				if err != nil {
					out.Dead(records.Fault{Reason: err.Error()})
					return
				}
				label, text, fault := split(decoder.Text(el.Bytes))
				if fault.Bad() {
					out.Dead(fault)
					return
				}
				if !rawjson.IsInteger(label) {
					out.Dead(records.Fault{Field: "label", Reason: records.NoLabel})
					return
				}
				s := string(label)
				out.Row("", Fields{string(text)}, corpus.None{}).Label = &s
			}
		},
	}, "")
}

func empty(line []byte) bool { return len(line) == 0 }

// split cuts a line at its first blank.
func split(line []byte) (label, text []byte, _ records.Fault) {
	label, text, found := bytes.Cut(line, []byte{' '})
	switch {
	case !utf8.Valid(label):
		return nil, nil, records.Fault{Field: "label", Reason: records.BadUTF8}
	case !utf8.Valid(text):
		return nil, nil, records.Fault{Field: "text", Reason: records.BadUTF8}
	case len(label) == 0:
		return nil, nil, records.Fault{Field: "label", Reason: "empty label"}
	case !found:
		return label, nil, records.Fault{Field: "text", Reason: records.NoColumn}
	}
	return label, text, records.Fault{}
}
