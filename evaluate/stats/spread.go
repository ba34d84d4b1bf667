package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"espalier/evaluate/numeric"
)

// A Spread describes one score over runs that differ in a seed.
type Spread struct {
	N         int
	Mean      float64
	Deviation float64 // of the sample (n-1 below); 0 for one value
	Low, High float64 // 95 % interval of the mean by Student's t; Mean for one value
}

// Of returns the spread of values, which may not be empty.
func Of(values []float64) Spread {
	n := len(values)
	var sum numeric.Sum
	for _, v := range values {
		sum.Add(v)
	}
	s := Spread{N: n, Mean: sum.Value() / float64(n)}
	s.Low, s.High = s.Mean, s.Mean
	if n < 2 {
		return s
	}
	var squares numeric.Sum
	for _, v := range values {
		d := v - s.Mean
		squares.Add(float64(d * d))
	}
	s.Deviation = math.Sqrt(squares.Value() / float64(n-1))
	half := float64(Student(n-1)*s.Deviation) / math.Sqrt(float64(n))
	s.Low, s.High = s.Mean-half, s.Mean+half
	return s
}

// Student returns the 97.5 % quantile of Student's t with df degrees of
// freedom, to six decimals, so that every machine gives the same.
func Student(df int) float64 {
	q := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(df)}.Quantile(0.975)
	return math.Round(q*1e6) / 1e6
}
