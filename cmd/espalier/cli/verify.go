package cli

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"espalier/pipeline"
)

var verifyVerb = verb{
	name:  "verify",
	args:  "JOB.yaml",
	short: "read every output and raw file of a job again and compare digests",
	long:  []string{"Exit 1 if something is damaged or missing; the next run makes it anew."},
	example: []string{
		"espalier verify jobs/smoke.yaml --store out/smoke",
	},
	setup: func(f *pflag.FlagSet) action {
		var j jobFlags
		j.add(f)
		asJSON := f.Bool("json", false, "print one JSON object a damaged file")
		return func(ctx context.Context, c *console, args []string) error {
			if err := want(args, 1, 1, "one job file"); err != nil {
				return err
			}
			job, o, err := j.open(c, args[0])
			if err != nil {
				return err
			}
			damaged, err := pipeline.Verify(ctx, job.Graph(), o)
			if err != nil {
				return err
			}
			for _, d := range damaged {
				if *asJSON {
					err = c.json(d)
				} else {
					_, err = fmt.Fprintf(c.out, "%s: %s %s\n", d.Path, d.Problem, d.Detail)
				}
				if err != nil {
					return err
				}
			}
			if len(damaged) > 0 {
				return fmt.Errorf("damaged or missing: %d files", len(damaged))
			}
			if *asJSON {
				return nil
			}
			return writeString(c.out, "all outputs are as their manifests say\n")
		}
	},
}
