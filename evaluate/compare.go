package evaluate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"espalier/evaluate/input"
	"espalier/evaluate/stats"
	"espalier/pipeline"
)

// Tests of Compare.
const (
	BootstrapTest     = "bootstrap"
	RandomisationTest = "randomisation"
)

// A Comparison is one score of two systems on the same examples.
type Comparison struct {
	Metric     string
	Value      float64 // of the predictions
	Against    float64 // of the other system's
	Difference float64 // the first less the second
	CILow      *float64
	CIHigh     *float64 // 95 % of the difference, from the bootstrap
	P          float64  // two-sided
	N          int64
	Test       string
	Variant    string
}

// MarshalJSON writes values that are no numbers as null.
func (c Comparison) MarshalJSON() ([]byte, error) {
	number := func(v float64) *float64 {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		return &v
	}
	return json.Marshal(struct {
		Metric     string   `json:"metric"`
		Value      *float64 `json:"value"`
		Against    *float64 `json:"against"`
		Difference *float64 `json:"difference"`
		CILow      *float64 `json:"ci_low,omitempty"`
		CIHigh     *float64 `json:"ci_high,omitempty"`
		P          float64  `json:"p"`
		N          int64    `json:"n"`
		Test       string   `json:"test"`
		Variant    string   `json:"variant"`
	}{c.Metric, number(c.Value), number(c.Against), number(c.Difference), c.CILow, c.CIHigh, c.P, c.N, c.Test, c.Variant})
}

// Compare scores two systems' predictions on the same references and tests
// their differences, by paired bootstrap or approximate randomisation with a
// number of resamples or trials.
func Compare(ctx context.Context, r Request, against input.Source, test string, trials int) ([]Comparison, []string, error) {
	first, a, warn, err := r.side(ctx)
	if err != nil {
		return nil, nil, err
	}
	other := r
	other.Pred = against
	second, b, _, err := other.side(ctx)
	if err != nil {
		return nil, nil, err
	}
	if !slices.Equal(a.IDs, b.IDs) {
		return nil, nil, &pipeline.RefusedError{File: against.Path, Offset: -1, Reason: fmt.Sprintf("%d predictions for the references, %s has %d, or others: two systems are compared on the same examples", b.n(), r.Pred.Path, a.n())}
	}
	both := a.with(b)
	var out []Comparison
	for k, f := range first {
		d, err := differences(ctx, pair{f, second[k], a, b, both}, &r, k, test, trials)
		if err != nil {
			return nil, nil, err
		}
		for i, name := range f.names() {
			c := Comparison{Metric: name, Value: d[i].First, Against: d[i].Second, Difference: d[i].Observed, P: d[i].P, N: int64(a.n()), Test: fmt.Sprintf("%s|n:%d|seed:%d", test, trials, r.seed()), Variant: f.variant()}
			if test == BootstrapTest {
				low, high := d[i].Low, d[i].High
				c.CILow, c.CIHigh = &low, &high
			}
			out = append(out, c)
		}
	}
	return out, warn, nil
}

// side reads one system's predictions with their references.
func (r *Request) side(ctx context.Context) ([]family, *corpus, []string, error) {
	fams, err := parseMetrics(r)
	if err != nil {
		return nil, nil, nil, err
	}
	c, dropped, err := load(ctx, r, fams)
	if err != nil {
		return nil, nil, nil, err
	}
	return fams, c, r.warnings(c, dropped), nil
}

func (r *Request) seed() uint64 { return cmp.Or(r.Seed, defaultSeed) }

// with returns a corpus of both systems' predictions, c's first.
func (c *corpus) with(o *corpus) *corpus {
	j := &input.Joined{
		IDs: slices.Concat(c.IDs, o.IDs), Predictions: slices.Concat(c.Predictions, o.Predictions),
		References: slices.Concat(c.References, o.References), Places: slices.Concat(c.Places, o.Places),
	}
	if c.Attributes != nil {
		j.Attributes = slices.Concat(c.Attributes, o.Attributes)
	}
	if c.Notes != nil || o.Notes != nil {
		j.Notes = slices.Concat(grown(c.Notes, c.n()), grown(o.Notes, o.n()))
	}
	return &corpus{Joined: j, attributes: c.attributes, predFile: c.predFile, alone: c.alone, workers: c.workers}
}

// grown pads notes for examples that have none.
func grown(notes [][]string, n int) [][]string {
	return append(slices.Clone(notes), make([][]string, n-len(notes))...)
}

// A pair is one metric on two systems.
type pair struct {
	first, second family
	a, b, both    *corpus
}

func differences(ctx context.Context, p pair, r *Request, k int, test string, trials int) ([]stats.Difference, error) {
	if err := r.usable(p.a, p.first, k); err != nil {
		return nil, err
	}
	workers := p.a.workers
	if f, ok := p.first.(*setFamily); ok {
		of, err := f.open(ctx, p.both)
		if err != nil {
			return nil, err
		}
		if test == BootstrapTest {
			return stats.BootstrappedPlaces(ctx, p.a.n(), of, len(f.values), trials, r.seed(), workers)
		}
		return stats.RandomisePlaces(ctx, p.a.n(), of, len(f.values), trials, r.seed(), workers)
	}
	if f, ok := p.first.(*confusionFamily); ok {
		if err := f.known(p.both); err != nil {
			return nil, err
		}
		p.second.(*confusionFamily).labels = f.labels
	}
	x, err := measure(ctx, p.a, p.first)
	if err != nil {
		return nil, err
	}
	y, err := measure(ctx, p.b, p.second)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(p.first.names(), p.second.names()) {
		return nil, &pipeline.RefusedError{File: p.b.predFile, Offset: -1, Reason: fmt.Sprintf("metric %s: the two systems have scores of their own each: %q and %q", r.Metrics[k], p.first.names(), p.second.names())}
	}
	compare := stats.Randomise
	if test == BootstrapTest {
		compare = stats.Bootstrapped
	}
	return compare(ctx, x.rows, y.rows, p.first.total, len(p.first.names()), trials, r.seed(), workers)
}
