package feed

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"espalier/internal/shared"
)

func TestEpochs(t *testing.T) {
	// spec/hyperpelt.md 9.1: sizes of GLUE less the held-out thousands, T = 2, 2^18 steps of 128.
	sizes := []int64{8551, 66349, 3668, 362846, 5749, 391702, 103743, 2490}
	want := []float64{173.9, 62.4, 265.5, 26.7, 212.1, 25.7, 49.9, 322.3}
	for i, got := range (Mix{Temperature: 2}).Epochs(sizes, 1<<18, 128) {
		if math.Abs(got-want[i]) > 0.06 {
			t.Errorf("source %d: %.2f epochs, want %g", i, got, want[i])
		}
	}
	if got := (Mix{Temperature: 2}).Epochs([]int64{0, 4}, 10, 2); got[0] != 0 || got[1] != 5 {
		t.Errorf("%v", got)
	}
}

func TestEqualShares(t *testing.T) {
	if got := (Mix{Temperature: math.Inf(1)}).Shares([]int64{1, 1 << 40, 0, 7}); !slices.Equal(got, []float64{1. / 3, 1. / 3, 0, 1. / 3}) {
		t.Errorf("%v", got)
	}
	if got := (Mix{}).Shares([]int64{0, 0}); !slices.Equal(got, []float64{0, 0}) {
		t.Errorf("%v", got)
	}
}

func TestReferenceFirstDraws(t *testing.T) {
	// spec/skillnet.md 4: uniforms and draws of seed 42, T = 4, K = 2^21.
	var m mersenne
	m.seed(42)
	for _, want := range []float64{0.3745401188473625, 0.9507143064099162, 0.7319939418114051} {
		if got := m.float64(); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
	r := NewReference(42, Mix{Temperature: 4, Cap: 1 << 21}.Shares([]int64{114000, 63000, 2160000, 740000, 1200000}))
	for i, want := range []int{2, 4, 3, 3, 1, 1, 0, 4, 3, 3, 0, 4, 4, 1, 1, 1, 2, 2, 2, 2, 3, 1, 2, 2} {
		if got := r.Next(); got != want {
			t.Errorf("draw %d: %d, want %d", i, got, want)
		}
	}
}

func TestReferenceDraws(t *testing.T) {
	b, err := os.ReadFile(shared.Dir(t, "goldens", "corpora", "mixtures.json"))
	if err != nil {
		t.Fatal(err)
	}
	var g struct {
		Sizes map[string]map[string]int64
		Draws []struct {
			Set         string
			Temperature float64
			Cap         *int64
			Seed        uint32
			Draws       []string
		}
	}
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	order := []string{"adgen", "kdconv", "lcsts", "matinf", "nlpcc"} // as the file has them
	n := 0
	for _, d := range g.Draws {
		sizes := make([]int64, len(order))
		for i, name := range order {
			sizes[i] = g.Sizes[d.Set][name]
		}
		m := Mix{Temperature: d.Temperature}
		if d.Cap != nil {
			m.Cap = *d.Cap
		}
		r := NewReference(d.Seed, m.Shares(sizes))
		for i, want := range d.Draws {
			n++
			if got := order[r.Next()]; got != want {
				t.Fatalf("T %g: draw %d is %s, want %s", d.Temperature, i, got, want)
			}
		}
	}
	if n != 400 {
		t.Errorf("%d draws", n)
	}
}
