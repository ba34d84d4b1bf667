package evaluate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"espalier/evaluate/stats"
	"espalier/pipeline"
	"espalier/pipeline/score"
	"espalier/pipeline/store"
)

// DeviationSuffix marks the metric of a row that holds the standard deviation
// of another over runs.
const DeviationSuffix = ".sd"

// Aggregate is the stage that gathers scores over axes such as seeds: of each
// metric, variant, corpus, task, split and rest of tags the mean with its 95 %
// interval (Student's t) and, as METRIC.sd, the sample deviation. N is the
// number of runs.
//
// Input: scores, any number of outputs of Measure (a collecting input). Output:
// scores.parquet.
type Aggregate struct {
	Over []string `yaml:"over" json:"over" doc:"tags that differ between the runs of one group, such as seed"`
}

// Kind is "evaluate/aggregate".
func (*Aggregate) Kind() string { return "evaluate/aggregate" }

// Version is raised when equal inputs would give other scores.
func (*Aggregate) Version() int { return 1 }

// Check reports a missing axis.
func (a *Aggregate) Check() error {
	if len(a.Over) == 0 {
		return errors.New("over: required")
	}
	return nil
}

// Run writes means and deviations.
func (a *Aggregate) Run(ctx context.Context, t *pipeline.Task, _ pipeline.Part) error {
	var rows []score.Row
	for _, in := range t.Gather("scores") {
		r, err := ReadScores(ctx, in, false)
		if err != nil {
			return err
		}
		rows = append(rows, r...)
	}
	if len(rows) == 0 {
		return errors.New("evaluate/aggregate: no scores")
	}
	out, err := a.aggregate(rows)
	if err != nil {
		return err
	}
	return writeScores(t, out)
}

// ReadScores reads the score rows of an input; those of examples only if each
// is true.
func ReadScores(ctx context.Context, in *pipeline.Input, each bool) ([]score.Row, error) {
	var rows []score.Row
	for _, e := range in.Manifest.Files {
		if e.Schema != score.Schema {
			continue
		}
		err := readShards(ctx, in, []store.FileEntry{e}, func(r *score.Row) error {
			if each || r.ID == "" {
				rows = append(rows, *r)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// A group is the runs of one score.
type group struct {
	row    score.Row
	values []float64
	runs   map[string]bool
}

func (a *Aggregate) aggregate(rows []score.Row) ([]score.Row, error) {
	groups := make(map[string]*group)
	var order []string
	for _, r := range rows {
		rest, run := maps.Clone(r.Tags), ""
		for _, axis := range a.Over {
			v, ok := r.Tags[axis]
			if !ok {
				return nil, fmt.Errorf("evaluate/aggregate: over: a score %s has no tag %s", r.Metric, axis)
			}
			run += axis + "=" + v + "\x00"
			delete(rest, axis)
		}
		key := strings.Join([]string{r.Metric, r.Variant, r.Corpus, r.Task, r.Split, fmt.Sprint(rest)}, "\x00") // fmt sorts the tags
		g := groups[key]
		if g == nil {
			g = &group{row: r, runs: make(map[string]bool)}
			g.row.Tags = rest
			groups[key] = g
			order = append(order, key)
		}
		if g.runs[run] {
			return nil, fmt.Errorf("evaluate/aggregate: two scores %s of %s", r.Metric, strings.ReplaceAll(strings.TrimSuffix(run, "\x00"), "\x00", ", "))
		}
		g.runs[run] = true
		g.values = append(g.values, r.Value)
	}
	var out []score.Row
	for _, key := range order {
		g := groups[key]
		s := stats.Of(g.values)
		row := g.row
		row.Tags["over"], row.Tags["runs"] = strings.Join(a.Over, ","), strconv.Itoa(s.N)
		row.Value, row.N, row.Step, row.CILow, row.CIHigh = s.Mean, int64(s.N), nil, nil, nil
		if s.N > 1 {
			row.CILow, row.CIHigh = &s.Low, &s.High
		}
		sd := row
		sd.Metric += DeviationSuffix
		sd.Value, sd.CILow, sd.CIHigh = s.Deviation, nil, nil
		out = append(out, row, sd)
	}
	slices.SortStableFunc(out, func(x, y score.Row) int { return strings.Compare(fmt.Sprint(x.Tags), fmt.Sprint(y.Tags)) })
	return out, nil
}
