package superglue

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func FuzzWSC(f *testing.F) {
	corpustest.Fuzz(f, corpustest.With(WSC()), false, nil,
		"{\"text\": \"Mark told Pete\", \"target\": {\"span2_index\": 1, \"span1_index\": 0, \"span1_text\": \"Mark\", \"span2_text\": \"told\"}, \"idx\": 0, \"label\": true}\n{\"target\": {}}\n",
	)
}

func FuzzWiC(f *testing.F) {
	corpustest.Fuzz(f, corpustest.With(WiC()), false, nil,
		"{\"word\": \"place\", \"sentence1\": \"a\", \"sentence2\": \"b\", \"start1\": 0, \"start2\": 1, \"end1\": 2, \"end2\": 3, \"idx\": 7, \"label\": false}\n",
	)
}

func FuzzCOPA(f *testing.F) {
	corpustest.Fuzz(f, corpustest.With(COPA()), false, nil,
		"{\"premise\": \"p\", \"choice1\": \"a\", \"choice2\": \"b\", \"question\": \"cause\", \"label\": 1, \"idx\": 1}\n{\"idx\": 1}\n",
	)
}
