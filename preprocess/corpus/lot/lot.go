// Package lot reads the tasks of LOT, a benchmark of Chinese stories: OutGen
// (stories from outlines), PlotCom (filling a gap), ClozeT (which of two plots
// fits) and SenPos (where a sentence belongs), all JSON lines.
package lot

import (
	"strconv"

	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/rawjson"
)

// OutGenFields are the source fields of OutGen; the story is the reference.
type OutGenFields struct {
	Outline []string `parquet:"outline,list" json:"outline"` // phrases out of order
	Title   string   `parquet:"title" json:"title"`
}

// OutGen reads OutGen.
var OutGen = &records.Records[OutGenFields, corpus.None]{
	Corpus: "lot", Task: "outgen", Layout: records.JSON{},
	Decoder: func(*corpus.Source) func(*records.Element, *records.Out[OutGenFields, corpus.None]) {
		var (
			f     OutGenFields
			story string
		)
		return simple(records.NewObject(records.Filled("story", &story), records.Texts("outline", &f.Outline), records.Text("title", &f.Title)), func(out *records.Out[OutGenFields, corpus.None]) {
			out.Row("", f, corpus.None{}).References = []string{story}
		})
	},
}

// PlotComFields are the source fields of PlotCom; the plot is the reference.
type PlotComFields struct {
	Story string `parquet:"story" json:"story"` // with a gap
}

// PlotCom reads PlotCom.
var PlotCom = &records.Records[PlotComFields, corpus.None]{
	Corpus: "lot", Task: "plotcom", Layout: records.JSON{},
	Decoder: func(*corpus.Source) func(*records.Element, *records.Out[PlotComFields, corpus.None]) {
		var (
			f    PlotComFields
			plot string
		)
		return simple(records.NewObject(records.Filled("story", &f.Story), records.Filled("plot", &plot)), func(out *records.Out[PlotComFields, corpus.None]) {
			out.Row("", f, corpus.None{}).References = []string{plot}
		})
	},
}

// ClozeTFields are the source fields of ClozeT; the label tells which plot.
type ClozeTFields struct {
	Story string `parquet:"story" json:"story"`
	Plot0 string `parquet:"plot0" json:"plot0"`
	Plot1 string `parquet:"plot1" json:"plot1"`
}

// ClozeT reads ClozeT.
var ClozeT = &records.Records[ClozeTFields, corpus.None]{
	Corpus: "lot", Task: "clozet", Layout: records.JSON{},
	Decoder: func(*corpus.Source) func(*records.Element, *records.Out[ClozeTFields, corpus.None]) {
		var (
			f     ClozeTFields
			label []byte
		)
		object := records.NewObject(records.Filled("story", &f.Story), records.Text("plot0", &f.Plot0), records.Text("plot1", &f.Plot1), records.Value("label", &label))
		return func(el *records.Element, out *records.Out[ClozeTFields, corpus.None]) {
			fault := object.Read(el.Bytes)
			name := textOf(label)
			class, fault := records.Class(fault, "label", &name, "0", "1")
			if fault.Bad() {
				out.Dead(fault)
				return
			}
			r := out.Row("", f, corpus.None{})
			r.Label, r.LabelID = &name, &class
		}
	},
}

// SenPosFields are the source fields of SenPos; the label is the number of the
// place.
type SenPosFields struct {
	Story    string `parquet:"story" json:"story"` // with places marked
	Sentence string `parquet:"sentence" json:"sentence"`
}

// SenPos reads SenPos.
var SenPos = &records.Records[SenPosFields, corpus.None]{
	Corpus: "lot", Task: "senpos", Layout: records.JSON{},
	Decoder: func(*corpus.Source) func(*records.Element, *records.Out[SenPosFields, corpus.None]) {
		var (
			f     SenPosFields
			label int64
		)
		return simple(records.NewObject(records.Filled("story", &f.Story), records.Filled("sentence", &f.Sentence), records.Integer("label", &label)), func(out *records.Out[SenPosFields, corpus.None]) {
			name := strconv.FormatInt(label, 10)
			out.Row("", f, corpus.None{}).Label = &name
		})
	},
}

// simple reads an object and makes a row of it.
func simple[F any](object *records.Object, row func(out *records.Out[F, corpus.None])) func(*records.Element, *records.Out[F, corpus.None]) {
	return func(el *records.Element, out *records.Out[F, corpus.None]) {
		if fault := object.Read(el.Bytes); fault.Bad() {
			out.Dead(fault)
			return
		}
		row(out)
	}
}

// textOf is a label that is given as text or as a number.
func textOf(raw []byte) string {
	if records.KindOf(raw) != rawjson.Text {
		return string(raw)
	}
	var p rawjson.Parser
	p.Reset(raw)
	text, _ := p.Text()
	return string(text)
}
