package cli

import (
	"context"
	"path/filepath"

	"github.com/spf13/pflag"

	"espalier/pipeline"
)

var logVerb = verb{
	name:    "log",
	args:    "JOB.yaml",
	short:   "show what the runs of a job did: time, rows, memory, errors",
	long:    []string{"The log is that of the store; it is never part of a key or of an output."},
	example: []string{"espalier log jobs/smoke.yaml --store out/smoke --last 1"},
	setup: func(f *pflag.FlagSet) action {
		var j jobFlags
		j.add(f)
		last := f.Int("last", 0, "only the last `N` runs")
		all := f.Bool("all", false, "the runs of every job that used the store")
		cached := f.Bool("cached", false, "also stages that were up to date")
		asJSON := f.Bool("json", false, "print one JSON object a stage and run")
		return func(_ context.Context, c *console, args []string) error {
			if err := want(args, 1, 1, "one job file"); err != nil {
				return err
			}
			_, o, err := j.open(c, args[0])
			if err != nil {
				return err
			}
			if *all {
				o.Job = ""
			}
			rows, err := pipeline.ReadLog(o.Store, o.Job)
			if err != nil {
				return err
			}
			return printLog(c, lastRuns(rows, *last), *cached, *asJSON)
		}
	},
}

// lastRuns keeps the rows of the last n runs, all if n is not positive.
func lastRuns(rows []pipeline.LogRow, n int) []pipeline.LogRow {
	if n <= 0 {
		return rows
	}
	seen := make(map[string]bool)
	for i := len(rows) - 1; i >= 0; i-- {
		if seen[rows[i].Run] = true; len(seen) > n {
			return rows[i+1:]
		}
	}
	return rows
}

func printLog(c *console, rows []pipeline.LogRow, cached, asJSON bool) error {
	t := newTable("start", "job", "stage", "state", "key", " parts", " rows", " dead", " time", " memory", "error")
	for _, r := range rows {
		if r.State == string(pipeline.Cached) && !cached {
			continue
		}
		if asJSON {
			if err := c.json(r); err != nil {
				return err
			}
			continue
		}
		t.add(r.Start, filepath.Base(r.Job), r.Stage, r.State, short(r.Key), count(r.PartsRun, r.Parts > 0), count(r.Rows, true), count(r.Dead, true), seconds(r.Seconds), bytesText(r.PeakMemory), firstLine(r.Error))
	}
	if asJSON {
		return nil
	}
	return t.write(c.out)
}
