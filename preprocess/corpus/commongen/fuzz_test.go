package commongen

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func FuzzCommonGen(f *testing.F) {
	corpustest.Fuzz(f, corpustest.With(CommonGen()), true, nil,
		"{\"concept_set\": \"a#b\", \"scene\": [\"A b.\"]}\n{\"concept_set\": \"a#b\", \"scene\": []}\n{\"concept_set\": 5}\n[",
	)
}
