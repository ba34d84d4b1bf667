package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"espalier/pipeline/store"
)

// defaultGrace is how long the trash keeps what was swept.
const defaultGrace = 72 * time.Hour

var gcVerb = verb{
	name:  "gc",
	args:  "JOB.yaml",
	short: "delete from a job's store what no job needs any more",
	long: []string{
		"Kept is what job files that used the store name, what is pinned and what is being read. The rest",
		"moves to the trash of the store and is deleted there after the grace.",
	},
	example: []string{"espalier gc jobs/smoke.yaml --store out/smoke --grace 0 --dry-run"},
	setup: func(f *pflag.FlagSet) action {
		var j jobFlags
		j.add(f)
		o := store.GCOptions{}
		f.DurationVar(&o.Grace, "grace", defaultGrace, "how `LONG` the trash keeps things (default 72h); 0 deletes at once")
		f.BoolVar(&o.DryRun, "dry-run", false, "only say what would be done")
		asJSON := f.Bool("json", false, "print one JSON object an item and one for the whole")
		return func(ctx context.Context, c *console, args []string) error {
			if err := want(args, 1, 1, "one job file"); err != nil {
				return err
			}
			if o.Grace < 0 {
				return usagef("--grace %s: want at least 0", o.Grace)
			}
			_, opts, err := j.open(c, args[0])
			if err != nil {
				return err
			}
			r, err := opts.Store.GC(ctx, o)
			if err != nil {
				return err
			}
			return printGC(c, r, o.DryRun, *asJSON)
		}
	},
}

func printGC(c *console, r *store.GCReport, dry, asJSON bool) error {
	for _, i := range r.Swept {
		var err error
		if asJSON {
			err = c.json(map[string]any{"path": i.Path, "bytes": i.Bytes, "reason": i.Reason})
		} else {
			_, err = fmt.Fprintf(c.out, "%9s  %s  %s\n", bytesText(i.Bytes), i.Path, i.Reason)
		}
		if err != nil {
			return err
		}
	}
	if asJSON {
		return c.json(map[string]any{
			"roots": r.Roots, "kept": r.Kept, "swept": len(r.Swept), "swept_bytes": r.Bytes,
			"deleted": r.Deleted, "freed_bytes": r.Freed, "busy": r.Busy, "dry_run": dry,
		})
	}
	moved, deleted := "moved to the trash", "deleted"
	if dry {
		moved, deleted = "would move to the trash", "would be deleted"
	}
	for _, b := range r.Busy {
		if _, err := fmt.Fprintf(c.out, "kept what %s is using\n", b); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(c.out, "%d outputs kept; %d entries (%s) %s; %d entries (%s) %s\n",
		r.Kept, len(r.Swept), bytesText(r.Bytes), moved, r.Deleted, bytesText(r.Freed), deleted)
	return err
}
