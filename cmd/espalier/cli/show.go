package cli

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"espalier/pipeline"
)

var showVerb = verb{
	name:  "show",
	args:  "JOB.yaml [STAGE]",
	short: "show the outputs of a job: keys, digests, rows, where they lie",
	long: []string{
		"--json: stage, kind, key, state, digest, rows, bytes, path. The digest is over the names, rows and",
		"SHA-256 of the output's files: equal digests are equal bytes.",
	},
	example: []string{
		"espalier show jobs/smoke.yaml --store out/smoke --json",
		"espalier show jobs/smoke.yaml report --store out/smoke",
	},
	setup: func(f *pflag.FlagSet) action {
		var j jobFlags
		j.add(f)
		asJSON := f.Bool("json", false, "print one JSON object a stage")
		return func(ctx context.Context, c *console, args []string) error {
			if err := want(args, 1, 2, "a job file and at most one stage"); err != nil {
				return err
			}
			stage := ""
			if len(args) == 2 {
				stage = args[1]
			}
			planned, err := j.plan(ctx, c, args[:1], stage, false, pipeline.Status)
			if planned == nil {
				return err
			}
			if stage != "" {
				planned = named(planned, stage)
			}
			if *asJSON {
				for _, p := range planned {
					if err := c.json(plannedRecord(p)); err != nil {
						return err
					}
				}
				return err
			}
			t := newTable("stage", "kind", "state", "key", "digest", " rows", " size", "path")
			for _, p := range planned {
				there := p.Digest != ""
				size := "-"
				if there {
					size = bytesText(p.Bytes)
				}
				t.add(p.Stage, p.Kind, string(p.State), short(string(p.Key)), short(p.Digest), count(p.Rows, there), size, p.Path)
			}
			return errors.Join(err, t.write(c.out))
		}
	},
}

// named selects the stages that a name means.
func named(planned []pipeline.Planned, name string) []pipeline.Planned {
	var out []pipeline.Planned
	for _, p := range planned {
		if p.Stage == name || len(p.Stage) > len(name) && p.Stage[:len(name)+1] == name+"[" {
			out = append(out, p)
		}
	}
	return out
}
