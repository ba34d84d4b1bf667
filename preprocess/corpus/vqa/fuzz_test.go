package vqa

import (
	"bytes"
	"testing"

	"espalier/pipeline"
	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/corpustest"
)

// A split takes what stands behind the first bar for annotations.
func split(b []byte) []*corpus.Source {
	_, notes, _ := bytes.Cut(b, []byte{'|'})
	return []*corpus.Source{corpustest.Bytes("annotations", notes)}
}

// questionsOf reads what stands before the first bar.
func questionsOf(read corpustest.Reader) corpustest.Reader {
	return func(t testing.TB, src *corpus.Source, mean int) ([]corpustest.Row, []*pipeline.DeadLetter, error) {
		b := make([]byte, src.Size)
		if _, err := src.ReadAt(b, 0); err != nil && len(b) > 0 {
			t.Fatal(err)
		}
		b, _, _ = bytes.Cut(b, []byte{'|'})
		return read(t, corpustest.Bytes(src.Name, b, src.Joined...), mean)
	}
}

func FuzzAnnotated(f *testing.F) {
	corpustest.Fuzz(f, questionsOf(corpustest.With(Annotated("vqav2", "answer"))), false, split,
		"{\"data_subtype\": \"val2014\", \"questions\": [{\"image_id\": 7, \"question\": \"Q?\", \"question_id\": 70}, {\"image_id\": 7, \"question\": \"again\", \"question_id\": 70}]}|{\"annotations\": [{\"question_id\": 70, \"image_id\": 7, \"answers\": [{\"answer\": \"a\"}]}, {\"question_id\": 9, \"answers\": []}]}",
	)
}
