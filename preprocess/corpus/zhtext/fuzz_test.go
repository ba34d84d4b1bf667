package zhtext

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func FuzzSentences(f *testing.F) {
	corpustest.Fuzz(f, corpustest.With(Sentences), false, nil,
		"{\"text\": [\"a\", \"b\"], \"label\": [0, 1]}\n{\"text\": [\"a\"], \"label\": [0.5]}\n{\"text\": [], \"label\": [1]}",
	)
}
