package trainer

import (
	"testing"

	"espalier/pipeline"
	"espalier/trainer/cpu"
	"espalier/trainer/dry"
	"espalier/trainer/model/ort"
)

// The memory of a step that is computed before it runs is what a device then
// takes, to the byte.
func TestMemoryOfAStep(t *testing.T) {
	for name, im := range map[string]ort.Images{
		"grids":   {N: 3, Cells: 6, Height: 2, Width: 3},
		"regions": {N: 4, Cells: 9},
	} {
		for _, clip := range []float64{0, 1} {
			s := toyTrain(1)
			s.Optimizer.ClipNorm = clip
			if err := s.Check(); err != nil {
				t.Fatal(err)
			}
			none := 0.0
			c := ort.Config{Width: 32, Hidden: 48, Heads: 2, Layers: 2, Features: 10, Vocab: 50, PAD: 0, BOS: 48, EOS: 49, MaxLen: 11, DropSource: &none}
			want, err := s.stepBytes(dry.New(), c, im)
			if err != nil {
				t.Fatal(err)
			}
			for _, threads := range []int{1, 3} {
				dev := cpu.New(threads)
				got, err := s.stepBytes(dev, c, im)
				if err != nil {
					t.Fatal(err)
				}
				if got != want || want == 0 {
					t.Errorf("%s, %d threads: a step takes %d bytes, computed before: %d", name, threads, got, want)
				}
				dev.Close()
			}
		}
	}
}

// A plan names the memory of a training whose inputs are there, and only then.
func TestPlanNamesMemory(t *testing.T) {
	for _, boxes := range []bool{false, true} {
		ts := newToyStore(t)
		g := toyGraph(toyData{N: 12, Boxes: boxes}, toyTrain(3))
		memory := func() int64 {
			planned, err := pipeline.Plan(t.Context(), g, pipeline.Options{Store: ts.s, Scratch: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range planned {
				if p.Stage == "train" {
					return p.Memory
				}
			}
			t.Fatal("no stage train")
			return 0
		}
		if got := memory(); got != 0 {
			t.Errorf("without inputs a step takes %d bytes", got)
		}
		for _, input := range []string{"tokens", "vocab", "features", "examples"} {
			ts.mustRun(g, 1, input)
		}
		if got := memory(); got < 10000 || got > 100e6 {
			t.Errorf("with inputs a step takes %d bytes", got)
		}
		ts.mustRun(g, 1, "train")
		if got := memory(); got != 0 {
			t.Errorf("a step that has run takes %d bytes", got)
		}
	}
}
