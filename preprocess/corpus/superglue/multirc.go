package superglue

import (
	"fmt"
	"strconv"

	"espalier/pipeline/shard"
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/export"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/corpus/table"
)

// Answer is what MultiRC has: a possible answer to a question about a paragraph.
type Answer struct {
	Paragraph string `parquet:"paragraph" json:"paragraph"`
	Question  string `parquet:"question" json:"question"`
	Answer    string `parquet:"answer" json:"answer"`
}

// AnswerMeta has the numbers that make the key of an answer.
type AnswerMeta struct {
	Paragraph int64 `parquet:"paragraph" json:"paragraph"`
	Question  int64 `parquet:"question" json:"question"`
	Answer    int64 `parquet:"answer" json:"answer"`
}

// key joins the numbers.
func (m AnswerMeta) key() string {
	return strconv.FormatInt(m.Paragraph, 10) + "_" + strconv.FormatInt(m.Question, 10) + "_" + strconv.FormatInt(m.Answer, 10)
}

// MultiRC has answers to questions about a paragraph, true or false. An answer
// that cannot be used is a dead letter of its own, and so is a question or a line.
func MultiRC() corpus.Format[Answer, AnswerMeta] {
	f := &records.Records[Answer, AnswerMeta]{
		Corpus: Corpus, Task: "multirc", Layout: records.JSON{}, KeyField: "idx",
		Rows: func(el *records.Element, row func(name []byte)) {
			p := newParagraph(el)
			for i := range p.answers {
				if p.answers[i].fault.Bad() {
					row(nil)
				} else {
					row([]byte(p.answers[i].meta.key()))
				}
			}
		},
		Decoder: func(*corpus.Source) func(el *records.Element, out *records.Out[Answer, AnswerMeta]) {
			return func(el *records.Element, out *records.Out[Answer, AnswerMeta]) {
				p := newParagraph(el)
				for i := range p.answers {
					a := &p.answers[i]
					if a.fault.Bad() {
						out.Dead(a.fault)
						continue
					}
					a.fields.Paragraph = p.text
					r := out.Row(a.meta.key(), a.fields, a.meta)
					r.Label, r.LabelID = a.label.Text, a.label.ID
				}
			}
		},
	}
	x := &export.Export[Answer, AnswerMeta]{
		Corpus: Corpus, Task: "multirc", Columns: []string{"paragraph", "question", "answer", "idx"},
		Label: "label", Labels: truths(),
		Set: func(v export.Values, f *Answer, m *AnswerMeta, _ *[]string) records.Fault {
			return first(v.Text(0, "paragraph", &f.Paragraph), v.Text(1, "question", &f.Question), v.Text(2, "answer", &f.Answer),
				number(v, 3, "paragraph", &m.Paragraph), number(v, 3, "question", &m.Question), number(v, 3, "answer", &m.Answer))
		},
		KeyOf: func(m *AnswerMeta) string { return m.key() },
	}
	return layouts[Answer, AnswerMeta](f, x, func(el *records.Element) bool { return el.Member("paragraph") != nil }, "")
}

// number reads a member of the exported column idx.
func number(v export.Values, i int, name string, to *int64) records.Fault {
	s, ok := v[i].(shard.Struct)
	if !ok {
		return records.Fault{Field: "idx", Reason: "no object with the numbers of the row"}
	}
	for _, f := range s {
		if n, ok := f.Value.(int64); ok && f.Name == name {
			*to = n
			return records.Fault{}
		}
	}
	return records.Fault{Field: "idx", Where: ".idx." + name, Reason: "no integer"}
}

// A paragraph is a line of MultiRC, read.
type paragraph struct {
	text    string
	answers []answer
}

// An answer, or why it, its question or its line cannot be used.
type answer struct {
	fields Answer
	meta   AnswerMeta
	label  table.Value
	fault  records.Fault
}

func newParagraph(el *records.Element) *paragraph {
	p := &paragraph{}
	labels := truths()
	var one answer
	var label []byte
	var answers []answer   // of the question being read
	var questions []answer // and those before it
	var idx int64

	answerObject := records.NewObject(records.Text("text", &one.fields.Answer), records.Integer("idx", &one.meta.Answer), records.OptionalValue("label", &label))
	question := records.NewObject(records.Text("question", &one.fields.Question), records.Integer("idx", &one.meta.Question),
		records.Each("answers", answerObject, func() { answers = nil }, func(i int, f records.Fault) {
			a := answer{fields: Answer{Answer: one.fields.Answer}, meta: AnswerMeta{Answer: one.meta.Answer}, fault: f}
			if !f.Bad() {
				a.label, a.fault = answerLabel(label, labels)
			}
			a.fault.Where = fmt.Sprintf(".answers[%d]%s", i, a.fault.Where)
			answers = append(answers, a)
		}))
	passage := records.NewObject(records.Text("text", &p.text),
		records.Each("questions", question, func() { questions = nil }, func(i int, f records.Fault) {
			where := fmt.Sprintf(".passage.questions[%d]", i)
			if f.Bad() {
				f.Where = where + f.Where
				questions = append(questions, answer{fault: f})
				return
			}
			for _, a := range answers {
				a.fields.Question, a.meta.Question = one.fields.Question, one.meta.Question
				a.fault.Where = where + a.fault.Where
				questions = append(questions, a)
			}
		}))
	line := records.NewObject(records.Integer("idx", &idx), records.Nested("passage", true, passage))
	if f := line.Read(el.Bytes); f.Bad() {
		p.answers = []answer{{fault: f}}
		return p
	}
	for _, a := range questions {
		a.meta.Paragraph = idx
		p.answers = append(p.answers, a)
	}
	return p
}

// answerLabel reads the label of an answer, 0 or 1 or a truth value.
func answerLabel(raw []byte, labels *table.Labels) (table.Value, records.Fault) {
	if len(raw) == 1 {
		return labelOf(raw, choice, labels)
	}
	return labelOf(raw, truth, labels)
}
