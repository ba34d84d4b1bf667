// Package evaluate scores predictions: it joins them with references, runs any
// number of metrics over them and gives every score its interval. Its stages
// do the same over shards (Measure) and gather scores over seeds (Aggregate).
//
// [Run] is what `espalier eval` calls. A metric is named as users name it,
// options behind colons: "cider:tok=none". Scores are on the reference tool's
// own scale, and each says in its variant what exactly was computed. Results
// do not depend on the number of workers.
package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"

	"espalier/evaluate/input"
	"espalier/evaluate/numeric"
	"espalier/evaluate/stats"
	"espalier/pipeline"
)

// A Request is one scoring of predictions.
type Request struct {
	Metrics    []string // such as "bleu", "cider:tok=none"
	Pred       input.Source
	Refs       []input.Source
	Missing    input.Missing    // "" is Ignore
	Duplicates input.Duplicates // "" is Refuse
	DF         string           // file of document frequencies for CIDEr
	MeteorData string           // folder of METEOR's tables, see meteor.Load
	Bootstrap  int              // resamples for intervals, 0 for none
	Seed       uint64           // of the resamples; 0 is 12345
	Workers    int              // at least 1
}

// A Value is one score.
type Value struct {
	Metric  string   `json:"metric"`
	Value   float64  `json:"value"`
	N       int64    `json:"n"`
	Variant string   `json:"variant"`
	CILow   *float64 `json:"ci_low,omitempty"`
	CIHigh  *float64 `json:"ci_high,omitempty"`
}

// MarshalJSON writes a value that is no number as a string.
func (v Value) MarshalJSON() ([]byte, error) {
	type plain Value
	if !math.IsNaN(v.Value) && !math.IsInf(v.Value, 0) {
		return json.Marshal(plain(v))
	}
	return json.Marshal(struct {
		Metric  string `json:"metric"`
		Value   string `json:"value"`
		N       int64  `json:"n"`
		Variant string `json:"variant"`
	}{v.Metric, fmt.Sprint(v.Value), v.N, v.Variant})
}

// A Result is what a scoring found.
type Result struct {
	Values   []Value
	IDs      []string    // of the examples, in the order of the references
	Each     [][]float64 // of every example, a score for each of Values; NaN where a metric has none
	Warnings []string
}

// share is how much of the resamples an interval holds.
const share = 0.95

// defaultSeed is sacrebleu's.
const defaultSeed = 12345

// Run scores predictions.
func Run(ctx context.Context, r Request) (*Result, error) {
	fams, err := parseMetrics(&r)
	if err != nil {
		return nil, err
	}
	c, dropped, err := load(ctx, &r, fams)
	if err != nil {
		return nil, err
	}
	res, err := scoreAll(ctx, c, fams, &r)
	if err != nil {
		return nil, err
	}
	if s := c.Unscored(); s != "" {
		res.Warnings = append(res.Warnings, s)
	}
	if dropped > 0 {
		res.Warnings = append(res.Warnings, fmt.Sprintf("%d repeated predictions were left out (duplicates %s)", dropped, r.Duplicates))
	}
	return res, nil
}

// parseMetrics checks the metrics' names and options, all faults at once.
func parseMetrics(r *Request) ([]family, error) {
	if len(r.Metrics) == 0 {
		return nil, &pipeline.UsageError{Msg: "no metrics"}
	}
	var fams []family
	msg := ""
	for _, m := range r.Metrics {
		f, err := newFamily(m, r)
		if err != nil {
			if msg != "" {
				msg += "\n"
			}
			msg += err.Error()
			continue
		}
		fams = append(fams, f)
	}
	if msg != "" {
		return nil, &pipeline.UsageError{Msg: msg}
	}
	return fams, nil
}

// scoreAll runs the metrics over a corpus.
func scoreAll(ctx context.Context, c *corpus, fams []family, r *Request) (*Result, error) {
	if c.n() == 0 {
		return nil, errors.New("nothing to score: no predictions")
	}
	res := &Result{IDs: c.IDs, Each: make([][]float64, c.n())}
	for k, f := range fams {
		if needsReferences(f) && c.alone {
			return nil, &pipeline.UsageError{Msg: "metric " + r.Metrics[k] + " needs references (--refs)"}
		}
		if err := c.complete(f, r, k); err != nil {
			return nil, err
		}
		m, err := measure(ctx, c, f)
		if err != nil {
			return nil, err
		}
		if err := m.report(ctx, c, r, res); err != nil {
			return nil, err
		}
	}
	return res, nil
}

// complete refuses examples with an empty list of references, which is an
// answer to some metrics only.
func (c *corpus) complete(f family, r *Request, k int) error {
	if !needsReferences(f) {
		return nil
	}
	switch f := f.(type) {
	case *groupFamily:
		if f.unanswered {
			return nil
		}
	case *setFamily:
		if f.unanswered {
			return nil
		}
	}
	for i := range c.n() {
		if len(c.References[i]) == 0 {
			p := c.Places[i]
			return &pipeline.RefusedError{File: p.File, Line: p.Line, Offset: p.Offset, Reason: fmt.Sprintf("id %s: an empty list of references, and metric %s needs one", c.IDs[i], r.Metrics[k])}
		}
	}
	return nil
}

// measure computes the statistics of every example.
func measure(ctx context.Context, c *corpus, f family) (*measured, error) {
	if f, ok := f.(*confusionFamily); ok {
		if err := f.known(c); err != nil {
			return nil, err
		}
	}
	scorers, err := f.prepare(ctx, c)
	if err != nil {
		return nil, err
	}
	m := &measured{f, &stats.Matrix{Width: f.width(), Data: make([]float64, f.width()*c.n())}}
	const block = 256
	workers := min(c.workers, (c.n()+block-1)/block)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			score := scorers()
			for from := w * block; from < c.n() && ctx.Err() == nil; from += workers * block {
				for i := from; i < min(from+block, c.n()); i++ {
					score(i, m.rows.Row(i))
				}
			}
		})
	}
	wg.Wait()
	return m, ctx.Err()
}

// sum adds up all rows, exactly.
func (m *measured) sum() []float64 {
	out := make([]float64, m.rows.Width)
	sums := make([]numeric.Sum, m.rows.Width)
	for i := range m.rows.Rows() {
		for j, v := range m.rows.Row(i) {
			sums[j].Add(v)
		}
	}
	for j := range out {
		out[j] = sums[j].Value()
	}
	return out
}

// report adds a family's values to a result.
func (m *measured) report(ctx context.Context, c *corpus, r *Request, res *Result) error {
	names := m.family.names()
	values := make([]float64, len(names))
	set, whole := m.family.(*setFamily)
	if whole {
		set.of()(places(c.n()), values)
	} else {
		m.family.total(m.sum(), values)
	}
	var resamples [][]float64
	if r.Bootstrap > 0 {
		seed := r.Seed
		if seed == 0 {
			seed = defaultSeed
		}
		var err error
		if whole {
			resamples, err = stats.BootstrapPlaces(ctx, c.n(), set.of, len(names), r.Bootstrap, seed, c.workers)
		} else {
			resamples, err = stats.Bootstrap(ctx, m.rows, m.family.total, len(names), r.Bootstrap, seed, c.workers)
		}
		if err != nil {
			return err
		}
	}
	for k, name := range names {
		v := Value{Metric: name, Value: values[k], N: int64(c.n()), Variant: m.family.variant()}
		if resamples != nil {
			low, high := stats.Interval(resamples, k, share)
			v.CILow, v.CIHigh = &low, &high
		}
		res.Values = append(res.Values, v)
	}
	one := make([]float64, len(names))
	for i := range c.n() {
		for k := range one {
			one[k] = math.NaN()
		}
		m.family.one(i, m.rows.Row(i), one)
		res.Each[i] = append(res.Each[i], one...)
	}
	return nil
}

func places(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
