package trainer

import (
	"reflect"
	"slices"
	"testing"

	"espalier/internal/shared"
	"espalier/trainer/ckpt"
	"espalier/trainer/feed"
	"espalier/trainer/model/t5"
)

func TestPoolGrids(t *testing.T) {
	w, err := ckpt.OpenFile(shared.Dir(t, "goldens", "papers", "hyperpelt", "grid_pool.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	read := func(name string) []float32 {
		x, err := w.Floats(name)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	grid := read("grid49")
	for side, name := range map[int]string{6: "max36", 3: "max9", 7: "grid49"} {
		if got := poolGrids(grid, 2, 7, 7, 3, side); !slices.Equal(got, read(name)) {
			t.Errorf("side %d gives other numbers", side)
		}
	}
}

// By hand: a row of three in two parts shares the middle.
func TestPoolSmall(t *testing.T) {
	got := poolGrids([]float32{-1, 10, -2, 30, -3, 20}, 1, 1, 3, 2, 1)
	if want := []float32{-1, 30}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	x := []float32{1, 5, 2, 3, 4, 9, 8, 7, 6} // 3x3
	if got, want := poolGrids(x, 1, 3, 3, 1, 2), []float32{5, 9, 8, 9}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Regions are cut to, or padded with zeros to what the model sees; a box becomes
// x1 x2 y1 y2 and its area.
func TestRegionsOfABatch(t *testing.T) {
	f := feed.Features{
		N: 2, Cells: 2, Dim: 1, Counts: []int{2, 1},
		Values: []float32{1, 2, 3, 0},
		Boxes:  []float32{0, 0, 1, 1, 0.25, 0.5, 0.75, 1, 0.5, 0, 1, 0.5, 0, 0, 0, 0},
	}
	for cells, want := range map[int]t5.Images{
		1: {Cells: 1, Dim: 1, Counts: []int{1, 1}, Features: []float32{1, 3}, Boxes: []float32{0, 1, 0, 1, 1, 0.5, 1, 0, 0.5, 0.25}},
		3: {
			Cells: 3, Dim: 1, Counts: []int{2, 1}, Features: []float32{1, 2, 0, 3, 0, 0},
			Boxes: []float32{0, 1, 0, 1, 1, 0.25, 0.75, 0.5, 1, 0.25, 0, 0, 0, 0, 0, 0.5, 1, 0, 0.5, 0.25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		},
	} {
		if got := textImages(&f, 0, cells); !reflect.DeepEqual(got, want) {
			t.Errorf("%d regions: %v, want %v", cells, got, want)
		}
	}
}
