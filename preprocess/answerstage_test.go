package preprocess

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"espalier/pipeline"
	"espalier/preprocess/corpus/vqa"
)

func TestAnswers(t *testing.T) {
	b := newBench(t)
	var questions, notes []string
	for i, list := range [][]string{
		{"Yes", "yes", "yes", "no"}, {"yes", "yes", "maybe", "maybe"}, {"no", "no", "No", "red"}, {"blue", "blue", "blue", "blue"},
	} {
		questions = append(questions, fmt.Sprintf(`{"image_id": 1, "question": "q", "question_id": %d}`, i))
		var answers []string
		for _, a := range list {
			answers = append(answers, fmt.Sprintf(`{"answer": %q}`, a))
		}
		notes = append(notes, fmt.Sprintf(`{"question_id": %d, "multiple_choice_answer": %q, "answers": [%s]}`, i, list[1], strings.Join(answers, ",")))
	}
	b.write("v2_OpenEnded_mscoco_val2014_questions.json", `{"questions": [`+strings.Join(questions, ",")+`]}`)
	b.write("v2_mscoco_val2014_annotations.json", `{"annotations": [`+strings.Join(notes, ",")+`]}`)
	stage := NewAnswers(strings.ToLower)
	stage.Min = 1
	n, err := b.run(pipeline.Graph{Nodes: []pipeline.Node{
		{Name: "raw", Stage: &pipeline.Files{Path: b.raw}},
		{Name: "examples", Stage: &Ingest{Corpus: "vqav2"}, Inputs: map[string]string{"raw": "raw"}},
		{Name: "answers", Stage: stage, Inputs: map[string]string{"examples": "examples"}},
	}}, "answers")
	if err != nil {
		t.Fatal(err)
	}
	f, err := b.store.OpenFile(t.Context(), n.Manifest, AnswersFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	if err != nil {
		t.Fatal(err)
	}
	var vocabulary []string
	if err := json.Unmarshal(text, &vocabulary); err != nil || !reflect.DeepEqual(vocabulary, []string{"yes", "blue", "no"}) {
		t.Errorf("vocabulary %q, %v", vocabulary, err)
	}
	want := []Target{
		{"vqav2/vqa/val2014/0", "val2014", []string{"yes", "no"}, []int32{0, 2}, []float32{0.9, 0.3}},
		{"vqav2/vqa/val2014/1", "val2014", []string{"yes"}, []int32{0}, []float32{0.6}},
		{"vqav2/vqa/val2014/2", "val2014", []string{"no"}, []int32{2}, []float32{0.9}},
		{"vqav2/vqa/val2014/3", "val2014", []string{"blue"}, []int32{1}, []float32{1}},
	}
	if got := rows[Target](b, n, "val2014"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	if m := n.Manifest.Notes; m["answers"] != "3" || m["questions_without_target"] != "0" {
		t.Errorf("notes %v", m)
	}
}

func TestVocabulary(t *testing.T) {
	c := vqa.Counts{"b": 9, "a": 9, "rare": 8, "most": 20}
	if got := c.Vocabulary(vqa.MinAnswers); !reflect.DeepEqual(got, []string{"most", "a", "b"}) {
		t.Errorf("%q", got)
	}
}
