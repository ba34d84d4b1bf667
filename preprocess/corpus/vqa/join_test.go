package vqa

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"espalier/pipeline"
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/corpustest"
)

func ask(id int) string {
	return fmt.Sprintf(`{"image_id": %d, "question": "Q%d?", "question_id": %d}`, id/10, id, id)
}

func note(id int, answer string) string {
	return fmt.Sprintf(`{"question_id": %d, "image_id": %d, "multiple_choice_answer": %q, "answers": [{"answer": %q, "raw_answer": "raw %s", "answer_id": 1}]}`, id, id/10, answer, answer, answer)
}

func documents(questions, notes []string) (*corpus.Source, *corpus.Source) {
	q := corpustest.Bytes("questions.json", []byte(`{"questions": [`+strings.Join(questions, ", ")+`], "data_subtype": "val2014"}`))
	return q, corpustest.Bytes("annotations.json", []byte(`{"annotations": [`+strings.Join(notes, ",\n")+`]}`))
}

func TestJoinInAnyOrder(t *testing.T) {
	const n = 300
	var questions, notes []string
	for i := range n {
		questions = append(questions, ask(7*i))
		notes = append(notes, note(7*i, fmt.Sprint("a", i)))
	}
	for _, shuffled := range []bool{false, true} {
		if shuffled {
			r := rand.New(rand.NewPCG(1, 2))
			r.Shuffle(n, func(i, k int) { notes[i], notes[k] = notes[k], notes[i] })
			r.Shuffle(n, func(i, k int) { questions[i], questions[k] = questions[k], questions[i] })
		}
		q, a := documents(questions, notes)
		q.Joined = []*corpus.Source{a}
		rows, dead, err := corpustest.With(Annotated("okvqa", "raw_answer"))(t, q, 20)
		if err != nil || len(dead) > 0 || len(rows) != n {
			t.Fatalf("%d rows, %d dead letters, %v", len(rows), len(dead), err)
		}
		for i, r := range rows {
			var id int
			if _, err := fmt.Sscan(r["key"].(string), &id); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(questions[i], fmt.Sprintf(`"question_id": %d}`, id)) {
				t.Errorf("row %d is question %d", i, id)
			}
			want := []any{fmt.Sprintf("raw a%d", id/7)}
			if !reflect.DeepEqual(r["references"], want) || r["image"] != fmt.Sprintf("COCO_val2014_%012d", id/10) || r["split"] != "val2014" || r["corpus"] != "okvqa" {
				t.Errorf("row %d: %v", i, r)
			}
		}
	}
}

func TestJoinFaults(t *testing.T) {
	questions := []string{
		`{"image_id": 1, "question": "", "question_id": 1}`, ask(1), ask(2), `7`, ask(1), ask(3), `{"image_id": 1, "question": "Q", "question_id": 1e2}`, ask(4), ask(5),
	}
	notes := []string{note(1, "x"), note(3, "y"), note(1, "again"), `{"question_id": 2, "answers": {}}`, note(99, "z"), `5`, `{"question_id": 4, "answers": [{"answer": 5}]}`}
	want := []string{
		"questions.json questions[0] question empty text", "questions.json questions[3]  number where an object is expected", "questions.json questions[4] question_id duplicate key",
		"questions.json questions[6] question_id number is no integer", "questions.json questions[8]  no annotation",
		"annotations.json annotations[3] answers object where an array is expected", "annotations.json annotations[6] answer number where text is expected",
		"annotations.json annotations[2] question_id duplicate key", "annotations.json annotations[4] question_id no such question", "annotations.json annotations[5] question_id number where an object is expected",
	}
	for _, mean := range []int{1, 3, 100} {
		q, a := documents(questions, notes)
		q.Joined = []*corpus.Source{a}
		rows, dead, err := corpustest.With(Annotated("vqav2", "answer"))(t, q, mean)
		if err != nil || len(rows) != 2 || rows[0]["key"] != "1" || rows[0]["label"] != "x" || rows[1]["key"] != "3" {
			t.Fatalf("mean %d: rows %v, %v", mean, rows, err)
		}
		seen := map[string]bool{}
		for _, d := range dead {
			seen[fmt.Sprintf("%s %s %s %s", d.File, d.Where, d.Field, d.Reason)] = true
		}
		for _, w := range want {
			if !seen[w] {
				t.Errorf("mean %d: no dead letter %s", mean, w)
			}
		}
		if len(dead) != len(want) {
			t.Errorf("mean %d: %d dead letters, want %d: %v", mean, len(dead), len(want), seen)
		}
	}
}

func TestQuestionsWithoutAnnotations(t *testing.T) {
	q, _ := documents([]string{ask(10), ask(20)}, nil)
	rows, dead, err := corpustest.With(Questions("vqav2"))(t, q, 100)
	if err != nil || len(dead) > 0 || len(rows) != 2 {
		t.Fatal(rows, dead, err)
	}
	if r := rows[1]; r["label"] != nil || r["references"] != nil || len(r["meta"].(map[string]any)) > 0 || r["key"] != "20" {
		t.Errorf("row %v", r)
	}
}

func TestJoinRefuses(t *testing.T) {
	for _, c := range []struct{ questions, notes, file string }{
		{`{"questions": [{"id"`, `{"annotations": []}`, "questions.json"},
		{`{"annotations": []}`, `{"annotations": []}`, "questions.json"},
		{`{"questions": []}`, `{"annotations": [{]}`, "annotations.json"},
		{`{"questions": []}`, `[]`, "annotations.json"},
	} {
		q := corpustest.Bytes("questions.json", []byte(c.questions), corpustest.Bytes("annotations.json", []byte(c.notes)))
		_, _, err := corpustest.With(Annotated("vqav2", "answer"))(t, q, 100)
		var r *pipeline.RefusedError
		if !errors.As(err, &r) || r.File != c.file {
			t.Errorf("%s with %s: %v", c.questions, c.notes, err)
		}
	}
}

func TestAnnotationNames(t *testing.T) {
	for questions, want := range map[string]string{
		"v2_OpenEnded_mscoco_train2014_questions.json": "v2_mscoco_train2014_annotations.json",
		"OpenEnded_mscoco_val2014_questions.json":      "mscoco_val2014_annotations.json",
		"x/questions.json":                             "annotations.json",
	} {
		if got := AnnotationNames(questions); len(got) == 0 || got[0] != want {
			t.Errorf("%s: %q", questions, got)
		}
	}
	if got := AnnotationNames("other.json"); got != nil {
		t.Errorf("%q", got)
	}
}
