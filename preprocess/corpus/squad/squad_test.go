package squad

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"espalier/internal/shared"
	"espalier/preprocess/corpus/corpustest"
)

const doc = `{"version": "v2.0", "data": [
 {"title": "A", "paragraphs": [
  {"context": "One two three.", "qas": [
   {"id": "q1", "question": "What?", "answers": [{"text": "two", "answer_start": 4}, {"text": "two", "answer_start": 4}], "is_impossible": false},
   {"id": "q2", "question": "Who?", "answers": [], "is_impossible": true, "plausible_answers": [{"text": "One", "answer_start": 0}]},
   {"id": "q3", "question": "Which?", "answers": []}]}]},
 {"title": "B", "paragraphs": [
  {"context": "X", "qas": [{"id": "q1", "question": "Again?", "answers": [{"text": "X", "answer_start": 0}]}, {"id": "", "question": "", "answers": []}, {"id": "q4", "question": 5, "answers": []}]},
  {"qas": []}]},
 7,
 {"title": "C", "paragraphs": [{"context": "Y", "qas": [{"id": "q5", "question": "Last?", "answers": [{"text": "Y", "answer_start": 0}]}]}]}]}`

func show(rows []corpustest.Row) (out []string) {
	for _, r := range rows {
		f := r["fields"].(map[string]any)
		out = append(out, fmt.Sprint(r["n"], " ", r["key"], " ", f["title"], "|", f["context"], "|", f["question"], " ", r["references"], " ", r["meta"]))
	}
	return out
}

func TestSQuAD2(t *testing.T) {
	for _, mean := range []int{1, 2, 4096} {
		rows, dead, err := corpustest.With(SQuAD2())(t, corpustest.Bytes("dev-v2.0.json", []byte(doc)), mean)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"0 q1 A|One two three.|What? [two two] map[answer_starts:[4 4] is_impossible:false plausible_answers:<nil>]",
			"1 q2 A|One two three.|Who? [] map[answer_starts:[] is_impossible:true plausible_answers:[One]]",
			"8 q5 C|Y|Last? [Y] map[answer_starts:[0] is_impossible:false plausible_answers:<nil>]",
		}
		got := show(rows)
		for i := range got {
			got[i] = strings.Replace(got[i], "plausible_answers:[]", "plausible_answers:<nil>", 1)
		}
		if !slices.Equal(got, want) {
			t.Errorf("rows %s", strings.Join(got, "\n"))
		}
		var letters []string
		for _, d := range dead {
			letters = append(letters, fmt.Sprintf("%d %s %s: %s", *d.N, d.Where, d.Field, d.Reason))
		}
		want = []string{
			"2 data[0].paragraphs[0].qas[2] answers: no answer", "3 data[1] id: duplicate key", "4 data[1].paragraphs[0].qas[1] id: empty text",
			"5 data[1].paragraphs[0].qas[2] question: number where text is expected", "6 data[1].paragraphs[1] context: missing field",
			"7 data[2] : number where an object is expected",
		}
		if !slices.Equal(letters, want) {
			t.Errorf("dead letters\n%s", strings.Join(letters, "\n"))
		}
		if rows[0]["split"] != "validation" {
			t.Errorf("split %v", rows[0]["split"])
		}
	}
}

func TestRealFiles(t *testing.T) {
	for _, c := range []struct {
		file       string
		read       corpustest.Reader
		rows, dead int
	}{
		{"glue-allennlp/rc/squad.json", corpustest.With(SQuAD()), 5, 0},
		{"glue-allennlp/rc/squad2.json", corpustest.With(SQuAD2()), 5, 1}, // an id is there twice,
		{"hf-dummy/squad/plain_text/dev-v1.1.json", corpustest.With(SQuAD()), 1, 0},
	} {
		src, err := corpustest.File(t, shared.Dir(t, "data", c.file), c.file)
		if err != nil {
			t.Fatal(err)
		}
		rows, dead, err := c.read(t, src, 1)
		if err != nil || len(rows) != c.rows || len(dead) != c.dead {
			t.Errorf("%s: %d rows, %d dead letters, %v", c.file, len(rows), len(dead), err)
		}
	}
}

func FuzzSQuAD(f *testing.F) {
	f.Add([]byte(doc))
	f.Add([]byte(`{"data": [{"title": "A", "paragraphs": [`))
	f.Fuzz(func(t *testing.T, b []byte) {
		read := corpustest.With(SQuAD2())
		rows, dead, err := read(t, corpustest.Bytes("x", b), 4096)
		again, dead2, err2 := read(t, corpustest.Bytes("x", b), 1)
		if (err == nil) != (err2 == nil) || !slices.Equal(show(rows), show(again)) || len(dead) != len(dead2) {
			t.Errorf("slices of one row differ: %v, %v", err, err2)
		}
	})
}
