package gqa

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func FuzzGQA(f *testing.F) {
	corpustest.Fuzz(f, corpustest.With(Format), false, nil,
		"{\"1\": {\"question\": \"q\", \"imageId\": \"2\", \"answer\": \"a\", \"types\": {\"structural\": \"query\"}}, \"1\": {\"question\": \"r\", \"imageId\": \"2\"}}",
		"{\"\\u0031\": {}, \"1\": 5}",
	)
}
