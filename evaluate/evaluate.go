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
	"fmt"
	"math"
	"strings"
	"sync"

	"espalier/evaluate/input"
	"espalier/evaluate/stats"
	"espalier/pipeline"
)

// A Request is one scoring of predictions.
type Request struct {
	Metrics    []string // such as "bleu", "cider:tok=none"
	Pred       input.Source
	Refs       []input.Source
	Source     input.Source     // texts that were corrected, for cherrant; no path if the references have them
	Missing    input.Missing    // "" is Ignore
	Duplicates input.Duplicates // "" is Refuse
	DF         string           // file of document frequencies for CIDEr
	MeteorData string           // folder of METEOR's tables, see meteor.Load
	Cherrant   string           // folder of ChERRANT's tables, see cherrant.Load
	Bootstrap  int              // resamples for intervals, 0 for none
	Seed       uint64           // of the resamples; 0 is 12345
	Workers    int              // at least 1
	Keep       bool             // the state, for Result.WriteState
	Notice     func(string)     // is told what will take much memory; may be nil
	NoFiles    bool             // options of metrics may name no files: in a stage, whose inputs are named by their content
	Totals     bool             // only the scores of the set: Result.Each stays empty
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
	state    *kept
}

// A kept is a scoring with all its statistics.
type kept struct {
	metrics  []string
	corpus   *corpus
	measured []*measured
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
	defer readAhead(ctx, fams)()
	c, dropped, err := load(ctx, &r, fams)
	if err != nil {
		return nil, err
	}
	res, err := scoreAll(ctx, c, fams, &r)
	if err != nil {
		return nil, err
	}
	res.Warnings = r.warnings(c, dropped)
	res.Warnings = append(res.Warnings, notesOf(fams)...)
	return res, nil
}

// notesOf gathers what families have to say of the texts they scored.
func notesOf(fams []family) []string {
	var out []string
	for _, f := range fams {
		if n, ok := f.(interface{ notes() []string }); ok {
			out = append(out, n.notes()...)
		}
	}
	return out
}

// warnings tell what was not scored.
func (r *Request) warnings(c *corpus, dropped int) []string {
	var out []string
	if s := c.Unscored(); s != "" {
		out = append(out, s)
	}
	if dropped > 0 {
		out = append(out, fmt.Sprintf("%d repeated predictions were left out (duplicates %s)", dropped, r.Duplicates))
	}
	return out
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
		return nil, &pipeline.RefusedError{File: c.predFile, Offset: -1, Reason: "no predictions"}
	}
	res := &Result{IDs: c.IDs}
	if !r.Totals {
		res.Each = make([][]float64, c.n())
	}
	if r.Keep {
		c.digest = true
		res.state = &kept{metrics: r.Metrics, corpus: c}
	}
	for k, f := range fams {
		if err := r.usable(c, f, k); err != nil {
			return nil, err
		}
		m, err := measure(ctx, c, f)
		if err != nil {
			return nil, err
		}
		if err := m.report(ctx, c, r, res); err != nil {
			return nil, err
		}
		if r.Keep {
			res.state.measured = append(res.state.measured, m)
		}
	}
	return res, nil
}

// usable refuses a corpus without references, examples with an empty list of
// them, which is an answer to some metrics only, and M2 files as texts.
func (r *Request) usable(c *corpus, f family, k int) error {
	if err := r.texts(c, f, k); err != nil {
		return err
	}
	switch {
	case !needsReferences(f):
		return nil
	case c.alone:
		return &pipeline.UsageError{Msg: "metric " + r.Metrics[k] + " needs references (--refs)"}
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
			return c.refuseReference(i, "an empty list of references, and metric %s needs one", r.Metrics[k])
		}
	}
	return nil
}

// texts refuses blocks of M2 files where a metric compares texts; the first
// example tells.
func (r *Request) texts(c *corpus, f family, k int) error {
	isM2 := func(text string) bool {
		return isBlock(text) && strings.Contains(text, "\nA ") && strings.Contains(text, "|||")
	}
	_, edits := f.(*errantFamily)
	_, matches := f.(*maxmatchFamily)
	switch {
	case edits || c.n() == 0:
		return nil
	case isM2(c.Predictions[0]):
		return c.refusePrediction(0, "a block of an M2 file, and metric %s takes texts (errant and cherrant compare M2 files)", r.Metrics[k])
	case !matches && len(c.References[0]) > 0 && isM2(c.References[0][0]):
		return c.refuseReference(0, "a block of an M2 file, and metric %s takes texts (maxmatch, errant and cherrant take M2 files)", r.Metrics[k])
	}
	return nil
}

// measure computes the statistics of every example.
func measure(ctx context.Context, c *corpus, f family) (*measured, error) {
	if f, ok := f.(*confusionFamily); ok && f.labels == nil {
		if err := f.known(c); err != nil {
			return nil, err
		}
	}
	scorers, err := f.prepare(ctx, c)
	if err != nil {
		return nil, err
	}
	known := c.kept[f]
	tok, _ := keeps(f)
	m := &measured{f, &stats.Matrix{Width: f.width(), Data: make([]float64, f.width()*c.n())}}
	const block = 256
	workers := min(c.workers, (c.n()+block-1)/block)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			score := scorers()
			for from := w * block; from < c.n() && ctx.Err() == nil; from += workers * block {
				for i := from; i < min(from+block, c.n()); i++ {
					if row := known.row(i, tok, c); len(row) == f.width() && f.width() > 0 {
						copy(m.rows.Row(i), row)
						continue
					}
					score(i, m.rows.Row(i))
				}
			}
		})
	}
	wg.Wait()
	return m, ctx.Err()
}

// report adds a family's values to a result.
func (m *measured) report(ctx context.Context, c *corpus, r *Request, res *Result) error {
	names := m.family.names()
	values := make([]float64, len(names))
	set, whole := m.family.(*setFamily)
	if whole {
		set.of()(places(c.n()), values)
	} else {
		m.family.total(m.rows.Sums(), values)
	}
	var resamples [][]float64
	if r.Bootstrap > 0 {
		seed := r.seed()
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
	for i := range res.Each {
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
