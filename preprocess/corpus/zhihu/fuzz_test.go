package zhihu

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func FuzzLines(f *testing.F) {
	corpustest.Fuzz(f, corpustest.With(Lines), false, nil,
		"[BOS]a#b[SEP]text[EOS]\n[BOS]a\nx\n[BOS][SEP]",
	)
}

func FuzzColumns(f *testing.F) {
	corpustest.Fuzz(f, corpustest.With(Columns), false, nil,
		"{\"length\": 2, \"content\": [\"a b\", \"\"], \"topic\": [\"x、y。\", 5]}",
	)
}
