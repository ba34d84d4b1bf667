package boolq

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func FuzzBoolQ(f *testing.F) {
	corpustest.Fuzz(f, corpustest.With(BoolQ()), true, nil,
		"{\"question\": \"q\", \"title\": \"t\", \"answer\": true, \"passage\": \"p\"}\n{\"question\": \"q\", \"answer\": 1}\n{",
	)
}
