package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"espalier/evaluate/report"
	"espalier/jobs"
	"espalier/pipeline"
)

// printResults prints what a run made: for people the table of scores of each
// report, its path, and the numbers that the job asks for; as JSON an object a
// stage and one a number.
func printResults(ctx context.Context, c *console, job *jobs.Job, o pipeline.Options, results []*pipeline.Result, report string, asJSON, whole bool) error {
	done := make(map[string]*pipeline.NodeResult)
	var order []string
	var seconds float64
	var peak int64
	for _, res := range results {
		if res == nil {
			continue
		}
		seconds += res.Seconds
		peak = max(peak, res.PeakMemory)
		for i := range res.Nodes {
			n := &res.Nodes[i]
			if _, ok := done[n.Name]; !ok {
				order = append(order, n.Name)
			}
			done[n.Name] = n
		}
	}
	if asJSON {
		for _, name := range order {
			if err := c.json(resultOf(done[name])); err != nil {
				return err
			}
		}
	}
	if !whole {
		return nil
	}
	return errors.Join(
		printReports(ctx, c, job, o, done, report, asJSON),
		printNumbers(ctx, c, job, o, done, asJSON),
		printCost(c, peak, seconds, asJSON),
	)
}

// A stageRecord is one stage in JSON.
type stageRecord struct {
	Stage   string         `json:"stage"`
	Kind    string         `json:"kind"`
	Key     string         `json:"key"`
	State   pipeline.State `json:"state"`
	Digest  string         `json:"digest"`
	Rows    int64          `json:"rows"`
	Bytes   int64          `json:"bytes"`
	Path    string         `json:"path"`
	Dead    int64          `json:"dead"`
	Parts   int            `json:"parts,omitempty"`
	Made    int            `json:"parts_made,omitempty"`
	Seconds float64        `json:"seconds,omitempty"`
	Error   string         `json:"error,omitempty"`
}

func resultOf(n *pipeline.NodeResult) stageRecord {
	r := stageRecord{Stage: n.Name, Kind: n.Kind, Key: string(n.Key), State: n.State, Bytes: n.Bytes, Path: n.Dir, Parts: n.Parts, Made: n.PartsRun, Seconds: n.Seconds}
	if n.Manifest != nil {
		r.Digest, r.Rows, r.Dead = n.Manifest.Digest, n.Manifest.Rows, n.Manifest.Dead
	}
	if n.Err != nil {
		r.Error = n.Err.Error()
	}
	return r
}

// A numberRecord is one number of a job's summary in JSON.
type numberRecord struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	N      int64   `json:"n"`
	Stage  string  `json:"stage"`
	Metric string  `json:"metric"`
}

// printNumbers prints the scores that the job's summary names, of the stages
// that are done.
func printNumbers(ctx context.Context, c *console, job *jobs.Job, o pipeline.Options, done map[string]*pipeline.NodeResult, asJSON bool) error {
	var errs []error
	for _, n := range job.Summary {
		stages, err := job.Find(n.Stage)
		if err != nil {
			return err
		}
		r := done[stages[0].Name]
		if r == nil || r.Manifest == nil {
			continue
		}
		rows, err := jobs.Scores(ctx, o.Store, r.Manifest)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		row, err := n.Pick(rows)
		switch {
		case err != nil:
			errs = append(errs, err)
		case asJSON:
			errs = append(errs, c.json(numberRecord{n.Name, row.Value, row.N, stages[0].Name, row.Metric}))
		default:
			_, err := fmt.Fprintf(c.out, "%s: %.4f\n", n.Name, row.Value)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func printCost(c *console, peak int64, seconds float64, asJSON bool) error {
	if asJSON {
		return c.json(map[string]any{"peak_memory_bytes": peak, "seconds": seconds})
	}
	_, err := fmt.Fprintf(c.out, "peak memory: %s\nseconds: %.1f\n", bytesText(peak), seconds)
	return err
}

// printReports prints the scores that each report of the job is about and
// where it lies, after a copy to dir if that is given.
func printReports(ctx context.Context, c *console, job *jobs.Job, o pipeline.Options, done map[string]*pipeline.NodeResult, dir string, asJSON bool) error {
	reports := slices.Collect(job.Reports())
	for _, s := range reports {
		r := done[s.Name]
		if r == nil || r.Manifest == nil {
			continue
		}
		if !asJSON {
			if err := printScores(ctx, c, s, o, done); err != nil {
				return err
			}
		}
		path := filepath.Join(r.Dir, report.PageFile)
		if dir != "" {
			var err error
			if path, err = copyReport(ctx, o, r.Manifest, reportDir(dir, s.Name, len(reports))); err != nil {
				return err
			}
		}
		if abs, err := filepath.Abs(path); err == nil {
			path = abs
		}
		if asJSON {
			if err := c.json(map[string]any{"report": path, "stage": s.Name}); err != nil {
				return err
			}
			continue
		}
		if _, err := fmt.Fprintf(c.out, "report: %s\n", path); err != nil {
			return err
		}
	}
	return nil
}

// printScores prints a table of the scores that a report reads: a line for
// each of its inputs and each set of tags, a column for each metric.
func printScores(ctx context.Context, c *console, s *jobs.Stage, o pipeline.Options, done map[string]*pipeline.NodeResult) error {
	var all []jobs.ScoreSet
	for _, in := range s.Inputs {
		r := done[in.Stage]
		if r == nil || r.Manifest == nil || !jobs.HasScores(r.Manifest) {
			continue
		}
		rows, err := jobs.Scores(ctx, o.Store, r.Manifest)
		if err != nil {
			return err
		}
		all = append(all, jobs.ScoreSet{Name: in.Name, Rows: rows})
	}
	headers, lines := jobs.ScoreTable(all)
	if len(lines) == 0 {
		return nil
	}
	t := newTable(headers...)
	for _, l := range lines {
		t.add(l...)
	}
	return t.write(c.out)
}
