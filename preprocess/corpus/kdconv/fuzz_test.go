package kdconv

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func FuzzKdConv(f *testing.F) {
	corpustest.Fuzz(f, corpustest.With(Format), false, nil,
		"[{\"messages\": [{\"message\": \"a\"}, {\"message\": \"b\"}, 4, {\"message\": \"c\"}], \"name\": \"n\"}, {\"messages\": []}, {\"messages\": [{\"message\": \"a\"}, {\"message\": 5",
	)
}
