package gec

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func FuzzM2(f *testing.F) {
	corpustest.Fuzz(f, corpustest.With(M2("m2")), false, nil,
		"S a b\nA 0 1|||R|||x|||REQUIRED|||-NONE-|||0\nA 0 9|||R|||x|||REQUIRED|||-NONE-|||1\n\n\nA 0 1|||R\n\nS\nS c\n",
	)
}

func FuzzTrain(f *testing.F) {
	corpustest.Fuzz(f, corpustest.With(Train), false, nil,
		"1\t0\ta b\n2\t1\tc\td\n1\t1\te\n\n3\tx\ty",
	)
}
