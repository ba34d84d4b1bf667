package glue

import (
	"strings"
	"testing"

	"espalier/preprocess/corpus/corpustest"
)

// readers of the tasks, by the name of the task.
func readerOf(task string) corpustest.Reader {
	switch task {
	case "cola":
		return corpustest.With(CoLA())
	case "sst2":
		return corpustest.With(SST2())
	case "qqp":
		return corpustest.With(QQP())
	case "stsb":
		return corpustest.With(STSB())
	case "mnli":
		return corpustest.With(MNLI())
	case "ax":
		return corpustest.With(AX())
	case "qnli":
		return corpustest.With(QNLI())
	case "rte":
		return corpustest.With(RTE())
	case "wnli":
		return corpustest.With(WNLI())
	case "mrpc":
		return corpustest.With(MRPC())
	}
	return nil
}

func TestGoldens(t *testing.T) {
	n := corpustest.Check(t, func(g corpustest.Golden) corpustest.Reader {
		switch {
		case g.Corpus != "glue":
			return nil
		case strings.HasSuffix(g.File, ".csv"):
			return corpustest.With(MRPCExport())
		}
		return readerOf(g.Task)
	})
	if n != 53 {
		t.Errorf("%d files, want 53", n)
	}
}

func TestTraps(t *testing.T) {
	n := corpustest.Traps(t, "testdata", func(c corpustest.Trap) corpustest.Reader {
		task, ok := strings.CutPrefix(c.ReadAs, "glue/")
		if !ok {
			return nil
		}
		return readerOf(strings.TrimSuffix(task, "-train"))
	})
	if n != 34 {
		t.Errorf("%d traps, want 34", n)
	}
}

func TestSharedTraps(t *testing.T) {
	n := corpustest.SharedTraps(t, func(c corpustest.Trap) corpustest.Reader {
		task, ok := strings.CutPrefix(c.ReadAs, "glue/")
		if !ok {
			return nil
		}
		return readerOf(strings.TrimSuffix(task, "-train"))
	})
	if n != 34 {
		t.Errorf("%d traps, want 34", n)
	}
}

func FuzzGLUE(f *testing.F) {
	f.Add("train.tsv", []byte("gj04\t1\t\tGood one.\rgj04\t0\n\nx\t2\ty\tz\n"))
	f.Add("train.jsonl", []byte("{\"sentence\": \"a\", \"label\": -1, \"idx\": 3}\n{\"sentence\": 5, \"idx\": [3]}\n{\"idx\": 3"))
	f.Add("train.parquet", []byte("PAR1"))
	f.Fuzz(func(t *testing.T, name string, b []byte) {
		corpustest.SameSlices(t, corpustest.With(CoLA()), name, b)
	})
}
