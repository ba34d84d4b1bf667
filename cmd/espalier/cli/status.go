package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"espalier/pipeline"
)

var statusVerb = verb{
	name:  "status",
	args:  "JOB.yaml",
	short: "show how far a job is, also while it runs elsewhere",
	long:  []string{"States: pending, partial, running, cached, rejected (too many dead letters), refused (bad raw file)."},
	example: []string{
		"espalier status jobs/smoke.yaml --store out/smoke",
	},
	setup: func(f *pflag.FlagSet) action {
		var j jobFlags
		j.add(f)
		asJSON := f.Bool("json", false, "print one JSON object a stage")
		return func(ctx context.Context, c *console, args []string) error {
			planned, err := j.plan(ctx, c, args, "", false, pipeline.Status)
			if planned == nil {
				return err
			}
			if *asJSON {
				return errors.Join(err, planJSON(c, planned))
			}
			t := newTable("stage", "state", "key", " parts", " rows", " dead", " size", "")
			for _, p := range planned {
				there := p.State == pipeline.Cached || p.State == pipeline.Rejected
				size := "-"
				if there {
					size = bytesText(p.Bytes)
				}
				t.add(p.Stage, string(p.State), short(string(p.Key)), partsText(p), count(p.Rows, there), count(p.Dead, there), size, remark(p))
			}
			return errors.Join(err, t.write(c.out))
		}
	},
}

func partsText(p pipeline.Planned) string {
	switch {
	case p.Parts < 0:
		return "-"
	case p.Parts == 0:
		return "1"
	}
	return fmt.Sprintf("%d/%d", p.PartsDone, p.Parts)
}

func remark(p pipeline.Planned) string {
	switch {
	case p.Owner != "" && p.Progress != "":
		return p.Owner + "  " + p.Progress
	case p.Owner != "":
		return p.Owner
	}
	return p.Progress
}
