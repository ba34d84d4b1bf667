// Package superglue reads the tasks of SuperGLUE: its JSON lines, and the exports
// of the hub (Parquet, JSON).
//
// A row is an answer in MultiRC and a query in ReCoRD; their keys are the numbers
// of passage, question and answer, joined by "_". All other keys are the file's
// idx with its digits, or the row's number where there is none. Rows without a
// label have class -1; a label of the wrong kind is a dead letter.
package superglue

import (
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/export"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/corpus/table"
	"espalier/preprocess/rawjson"
)

// Corpus is the name of the corpus as rows carry it.
const Corpus = "superglue"

// Fields of the tasks.
type (
	// Passage is what BoolQ has.
	Passage struct {
		Question string `parquet:"question" json:"question"`
		Passage  string `parquet:"passage" json:"passage"`
	}
	// Inference is what CB, RTE and AX-g have.
	Inference struct {
		Premise    string `parquet:"premise" json:"premise"`
		Hypothesis string `parquet:"hypothesis" json:"hypothesis"`
	}
	// Choice is what COPA has.
	Choice struct {
		Premise  string `parquet:"premise" json:"premise"`
		Choice1  string `parquet:"choice1" json:"choice1"`
		Choice2  string `parquet:"choice2" json:"choice2"`
		Question string `parquet:"question,dict" json:"question"` // cause or effect
	}
	// Sentences is what AX-b has.
	Sentences struct {
		Sentence1 string `parquet:"sentence1" json:"sentence1"`
		Sentence2 string `parquet:"sentence2" json:"sentence2"`
	}
	// Word is what WiC has: a word in two sentences, with its place in characters.
	Word struct {
		Word      string `parquet:"word" json:"word"`
		Sentence1 string `parquet:"sentence1" json:"sentence1"`
		Sentence2 string `parquet:"sentence2" json:"sentence2"`
		Start1    int64  `parquet:"start1" json:"start1"`
		Start2    int64  `parquet:"start2" json:"start2"`
		End1      int64  `parquet:"end1" json:"end1"`
		End2      int64  `parquet:"end2" json:"end2"`
	}
	// Spans is what WSC has: two spans of a text, with their places in words.
	Spans struct {
		Text       string `parquet:"text" json:"text"`
		Span1Text  string `parquet:"span1_text" json:"span1_text"`
		Span2Text  string `parquet:"span2_text" json:"span2_text"`
		Span1Index int64  `parquet:"span1_index" json:"span1_index"`
		Span2Index int64  `parquet:"span2_index" json:"span2_index"`
	}
)

// Format is how files of a task are read.
type Format[F any] = corpus.Format[F, corpus.None]

// A kind is what labels of a task are in its JSON lines.
type kind byte

const (
	named  kind = iota // the name of a class
	truth              // true or false
	choice             // 0 or 1
)

// A task is one whose objects are rows.
type task[F any] struct {
	name    string
	members func(f *F) []records.Member
	labels  *table.Labels
	kind    kind
	textKey bool // idx may be a text
	// numbered says that rows are known by their number, whatever idx they have.
	numbered bool
	export   export.Export[F, corpus.None]
	split    string // if the file's name says none
}

func truths() *table.Labels     { return table.Classes("False", "True") }
func entailment() *table.Labels { return table.Classes("entailment", "not_entailment") }

// BoolQ has questions that a passage answers with yes or no.
func BoolQ() Format[Passage] { return boolq(false) }

// BoolQNumbered reads files of BoolQ in which idx is there twice: rows are known
// by their number.
func BoolQNumbered() Format[Passage] { return boolq(true) }

func boolq(numbered bool) Format[Passage] {
	t := task[Passage]{name: "boolq", labels: truths(), kind: truth, numbered: numbered}
	t.members = func(f *Passage) []records.Member {
		return []records.Member{records.Text("question", &f.Question), records.Text("passage", &f.Passage)}
	}
	t.texts(func(f *Passage) []*string { return []*string{&f.Question, &f.Passage} }, "question", "passage")
	return t.format()
}

// CB tells whether a speaker commits to a hypothesis.
func CB() Format[Inference] {
	return inference("cb", table.Classes("entailment", "contradiction", "neutral"), "")
}

// RTE tells whether a premise entails a hypothesis.
func RTE() Format[Inference] { return inference("rte", entailment(), "") }

// AXg is the diagnostic set about gender.
func AXg() Format[Inference] { return inference("axg", entailment(), "test") }

func inference(name string, labels *table.Labels, split string) Format[Inference] {
	t := task[Inference]{name: name, labels: labels, split: split}
	t.members = func(f *Inference) []records.Member {
		return []records.Member{records.Text("premise", &f.Premise), records.Text("hypothesis", &f.Hypothesis)}
	}
	t.texts(func(f *Inference) []*string { return []*string{&f.Premise, &f.Hypothesis} }, "premise", "hypothesis")
	return t.format()
}

// AXb is the broad diagnostic set.
func AXb() Format[Sentences] {
	t := task[Sentences]{name: "axb", labels: entailment(), textKey: true, split: "test"}
	t.members = func(f *Sentences) []records.Member {
		return []records.Member{records.Text("sentence1", &f.Sentence1), records.Text("sentence2", &f.Sentence2)}
	}
	t.texts(func(f *Sentences) []*string { return []*string{&f.Sentence1, &f.Sentence2} }, "sentence1", "sentence2")
	return t.format()
}

// COPA has two choices for a cause or an effect.
func COPA() Format[Choice] {
	t := task[Choice]{name: "copa", labels: table.Classes("choice1", "choice2"), kind: choice}
	t.members = func(f *Choice) []records.Member {
		return []records.Member{
			records.Text("premise", &f.Premise), records.Text("choice1", &f.Choice1), records.Text("choice2", &f.Choice2), records.Text("question", &f.Question),
		}
	}
	t.texts(func(f *Choice) []*string { return []*string{&f.Premise, &f.Choice1, &f.Choice2, &f.Question} }, "premise", "choice1", "choice2", "question")
	return t.format()
}

// WiC tells whether a word means the same in two sentences.
func WiC() Format[Word] {
	t := task[Word]{name: "wic", labels: truths(), kind: truth}
	t.members = func(f *Word) []records.Member {
		return []records.Member{
			records.Text("word", &f.Word), records.Text("sentence1", &f.Sentence1), records.Text("sentence2", &f.Sentence2),
			records.Integer("start1", &f.Start1), records.Integer("start2", &f.Start2), records.Integer("end1", &f.End1), records.Integer("end2", &f.End2),
		}
	}
	t.export.Columns = []string{"word", "sentence1", "sentence2", "start1", "start2", "end1", "end2"}
	t.export.Set = func(v export.Values, f *Word, _ *corpus.None, _ *[]string) records.Fault {
		return first(v.Text(0, "word", &f.Word), v.Text(1, "sentence1", &f.Sentence1), v.Text(2, "sentence2", &f.Sentence2),
			v.Integer(3, "start1", &f.Start1), v.Integer(4, "start2", &f.Start2), v.Integer(5, "end1", &f.End1), v.Integer(6, "end2", &f.End2))
	}
	return t.format()
}

// WSC tells whether a pronoun means a noun phrase.
func WSC() Format[Spans] {
	t := task[Spans]{name: "wsc", labels: truths(), kind: truth}
	t.members = func(f *Spans) []records.Member {
		target := records.NewObject(records.Text("span1_text", &f.Span1Text), records.Text("span2_text", &f.Span2Text),
			records.Integer("span1_index", &f.Span1Index), records.Integer("span2_index", &f.Span2Index))
		return []records.Member{records.Text("text", &f.Text), records.Nested("target", true, target)}
	}
	t.export.Columns = []string{"text", "span1_text", "span2_text", "span1_index", "span2_index"}
	t.export.Set = func(v export.Values, f *Spans, _ *corpus.None, _ *[]string) records.Fault {
		return first(v.Text(0, "text", &f.Text), v.Text(1, "span1_text", &f.Span1Text), v.Text(2, "span2_text", &f.Span2Text),
			v.Integer(3, "span1_index", &f.Span1Index), v.Integer(4, "span2_index", &f.Span2Index))
	}
	return t.format()
}

// first returns the first fault that is one.
func first(faults ...records.Fault) records.Fault {
	for _, f := range faults {
		if f.Bad() {
			return f
		}
	}
	return records.Fault{}
}

// texts describes the export of a task whose fields are texts.
func (t *task[F]) texts(of func(*F) []*string, names ...string) {
	t.export.Columns = names
	t.export.Set = func(v export.Values, f *F, _ *corpus.None, _ *[]string) records.Fault {
		for i, to := range of(f) {
			if bad := v.Text(i, names[i], to); bad.Bad() {
				return bad
			}
		}
		return records.Fault{}
	}
}

func (t *task[F]) format() Format[F] {
	t.export.Corpus, t.export.Task, t.export.Label, t.export.Labels = Corpus, t.name, "label", t.labels
	if !t.numbered {
		t.export.Key = "idx"
	}
	return layouts[F, corpus.None](t.json(), &t.export, func(el *records.Element) bool {
		// An export has numbers where the benchmark has names or truth values.
		return t.kind != choice && records.KindOf(el.Member("label")) == rawjson.Number || t.name == "wsc" && el.Member("target") == nil && el.Member("span1_text") != nil
	}, t.split)
}

// layouts tells the layouts of a task apart: Parquet and Arrow by their first
// bytes, exported JSON by the first object.
func layouts[F, M any](lines corpus.Format[F, M], x *export.Export[F, M], exported func(el *records.Element) bool, split string) corpus.Format[F, M] {
	json, parquet := x.JSON(), x.Table()
	return corpus.Standard(corpus.Either(func(src *corpus.Source) (corpus.Format[F, M], error) {
		switch is, err := corpus.IsParquet(src); {
		case err != nil:
			return nil, err
		case is:
			return parquet, nil
		}
		if el := (records.JSON{}).Walk(src, nil).Next(); el != nil && el.Kind() == rawjson.Object && exported(el) {
			return json, nil
		}
		return lines, nil
	}), split)
}

// json is the layout of the benchmark's own files.
func (t *task[F]) json() *records.Records[F, corpus.None] {
	rows := records.ByMember("idx")
	if t.numbered {
		rows = nil
	}
	return &records.Records[F, corpus.None]{
		Corpus: Corpus, Task: t.name, Layout: records.JSON{}, Rows: rows, KeyField: "idx",
		Decoder: func(*corpus.Source) func(el *records.Element, out *records.Out[F, corpus.None]) {
			var fields F
			var label, idx []byte
			object := records.NewObject(append(t.members(&fields), records.OptionalValue("label", &label), records.OptionalValue("idx", &idx))...)
			return func(el *records.Element, out *records.Out[F, corpus.None]) {
				fault := object.Read(el.Bytes)
				var value table.Value
				if !fault.Bad() {
					value, fault = labelOf(label, t.kind, t.labels)
				}
				key := ""
				if !fault.Bad() && idx != nil && !t.numbered {
					key, fault = keyOf(idx, t.textKey)
				}
				if fault.Bad() {
					out.Dead(fault)
					return
				}
				r := out.Row(key, fields, corpus.None{})
				r.Label, r.LabelID = value.Text, value.ID
			}
		},
	}
}

// labelOf reads a label, nil if there is none.
func labelOf(raw []byte, k kind, labels *table.Labels) (table.Value, records.Fault) {
	if raw == nil {
		return labels.None(), records.Fault{}
	}
	want := [...]rawjson.Kind{named: rawjson.Text, truth: rawjson.Bool, choice: rawjson.Number}[k]
	var p rawjson.Parser
	p.Reset(raw)
	if got := p.Kind(); got != want {
		return table.Value{}, records.Fault{Field: "label", Reason: rawjson.Mismatch(got, want)}
	}
	class := -1
	switch k {
	case truth:
		if class = 0; raw[0] == 't' {
			class = 1
		}
	case choice:
		if len(raw) == 1 && (raw[0] == '0' || raw[0] == '1') {
			class = int(raw[0] - '0')
		}
	default:
		name, _ := p.Text()
		if v, ok := labels.Named(string(name)); ok {
			return v, records.Fault{}
		}
	}
	if class < 0 {
		return table.Value{}, records.Fault{Field: "label", Reason: records.NoLabel}
	}
	return labels.Class(class), records.Fault{}
}

// keyOf reads a key: an integer of any length, or a text that is one.
func keyOf(raw []byte, text bool) (string, records.Fault) {
	var p rawjson.Parser
	p.Reset(raw)
	literal, got := raw, p.Kind()
	if text && got == rawjson.Text {
		literal, _ = p.Text()
		got = rawjson.Number
	}
	switch {
	case got != rawjson.Number:
		return "", records.Fault{Field: "idx", Reason: rawjson.Mismatch(got, rawjson.Number)}
	case !rawjson.IsInteger(literal):
		return "", records.Fault{Field: "idx", Reason: records.NoInteger}
	}
	return string(literal), records.Fault{}
}
