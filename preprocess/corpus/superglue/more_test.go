package superglue

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"espalier/pipeline/shard"
	"espalier/preprocess/corpus/corpustest"
)

// show reads bytes and shows rows and dead letters.
func show(t testing.TB, read corpustest.Reader, name string, b []byte, mean int) (out []string) {
	t.Helper()
	rows, dead, err := read(t, corpustest.Bytes(name, b), mean)
	if err != nil {
		return []string{err.Error()}
	}
	for _, r := range rows {
		out = append(out, fmt.Sprint(r["n"], " ", r["key"], " ", r["fields"], " ", r["label"], " ", r["label_id"], " ", r["meta"], " ", r["references"]))
	}
	for _, d := range dead {
		out = append(out, fmt.Sprint(*d.N, " ", d.Where, " ", d.Field, ": ", d.Reason))
	}
	return out
}

const multirc = `{"idx": 1, "passage": {"text": "P", "questions": [{"answers": [{"text": "a", "idx": 3, "label": 1}, {"text": 5, "idx": 4}, {"text": "c", "idx": 5, "label": false}], "question": "Q", "idx": 2}, {"idx": 9}]}}
{"idx": 2, "passage": {"text": null}}
{"idx": 3, "passage": {"text": "P3", "questions": [{"question": "Q3", "idx": 7, "answers": [{"text": "", "idx": 8}, {"text": "z", "idx": 8}]}]}}
`

const record = `{"idx": 1, "passage": {"text": "Zoë met Ann.", "entities": [{"start": 8, "end": 10}, {"start": 0, "end": 2}, {"start": 8, "end": 10}]}, "qas": [{"query": "@placeholder?", "idx": 5, "answers": [{"start": 8, "end": 10, "text": "Ann"}, {"start": 0, "end": 2, "text": "Zoë"}, {"start": 8, "end": 10, "text": "Ann"}]}, {"query": "X", "idx": 6}, {"idx": 7}]}
{"idx": 2, "passage": {"text": "short", "entities": [{"start": 3, "end": 5}]}, "qas": [{"query": "Y", "idx": 8}]}
`

func TestNestedRows(t *testing.T) {
	wantM := []string{
		"0 1_2_3 map[answer:a paragraph:P question:Q] True 1 map[answer:3 paragraph:1 question:2] <nil>",
		"2 1_2_5 map[answer:c paragraph:P question:Q] False 0 map[answer:5 paragraph:1 question:2] <nil>",
		"5 3_7_8 map[answer: paragraph:P3 question:Q3] <nil> -1 map[answer:8 paragraph:3 question:7] <nil>",
		"1 .passage.questions[0].answers[1] text: number where text is expected", "3 .passage.questions[1] question: missing field",
		"4  text: null where text is expected", "6  idx: duplicate key",
	}
	wantR := []string{
		"0 1_5 map[answers:[Ann Zoë] entities:[Ann Zoë] passage:Zoë met Ann. query:@placeholder?] <nil> <nil> map[passage:1 query:5 spans:[[0 3] [8 11] [8 11]]] [Ann Zoë]",
		"1 1_6 map[answers:[] entities:[Ann Zoë] passage:Zoë met Ann. query:X] <nil> <nil> map[passage:1 query:6 spans:[[0 3] [8 11] [8 11]]] []",
		"2 .qas[2] query: missing field", "3 .passage.entities entities: a span from 3 to 5 in a passage of 5 characters",
	}
	for _, mean := range []int{1, 4096} {
		if got := show(t, corpustest.With(MultiRC()), "x.jsonl", []byte(multirc), mean); !slices.Equal(got, wantM) {
			t.Errorf("MultiRC: %q", got)
		}
		if got := show(t, corpustest.With(ReCoRD()), "x.jsonl", []byte(record), mean); !slices.Equal(got, wantR) {
			t.Errorf("ReCoRD: %q", got)
		}
	}
}

func TestExports(t *testing.T) {
	if got := show(t, corpustest.With(WSC()), "x.jsonl", []byte(`{"text": "T", "span1_index": 0, "span2_index": 4, "span1_text": "A", "span2_text": "it", "idx": 3, "label": 1}`), 1); !slices.Equal(got, []string{
		"0 3 map[span1_index:0 span1_text:A span2_index:4 span2_text:it text:T] True 1 map[] <nil>",
	}) {
		t.Errorf("WSC: %q", got)
	}
	if got := show(t, corpustest.With(BoolQ()), "x.jsonl", []byte(`{"question": "q", "passage": "p", "idx": 3, "label": 1}`+"\n"+`{"question": "q", "passage": "p", "idx": 4, "label": -1}`), 1); !slices.Equal(got, []string{
		"0 3 map[passage:p question:q] True 1 map[] <nil>", "1 4 map[passage:p question:q] <nil> -1 map[] <nil>",
	}) {
		t.Errorf("BoolQ: %q", got)
	}
	type spans struct {
		Text  []string `parquet:"text,list"`
		Start []int32  `parquet:"start,list"`
		End   []int32  `parquet:"end,list"`
	}
	type numbers struct {
		Passage int32 `parquet:"passage"`
		Query   int32 `parquet:"query"`
	}
	type row struct {
		Passage  string   `parquet:"passage"`
		Query    string   `parquet:"query"`
		Entities []string `parquet:"entities,list"`
		Spans    spans    `parquet:"entity_spans"`
		Answers  []string `parquet:"answers,list"`
		Idx      numbers  `parquet:"idx"`
	}
	var b bytes.Buffer
	w, err := shard.NewWriter[row](&b, shard.Options{})
	if err == nil {
		err = w.Write([]row{
			{"P", "Q", []string{"b", "a"}, spans{[]string{"b", "a"}, []int32{5, 0}, []int32{6, 1}}, []string{"b"}, numbers{1, 2}},
			{"P", "Q", nil, spans{}, nil, numbers{1, 2}},
		})
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := show(t, corpustest.With(ReCoRD()), "validation.parquet", b.Bytes(), 1); !slices.Equal(got, []string{
		"0 1_2 map[answers:[b] entities:[a b] passage:P query:Q] <nil> <nil> map[passage:1 query:2 spans:[[0 1] [5 6]]] [b]", "1 rows[1] idx: duplicate key",
	}) {
		t.Errorf("ReCoRD: %q", got)
	}
}

func TestLabelsOfTheWrongKind(t *testing.T) {
	text := `{"question": "q", "passage": "p", "label": true, "idx": 3}
{"question": "q", "passage": "p", "label": "true", "idx": 4}
{"question": "q", "passage": "p", "label": 1, "idx": 5}
{"question": "q", "passage": "p", "label": null, "idx": 7}
`
	if got := show(t, corpustest.With(BoolQ()), "x.jsonl", []byte(text), 4096); !slices.Equal(got, []string{
		"0 3 map[passage:p question:q] True 1 map[] <nil>", "1  label: text where a truth value is expected",
		"2  label: number where a truth value is expected", "3  label: null where a truth value is expected",
	}) {
		t.Errorf("%q", got)
	}
	if got := show(t, corpustest.With(COPA()), "x.jsonl", []byte(`{"premise": "p", "choice1": "a", "choice2": "b", "question": "cause", "label": 2, "idx": 1}`), 1); !slices.Equal(got, []string{"0  label: unknown label"}) {
		t.Errorf("COPA: %q", got)
	}
}

func FuzzNested(f *testing.F) {
	f.Add([]byte(multirc))
	f.Add([]byte(record))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, read := range []corpustest.Reader{corpustest.With(MultiRC()), corpustest.With(ReCoRD()), corpustest.With(CB())} {
			if whole, one := show(t, read, "x", b, 4096), show(t, read, "x", b, 1); !slices.Equal(whole, one) {
				t.Errorf("slices of one row differ:\n%q\n%q", one, whole)
			}
		}
	})
}
