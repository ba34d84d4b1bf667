package lot

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func FuzzOutGen(f *testing.F) {
	corpustest.Fuzz(f, corpustest.With(OutGen), false, nil,
		"{\"story\": \"s\", \"outline\": [\"a\", \"b\"], \"title\": \"t\"}\n{\"story\": \"s\", \"outline\": [1], \"title\": \"t\"}",
	)
}

func FuzzClozeT(f *testing.F) {
	corpustest.Fuzz(f, corpustest.With(ClozeT), false, nil,
		"{\"story\": \"s\", \"plot0\": \"a\", \"plot1\": \"b\", \"label\": 1}\n{\"story\": \"s\", \"plot0\": \"a\", \"plot1\": \"b\", \"label\": \"2\"}",
	)
}
