// Package paws reads English pairs of texts that may mean the same, in
// tab-separated tables: PAWS and a prepared form of Quora's questions.
package paws

import (
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/table"
)

// Fields is what PAWS has.
type Fields struct {
	Sentence1 string `parquet:"sentence1" json:"sentence1"`
	Sentence2 string `parquet:"sentence2" json:"sentence2"`
}

// NumberedFields is what PAWS has if rows are known by their number.
type NumberedFields struct {
	ID        string `parquet:"id" json:"id"`
	Sentence1 string `parquet:"sentence1" json:"sentence1"`
	Sentence2 string `parquet:"sentence2" json:"sentence2"`
}

// PAWS has pairs of sentences with much the same words; 1 marks paraphrases. Rows
// are known by the corpus's ids.
func PAWS() corpus.Format[Fields, corpus.None] {
	return corpus.Standard[Fields, corpus.None]((&table.Table[Fields, corpus.None]{
		Corpus: "paws", Task: "paws", Text: []string{"sentence1", "sentence2"}, Label: "label", Labels: table.Classes("0", "1"), Key: "id",
		Set: func(f *Fields, v []string) { f.Sentence1, f.Sentence2 = v[0], v[1] },
	}).Format(), "")
}

// Numbered reads PAWS with rows known by their number and the id as a field, as
// PAWS-X is read, whose ids occur more than once.
func Numbered() corpus.Format[NumberedFields, corpus.None] {
	return corpus.Standard[NumberedFields, corpus.None]((&table.Table[NumberedFields, corpus.None]{
		Corpus: "paws", Task: "paws", Text: []string{"id", "sentence1", "sentence2"}, Label: "label", Labels: table.Classes("0", "1"),
		Set: func(f *NumberedFields, v []string) { f.ID, f.Sentence1, f.Sentence2 = v[0], v[1], v[2] },
	}).Format(), "")
}

// QuoraFields is what the prepared form of Quora's questions has.
type QuoraFields struct {
	Question1 string `parquet:"question1" json:"question1"`
	Question2 string `parquet:"question2" json:"question2"`
	Pair      string `parquet:"pair" json:"pair"`
}

// Quora reads files of four columns without a header: label, two questions, the
// number of the pair.
func Quora() corpus.Format[QuoraFields, corpus.None] {
	return corpus.Standard[QuoraFields, corpus.None]((&table.Table[QuoraFields, corpus.None]{
		Corpus: "quora", Task: "qqp", Text: []string{"question1", "question2", "pair"}, Label: "label", Labels: table.Classes("not_duplicate", "duplicate"),
		Set:  func(f *QuoraFields, v []string) { f.Question1, f.Question2, f.Pair = v[0], v[1], v[2] },
		Bare: [][]string{{"label", "question1", "question2", "pair"}},
	}).Format(), "")
}
