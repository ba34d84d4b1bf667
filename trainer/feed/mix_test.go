package feed

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"espalier/internal/shared"
)

// TestMixturesEqualSeqio compares rates and probabilities with those of
// seqio.
func TestMixturesEqualSeqio(t *testing.T) {
	b, err := os.ReadFile(shared.Dir(t, "goldens", "corpora", "mixtures.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Sizes    map[string]map[string]int64
		Mixtures []struct {
			Set         string
			Cap         *int64
			Temperature float64
			Rates, P    map[string]float64
		}
	}
	if err := json.Unmarshal(b, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Mixtures) < 100 {
		t.Fatalf("%d mixtures", len(golden.Mixtures))
	}
	for _, m := range golden.Mixtures {
		mix := Mix{Temperature: m.Temperature}
		if m.Cap != nil {
			mix.Cap = *m.Cap
		}
		if err := mix.check(); err != nil {
			t.Fatal(err)
		}
		total := 0.0
		for _, n := range golden.Sizes[m.Set] {
			total += mix.rate(n)
		}
		for task, n := range golden.Sizes[m.Set] {
			rate := mix.rate(n)
			if math.Abs(rate-m.Rates[task]) > 1e-12*rate || math.Abs(rate/total-m.P[task]) > 1e-12 {
				t.Errorf("%s, T %g, cap %d: %s has rate %g and share %g, want %g and %g", m.Set, m.Temperature, mix.Cap, task, rate, rate/total, m.Rates[task], m.P[task])
			}
		}
	}
}
