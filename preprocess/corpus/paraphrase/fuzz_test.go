package paraphrase

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func FuzzPAWSX(f *testing.F) {
	corpustest.Fuzz(f, corpustest.With(PAWSX("zh")), false, nil,
		"id\tsentence1\tsentence2\tlabel\n1\ta\t\"b\t1\n2\ta\n3\ta\tb\t7\n",
	)
}

func FuzzPKU(f *testing.F) {
	corpustest.Fuzz(f, corpustest.With(PKU), false, nil,
		"a\tb\na\nb\tc\td\n\te\n",
	)
}
