package scienceqa

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func FuzzScienceQA(f *testing.F) {
	corpustest.Fuzz(f, corpustest.With(Format), false, nil,
		"{\"1\": {\"question\": \"q\", \"choices\": [\"a\", \"b\"], \"answer\": 1, \"hint\": \"\", \"image\": null, \"task\": \"t\", \"grade\": \"g\", \"subject\": \"s\", \"topic\": \"t\", \"category\": \"c\", \"skill\": \"s\", \"lecture\": \"\", \"solution\": \"\", \"split\": \"train\"}, \"2\": {\"choices\": []}}",
	)
}
