package matinf

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func FuzzMATINF(f *testing.F) {
	corpustest.Fuzz(f, corpustest.With(Format), false, nil,
		"id,question,description,answer,class\r\n1,\"a,b\",\"two\nlines\",\"say \"\"hi\"\"\",x\r\n1,q,d,a,c\n2,\"x\"y,d,a,c\n3,q",
	)
}
