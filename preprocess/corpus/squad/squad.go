// Package squad reads SQuAD 1.1 and 2.0: articles with paragraphs, and questions
// about each.
//
// A row is a question, known by its id; its references are the texts of its
// answers in the order of the file, repeated ones too, as the official score
// wants them. A question that cannot be used is a dead letter of its own.
package squad

import (
	"fmt"

	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/rawjson"
)

// Fields is what a question has.
type Fields struct {
	Title    string `parquet:"title,dict" json:"title"`
	Context  string `parquet:"context" json:"context"`
	Question string `parquet:"question" json:"question"`
}

// Meta has where the answers of SQuAD 1.1 begin, in characters of the context.
type Meta struct {
	AnswerStarts []int64 `parquet:"answer_starts,list" json:"answer_starts"`
}

// Meta2 has what SQuAD 2.0 says beside.
type Meta2 struct {
	AnswerStarts []int64  `parquet:"answer_starts,list" json:"answer_starts"`
	IsImpossible bool     `parquet:"is_impossible" json:"is_impossible"`
	Plausible    []string `parquet:"plausible_answers,list" json:"plausible_answers"` // of a question without an answer
}

// A question, read, or why it cannot be used.
type question struct {
	fields     Fields
	id         string
	refs       []string
	starts     []int64
	impossible bool
	plausible  []string
	fault      records.Fault
}

// SQuAD reads SQuAD 1.1.
func SQuAD() corpus.Format[Fields, Meta] {
	return format("squad", false, func(q *question) Meta { return Meta{q.starts} })
}

// SQuAD2 reads SQuAD 2.0, in which questions may have no answer.
func SQuAD2() corpus.Format[Fields, Meta2] {
	return format("squad2", true, func(q *question) Meta2 { return Meta2{q.starts, q.impossible, q.plausible} })
}

func format[M any](name string, unanswered bool, meta func(*question) M) corpus.Format[Fields, M] {
	return corpus.Standard[Fields, M](&records.Records[Fields, M]{
		Corpus: name, Task: name, Layout: records.Array{Name: "data"}, KeyField: "id",
		Rows: func(el *records.Element, row func(name []byte)) {
			for _, q := range article(el, unanswered) {
				if q.fault.Bad() {
					row(nil)
				} else {
					row([]byte(q.id))
				}
			}
		},
		Decoder: func(*corpus.Source) func(el *records.Element, out *records.Out[Fields, M]) {
			return func(el *records.Element, out *records.Out[Fields, M]) {
				for _, q := range article(el, unanswered) {
					if q.fault.Bad() {
						out.Dead(q.fault)
						continue
					}
					out.Row(q.id, q.fields, meta(&q)).References = q.refs
				}
			}
		},
	}, "")
}

// article reads an article's questions.
func article(el *records.Element, unanswered bool) []question {
	var title, context string
	var all, inParagraph []question
	var q question
	var text string
	var start int64
	var bad records.Fault
	texts, starts := []string{}, []int64{}
	var plausible []string

	answer := records.NewObject(records.Text("text", &text), records.Integer("answer_start", &start))
	answers := records.Each("answers", answer, func() { texts, starts, bad = []string{}, []int64{}, records.Fault{} }, func(i int, f records.Fault) {
		if f.Bad() && !bad.Bad() {
			bad = f
			bad.Where = fmt.Sprintf(".answers[%d]", i)
		}
		texts, starts = append(texts, text), append(starts, start)
	})
	guesses := records.Each("plausible_answers", records.NewObject(records.Text("text", &text)), func() { plausible = []string{} }, func(_ int, f records.Fault) {
		if !f.Bad() {
			plausible = append(plausible, text)
		}
	})
	var impossible *bool
	item := records.NewObject(records.Text("question", &q.fields.Question), records.Filled("id", &q.id), answers,
		records.OptionalBool("is_impossible", &impossible), records.Optional(guesses))
	paragraph := records.NewObject(records.Text("context", &context), records.Each("qas", item, func() { inParagraph = nil }, func(i int, f records.Fault) {
		one := question{fields: Fields{Question: q.fields.Question}, id: q.id, refs: texts, starts: starts, plausible: plausible, fault: f}
		one.impossible = impossible != nil && *impossible
		if !one.fault.Bad() {
			one.fault = bad
		}
		if !one.fault.Bad() && len(texts) == 0 && !(unanswered && one.impossible) {
			one.fault = records.Fault{Field: "answers", Reason: "no answer"}
		}
		if one.fault.Bad() {
			one.fault.Where = fmt.Sprintf(".qas[%d]%s", i, one.fault.Where)
		}
		inParagraph = append(inParagraph, one)
	}))
	whole := records.NewObject(records.Text("title", &title), records.Each("paragraphs", paragraph, func() { all = nil }, func(i int, f records.Fault) {
		where := fmt.Sprintf(".paragraphs[%d]", i)
		if f.Bad() {
			f.Where = where + f.Where
			all = append(all, question{fault: f})
			return
		}
		for _, one := range inParagraph {
			one.fields.Context = context
			if one.fault.Bad() {
				one.fault.Where = where + one.fault.Where
			}
			all = append(all, one)
		}
	}))
	if el.Kind() == rawjson.Invalid {
		return []question{{fault: records.Fault{Reason: "not JSON"}}}
	}
	if f := whole.Read(el.Bytes); f.Bad() {
		return []question{{fault: f}}
	}
	for i := range all {
		all[i].fields.Title = title
	}
	return all
}
