package nlvr

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func FuzzNLVR2(f *testing.F) {
	corpustest.Fuzz(f, corpustest.With(Format), false, nil,
		"{\"identifier\": \"dev-1-0-0\", \"sentence\": \"s\", \"label\": \"True\"}\n\n{\"identifier\": \"dev-1-0-0\", \"sentence\": \"t\", \"label\": \"False\"}\n{\"identifier\": \"x\", \"label\": \"no\"",
	)
}
