package alpaca

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func FuzzAlpaca(f *testing.F) {
	corpustest.Fuzz(f, corpustest.With(Format("alpaca")), false, nil,
		"[{\"instruction\": \"i\", \"input\": \"\", \"output\": \"o\"}, {}, 3]",
		"{\"instruction\": \"i\", \"input\": \"\", \"output\": \"o\"}\n{",
	)
}

func FuzzSeeds(f *testing.F) {
	corpustest.Fuzz(f, corpustest.With(Seeds), false, nil,
		"{\"id\": \"s\", \"name\": \"n\", \"instruction\": \"i\", \"instances\": [{\"input\": \"\", \"output\": \"o\"}, 5, {\"input\": 1}], \"is_classification\": false}",
	)
}
