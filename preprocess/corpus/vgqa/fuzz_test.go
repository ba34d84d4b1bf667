package vgqa

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func FuzzVGQA(f *testing.F) {
	corpustest.Fuzz(f, corpustest.With(Format), false, nil,
		"[{\"id\": 4, \"qas\": [{\"qa_id\": 1, \"image_id\": 4, \"question\": \"q\", \"answer\": \"a\"}, {\"qa_id\": 1, \"image_id\": 4, \"question\": \"r\", \"answer\": \"a\"}, 7]}, {\"qas\": 3}]",
	)
}
