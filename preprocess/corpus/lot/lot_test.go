package lot

import (
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

func TestGoldens(t *testing.T) {
	n := corpustest.Check(t, func(g corpustest.Golden) corpustest.Reader {
		if g.Corpus != "lot" {
			return nil
		}
		return map[string]corpustest.Reader{
			"outgen": corpustest.With(OutGen), "plotcom": corpustest.With(PlotCom), "clozet": corpustest.With(ClozeT), "senpos": corpustest.With(SenPos),
		}[g.Task]
	})
	if n != 4 {
		t.Errorf("%d files", n)
	}
}
