package ort

import "fmt"

// A Baseline is what rewards of an image's samples are compared with (spec/acort.md
// 7.3).
type Baseline string

// Baselines: the mean of all samples' rewards, as the published runs had it, or
// of the other samples'.
const (
	MeanOfAll   Baseline = "mean"
	LeaveOneOut Baseline = "others"
)

// Advantages returns rewards minus their baseline, for consecutive groups of n
// samples of an image.
func Advantages(rewards []float64, n int, b Baseline) ([]float32, error) {
	if n < 1 || len(rewards)%n != 0 {
		return nil, fmt.Errorf("ort: %d rewards in groups of %d", len(rewards), n)
	}
	others := float64(n)
	switch b {
	case MeanOfAll:
	case LeaveOneOut:
		if n == 1 {
			return nil, fmt.Errorf("ort: baseline %q needs two samples of an image", b)
		}
		others = float64(n - 1)
	default:
		return nil, fmt.Errorf("ort: baseline %q, want %s or %s", b, MeanOfAll, LeaveOneOut)
	}
	out := make([]float32, len(rewards))
	for i := 0; i < len(rewards); i += n {
		sum := 0.0
		for _, r := range rewards[i : i+n] {
			sum += r
		}
		for j, r := range rewards[i : i+n] {
			if b == MeanOfAll {
				out[i+j] = float32(r - sum/others)
			} else {
				out[i+j] = float32(r - (sum-r)/others)
			}
		}
	}
	return out, nil
}
