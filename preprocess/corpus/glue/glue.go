// Package glue reads the tasks of GLUE: the tab-separated files of the benchmark,
// the original files of MRPC, and the exports of the hub (Parquet, JSON, CSV).
//
// Rows of tab-separated files are known by their number, which counts rows that
// cannot be used and no empty lines, so that ids have the gaps that the public
// loader leaves. A file in text mode ends lines with a lone CR too. Labels are
// told by name or by number; rows of test files have none.
package glue

import (
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/export"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/corpus/table"
	"espalier/preprocess/example"
)

// Corpus is the name of the corpus as rows carry it.
const Corpus = "glue"

// Fields of the tasks.
type (
	// Sentence is what CoLA and SST-2 have.
	Sentence struct {
		Sentence string `parquet:"sentence" json:"sentence"`
	}
	// Questions is what QQP has.
	Questions struct {
		Question1 string `parquet:"question1" json:"question1"`
		Question2 string `parquet:"question2" json:"question2"`
	}
	// Sentences is what MRPC, STS-B, RTE and WNLI have.
	Sentences struct {
		Sentence1 string `parquet:"sentence1" json:"sentence1"`
		Sentence2 string `parquet:"sentence2" json:"sentence2"`
	}
	// Inference is what MNLI and AX have.
	Inference struct {
		Premise    string `parquet:"premise" json:"premise"`
		Hypothesis string `parquet:"hypothesis" json:"hypothesis"`
	}
	// Answer is what QNLI has.
	Answer struct {
		Question string `parquet:"question" json:"question"`
		Sentence string `parquet:"sentence" json:"sentence"`
	}
	// Pair is the meta of MRPC's own files.
	Pair struct {
		ID1 string `parquet:"id1" json:"id1"`
		ID2 string `parquet:"id2" json:"id2"`
	}
)

// A Row is an example of a task.
type Row[F any] = example.Row[F, corpus.None]

// Format is how files of a task are read.
type Format[F any] = corpus.Format[F, corpus.None]

// A task is what the layouts of a task share.
type task[F any] struct {
	name    string
	columns []string // of the tab-separated files
	fields  []string // public names, those of exports
	set     func(*F, []string)
	label   string // column of the tab-separated files
	labels  *table.Labels
	bare    [][]string
}

// CoLA tells acceptable sentences from others.
func CoLA() Format[Sentence] {
	return (&task[Sentence]{
		name: "cola", columns: []string{"sentence"}, set: setSentence, label: "label", labels: table.Classes("unacceptable", "acceptable"),
		bare: [][]string{{"source", "label", "mark", "sentence"}, {"sentence", "label"}},
	}).format()
}

// SST2 tells the sentiment of sentences.
func SST2() Format[Sentence] {
	return (&task[Sentence]{
		name: "sst2", columns: []string{"sentence"}, set: setSentence, label: "label", labels: table.Classes("negative", "positive"),
		bare: [][]string{{"label", "sentence"}},
	}).format()
}

// QQP tells whether two questions ask the same.
func QQP() Format[Questions] {
	return (&task[Questions]{
		name: "qqp", columns: []string{"question1", "question2"}, label: "is_duplicate", labels: table.Classes("not_duplicate", "duplicate"),
		set: func(f *Questions, v []string) { f.Question1, f.Question2 = v[0], v[1] },
	}).format()
}

// STSB has the similarity of two sentences, from 0 to 5.
func STSB() Format[Sentences] {
	return (&task[Sentences]{
		name: "stsb", columns: []string{"sentence1", "sentence2"}, set: setSentences, label: "score", labels: table.Numbers(0, 5),
	}).format()
}

// MNLI tells whether a premise entails a hypothesis.
func MNLI() Format[Inference] {
	return (&task[Inference]{
		name: "mnli", columns: []string{"sentence1", "sentence2"}, fields: []string{"premise", "hypothesis"}, set: setInference,
		label: "gold_label", labels: inferenceLabels(),
	}).format()
}

// AX is the diagnostic set, of which the labels are not public.
func AX() Format[Inference] {
	return (&task[Inference]{
		name: "ax", columns: []string{"sentence1", "sentence2"}, fields: []string{"premise", "hypothesis"}, set: setInference, labels: inferenceLabels(),
	}).format()
}

// QNLI tells whether a sentence answers a question.
func QNLI() Format[Answer] {
	return (&task[Answer]{
		name: "qnli", columns: []string{"question", "sentence"}, label: "label", labels: table.Classes("entailment", "not_entailment"),
		set: func(f *Answer, v []string) { f.Question, f.Sentence = v[0], v[1] },
	}).format()
}

// RTE tells whether a sentence entails another.
func RTE() Format[Sentences] {
	return (&task[Sentences]{
		name: "rte", columns: []string{"sentence1", "sentence2"}, set: setSentences, label: "label", labels: table.Classes("entailment", "not_entailment"),
	}).format()
}

// WNLI is RTE from Winograd schemas; its classes stand in the other order.
func WNLI() Format[Sentences] {
	return (&task[Sentences]{
		name: "wnli", columns: []string{"sentence1", "sentence2"}, set: setSentences, label: "label", labels: table.Classes("not_entailment", "entailment"),
	}).format()
}

func inferenceLabels() *table.Labels {
	return table.Classes("entailment", "neutral", "contradiction")
}

func setSentence(f *Sentence, v []string)   { f.Sentence = v[0] }
func setSentences(f *Sentences, v []string) { f.Sentence1, f.Sentence2 = v[0], v[1] }
func setInference(f *Inference, v []string) { f.Premise, f.Hypothesis = v[0], v[1] }

// format tells the layouts of a task apart: Parquet and Arrow by their first
// bytes, JSON by the name, tables else.
func (t *task[F]) format() Format[F] {
	tsv := (&table.Table[F, corpus.None]{
		Corpus: Corpus, Task: t.name, Text: t.columns, Set: t.set, Label: t.label, Labels: t.labels, Bare: t.bare, CR: true,
	}).Format()
	x := t.export()
	json, parquet := x.JSON(), x.Table()
	or := ""
	if t.name == "ax" {
		or = "test"
	}
	return corpus.Standard(corpus.Either(func(src *corpus.Source) (Format[F], error) {
		switch is, err := corpus.IsParquet(src); {
		case err != nil:
			return nil, err
		case is:
			return parquet, nil
		}
		switch corpus.Ext(src) {
		case ".json", ".jsonl":
			return json, nil
		}
		return tsv, nil
	}), or)
}

// export is the layout of the hub's exports: columns with public names, the
// class as a number, and idx, which is the row's number in the task's own file.
func (t *task[F]) export() *export.Export[F, corpus.None] {
	fields := t.fields
	if fields == nil {
		fields = t.columns
	}
	return &export.Export[F, corpus.None]{
		Corpus: Corpus, Task: t.name, Columns: fields, Label: "label", Labels: t.labels, Key: "idx",
		Set: func(v export.Values, f *F, _ *corpus.None, _ *[]string) records.Fault {
			texts := make([]string, len(fields))
			for i, name := range fields {
				if bad := v.Text(i, name, &texts[i]); bad.Bad() {
					return bad
				}
			}
			t.set(f, texts)
			return records.Fault{}
		},
	}
}
