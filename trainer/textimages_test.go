package trainer

import (
	"slices"
	"testing"

	"espalier/internal/shared"
	"espalier/trainer/ckpt"
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
