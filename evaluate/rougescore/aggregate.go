package rougescore

import (
	"math"
	"slices"

	"espalier/evaluate/draw"
)

// An Aggregate is what BootstrapAggregator says of a type: the 2.5th, 50th and
// 97.5th percentile of the means of resamples, of each of P, R and F alone.
type Aggregate struct{ Low, Mid, High Score }

// Bootstrap resamples scores n times as BootstrapAggregator does after
// numpy.random.seed(seed): type after type with one generator, so a type's
// result depends on those before it.
func Bootstrap(types [][]Score, n int, seed uint32) []Aggregate {
	rng := draw.NewMT19937(seed)
	out := make([]Aggregate, len(types))
	for k, scores := range types {
		var means [3][]float64
		var column [3][]float64
		for range n {
			for m := range column {
				column[m] = column[m][:0]
			}
			for range scores {
				s := scores[rng.Below(uint32(len(scores)))]
				column[0], column[1], column[2] = append(column[0], s.P), append(column[1], s.R), append(column[2], s.F)
			}
			for m := range means {
				sum := 0.0
				for _, v := range column[m] {
					sum += v
				}
				means[m] = append(means[m], sum/float64(len(scores)))
			}
		}
		for m := range means {
			slices.Sort(means[m])
		}
		at := func(share float64) Score {
			return Score{percentile(means[0], share), percentile(means[1], share), percentile(means[2], share)}
		}
		const half = (1 - 0.95) / 2
		out[k] = Aggregate{at(half), at(0.5), at(1 - half)}
	}
	return out
}

// percentile interpolates between sorted values, as numpy.percentile.
func percentile(sorted []float64, share float64) float64 {
	at := float64(share * float64(len(sorted)-1))
	i := int(math.Floor(at))
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + float64((sorted[i+1]-sorted[i])*(at-float64(i)))
}
