package paws

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func FuzzPAWS(f *testing.F) {
	corpustest.Fuzz(f, corpustest.With(PAWS()), false, nil, "id\tsentence1\tsentence2\tlabel\n1\ta \"b\tc\t0\n1\tx\ty\t1\n2\tz\n")
}

func FuzzQuora(f *testing.F) {
	corpustest.Fuzz(f, corpustest.With(Quora()), true, nil, "1\ta\tb\t5\n0\tc\n")
}
