package stats

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// mean is the metric "mean of the first column" over a count in the second.
func mean(sum, out []float64) { out[0] = sum[0] / sum[1] }

func normal(seed uint64, n int, mu, sd float64) *Matrix {
	r := rand.New(rand.NewPCG(seed, 1))
	m := &Matrix{Width: 2}
	for range n {
		m.Data = append(m.Data, mu+float64(sd*r.NormFloat64()), 1)
	}
	return m
}

func TestBootstrapIsTheSameOnAnyNumberOfWorkers(t *testing.T) {
	m := normal(1, 200, 3, 2)
	var first [][]float64
	for _, workers := range []int{1, 2, 7} {
		got, err := Bootstrap(t.Context(), m, mean, 1, 300, 12345, workers)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = got
		}
		for i := range got {
			if got[i][0] != first[i][0] {
				t.Fatalf("resample %d with %d workers: %v, want %v", i, workers, got[i][0], first[i][0])
			}
		}
	}
	other, _ := Bootstrap(t.Context(), m, mean, 1, 300, 12346, 1)
	if other[0][0] == first[0][0] {
		t.Error("two seeds give the same resample")
	}
}

// The interval of a mean must be close to the normal one.
func TestIntervalOfAMean(t *testing.T) {
	const n, sd = 2000, 2.0
	m := normal(2, n, 3, sd)
	got, err := Bootstrap(t.Context(), m, mean, 1, 2000, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	low, high := Interval(got, 0, 0.95)
	if want := 2 * 1.96 * sd / math.Sqrt(n); math.Abs(high-low-want) > 0.12*want {
		t.Errorf("width %.4f, want about %.4f", high-low, want)
	}
	if !(low < 3.1 && high > 2.9 && low < high) {
		t.Errorf("interval %v to %v does not hold the mean", low, high)
	}
	ten := [][]float64{{9}, {0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}}
	if low, high := Interval(ten, 0, 0.8); low != 1 || high != 8 {
		t.Errorf("Interval of 0 to 9 at 0.8 = %v, %v, want 1, 8", low, high)
	}
}

func TestPairedTestsTellARealDifferenceFromNone(t *testing.T) {
	a := normal(3, 400, 3, 1)
	same := &Matrix{Width: 2, Data: slices.Clone(a.Data)}
	better := &Matrix{Width: 2, Data: slices.Clone(a.Data)}
	noise := normal(4, 400, 0, 0.5)
	for i := 0; i < len(a.Data); i += 2 {
		same.Data[i] += noise.Data[i]
		better.Data[i] += noise.Data[i] + 0.3
	}
	type test func(ctx context.Context, a, b *Matrix, total Total, scores, n int, seed uint64, workers int) ([]Difference, error)
	for name, f := range map[string]test{"bootstrap": Bootstrapped, "randomisation": Randomise} {
		d, err := f(t.Context(), better, a, mean, 1, 1000, 12345, 2)
		if err != nil {
			t.Fatal(err)
		}
		if d[0].P > 0.01 || math.Abs(d[0].Observed-0.3) > 0.1 {
			t.Errorf("%s: real difference %v", name, d[0])
		}
		if d, _ = f(t.Context(), same, a, mean, 1, 1000, 12345, 2); d[0].P < 0.05 {
			t.Errorf("%s: no difference %v", name, d[0])
		}
		one, _ := f(t.Context(), better, a, mean, 1, 500, 7, 1)
		seven, _ := f(t.Context(), better, a, mean, 1, 500, 7, 7)
		if one[0] != seven[0] {
			t.Errorf("%s: %v with one worker, %v with seven", name, one[0], seven[0])
		}
		if _, err := f(t.Context(), better, normal(1, 3, 0, 1), mean, 1, 10, 7, 1); err == nil {
			t.Errorf("%s: compares 400 examples with 3", name)
		}
	}
}

func TestSpread(t *testing.T) {
	s := Of([]float64{2, 4, 4, 4, 5, 5, 7, 9})
	if s.Mean != 5 || math.Abs(s.Deviation-2.138089935299395) > 1e-15 {
		t.Errorf("mean %v, deviation %v", s.Mean, s.Deviation)
	}
	if want := 2.364624 * 2.138089935299395 / math.Sqrt(8); math.Abs(s.High-5-want) > 1e-6 || math.Abs(5-s.Low-want) > 1e-6 {
		t.Errorf("interval %v to %v, want 5 +- %v", s.Low, s.High, want)
	}
	if s := Of([]float64{3}); s != (Spread{1, 3, 0, 3, 3}) {
		t.Errorf("spread of one value %v", s)
	}
	for df, want := range map[int]float64{1: 12.706205, 4: 2.776445, 30: 2.042272} {
		if got := Student(df); got != want {
			t.Errorf("Student(%d) = %v, want %v", df, got, want)
		}
	}
}
