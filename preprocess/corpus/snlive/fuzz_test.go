package snlive

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func FuzzSNLIVE(f *testing.F) {
	corpustest.Fuzz(f, corpustest.With(Format), false, nil,
		"{\"pairID\": \"1.jpg#0r1e\", \"Flickr30K_ID\": \"1\", \"sentence2\": \"s\", \"gold_label\": \"entailment\"}\n{\"pairID\": \"2\", \"Flickr30K_ID\": \"2\", \"sentence2\": \"\", \"gold_label\": \"-\"}",
	)
}

func FuzzExplained(f *testing.F) {
	corpustest.Fuzz(f, corpustest.With(Explained), true, nil,
		"pairID,image_link,sentence2,label\n1.jpg#1,l,\"a,\n\"\"b\",neutral\n\"open",
	)
}
