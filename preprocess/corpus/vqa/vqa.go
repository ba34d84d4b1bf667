// Package vqa reads VQA v2 and OK-VQA: files of questions about COCO's images,
// to which files of annotations - ten answers each - are joined by question id,
// and files of results.
//
// Questions and annotations may be of any size. The plan keeps about 45 bytes for
// each question: its id, sorted, and where its annotation lies. If that is more
// than memory may hold, sorted files take its place. A slice of
// questions then reads those annotations alone. Rows come in the order of the
// questions; annotations of no question are dead letters behind them.
package vqa

import (
	"espalier/pipeline"
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/example"
	"espalier/preprocess/rawjson"
)

// Task is the task of all rows.
const Task = "vqa"

// Fields are the source fields of a question.
type Fields struct {
	Question string `parquet:"question" json:"question"`
}

// Meta is what an annotation says beside answers.
type Meta struct {
	QuestionType *string   `parquet:"question_type,optional" json:"question_type"`
	AnswerType   *string   `parquet:"answer_type,optional" json:"answer_type"`
	Confidence   []*string `parquet:"confidence,list" json:"confidence"` // of the references, null where it is not told
}

// A Row is a question with its annotation; the references are the answers of all
// people, the label is the most frequent one if the file tells it.
type Row = example.Row[Fields, Meta]

// Annotated reads questions with annotations; the answers are a member of each of
// an annotation's answers: "answer", or "raw_answer" of OK-VQA, whose "answer" is
// stemmed.
func Annotated(name, answer string) corpus.Format[Fields, Meta] {
	return &format[Meta]{corpus: name, answer: answer, annotated: true, meta: func(a *annotation) Meta { return a.meta }}
}

// Questions reads questions without annotations.
func Questions(name string) corpus.Format[Fields, corpus.None] {
	return &format[corpus.None]{corpus: name, meta: func(*annotation) corpus.None { return corpus.None{} }}
}

// AnnotationNames returns the published names of the annotations of a file of
// questions.
func AnnotationNames(questions string) []string { return annotationNames(questions) }

type format[M any] struct {
	corpus    string
	answer    string // member of answers that holds the text
	annotated bool
	meta      func(*annotation) M
}

// A question is what rows need of one.
type question struct {
	id, image, text string
	object          *records.Object
}

func newQuestion() *question {
	q := &question{}
	q.object = records.NewObject(records.Digits("question_id", &q.id), records.Digits("image_id", &q.image), records.Filled("question", &q.text))
	return q
}

// An annotation is what rows need of one. Its lists are new for each; its texts
// are shared where they are short and come again.
type annotation struct {
	id      string
	label   *string
	answers []string
	meta    Meta

	field string
	p     rawjson.Parser
	seen  map[string]*string
}

func newAnnotation(field string) *annotation {
	return &annotation{field: field, seen: map[string]*string{}}
}

// maxShared bounds the table of shared texts.
const maxShared = 1 << 14

// shared returns one copy of a text.
func (a *annotation) shared(b []byte) *string {
	if s, ok := a.seen[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(b) <= 24 {
		if len(a.seen) >= maxShared {
			clear(a.seen)
		}
		a.seen[s] = &s
	}
	return &s
}

// read reads an annotation strictly.
func (a *annotation) read(b []byte) records.Fault {
	p := &a.p
	p.Reset(b)
	a.id, a.label, a.answers, a.meta = "", nil, nil, Meta{}
	if !p.Begin(rawjson.Object) {
		if k := p.Kind(); k != rawjson.Invalid && p.Err() == nil {
			return records.Fault{Reason: rawjson.Mismatch(k, rawjson.Object)}
		}
		return records.Fault{Reason: "not JSON"}
	}
	badID, badAnswers := records.Fault{Field: "question_id", Reason: records.Missing}, records.Fault{Field: "answers", Reason: records.Missing}
	var badText records.Fault
	for name, ok := p.Member(); ok; name, ok = p.Member() {
		switch string(name) {
		case "question_id":
			lit, kind := p.Number()
			a.id, badID = string(lit), idFault("question_id", lit, kind)
		case "multiple_choice_answer":
			a.label = a.optional(name, &badText)
		case "question_type":
			a.meta.QuestionType = a.optional(name, &badText)
		case "answer_type":
			a.meta.AnswerType = a.optional(name, &badText)
		case "answers":
			badAnswers = a.list()
		default:
			p.Skip()
		}
		if err := p.Err(); err != nil {
			return records.Fault{Field: string(name), Reason: err.Reason}
		}
	}
	p.End()
	if err := p.Err(); err != nil {
		return records.Fault{Reason: err.Reason}
	}
	for _, f := range []records.Fault{badID, badAnswers, badText} {
		if f.Bad() {
			return f
		}
	}
	return records.Fault{}
}

func idFault(field string, lit []byte, kind rawjson.Kind) records.Fault {
	switch {
	case kind != rawjson.Number:
		return records.Fault{Field: field, Reason: rawjson.Mismatch(kind, rawjson.Number)}
	case !rawjson.IsInteger(lit):
		return records.Fault{Field: field, Reason: records.NoInteger}
	}
	return records.Fault{}
}

// optional reads a text or null.
func (a *annotation) optional(name []byte, bad *records.Fault) *string {
	b, kind := a.p.Text()
	switch kind {
	case rawjson.Text:
		return a.shared(b)
	case rawjson.Null:
		return nil
	}
	*bad = records.Fault{Field: string(name), Reason: rawjson.Mismatch(kind, rawjson.Text)}
	return nil
}

// list reads the answers.
func (a *annotation) list() records.Fault {
	p := &a.p
	if !p.Begin(rawjson.Array) {
		k := p.Kind()
		p.Skip()
		return records.Fault{Field: "answers", Reason: rawjson.Mismatch(k, rawjson.Array)}
	}
	a.answers, a.meta.Confidence = make([]string, 0, 10), make([]*string, 0, 10)
	fault := records.Fault{}
	for p.Item() {
		if !p.Begin(rawjson.Object) {
			k := p.Kind()
			p.Skip()
			fault = records.Fault{Field: "answers", Reason: rawjson.Mismatch(k, rawjson.Object)}
			continue
		}
		var text, confidence *string
		for name, ok := p.Member(); ok; name, ok = p.Member() {
			switch string(name) {
			case a.field:
				text = a.optional(name, &fault)
			case "answer_confidence":
				confidence = a.optional(name, &fault)
			default:
				p.Skip()
			}
		}
		switch {
		case text == nil && !fault.Bad():
			fault = records.Fault{Field: a.field, Reason: records.Missing}
		case text != nil:
			a.answers = append(a.answers, *text)
			a.meta.Confidence = append(a.meta.Confidence, confidence)
		}
	}
	return fault
}

func (f *format[M]) letter(file string, n *int64, offset int64, where string, raw []byte, fault records.Fault) *pipeline.DeadLetter {
	return &pipeline.DeadLetter{
		Corpus: f.corpus, Task: Task, File: file, N: n, Offset: &offset,
		Field: fault.Field, Where: where, Reason: fault.Reason, Raw: append([]byte(nil), raw...),
	}
}
