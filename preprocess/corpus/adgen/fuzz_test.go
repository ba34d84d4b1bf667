package adgen

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func FuzzAdGen(f *testing.F) {
	corpustest.Fuzz(f, corpustest.With(Format), false, nil,
		"{\"content\": \"a#b*c\", \"summary\": \"x\"}\n{\"content\": \"a#b\", \"summary\": \"x\"}\n",
		"[{\"article\": \"[[a, b], [c, d]]\", \"summarization\": \"x\"}]",
		"{\n\"feature\": [[\"a\", \"b\"]], \"desc\": \"x\"}{\"feature\": [1]}",
	)
}
