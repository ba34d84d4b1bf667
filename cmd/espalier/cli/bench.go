package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/spf13/pflag"

	"espalier/trainer/cpu/gauge"
)

var benchVerb = verb{
	name:    "bench",
	short:   "measure the kernels on this machine, beside what its cores can do",
	long:    []string{"Each line is the best of some runs; other programs at work make it less. Nothing is written."},
	example: []string{"espalier bench --threads 2"},
	setup: func(f *pflag.FlagSet) action {
		threads := f.Int("threads", 0, "threads of kernels: `N` (default: the CPUs)")
		each := f.Duration("each", 100*time.Millisecond, "how `LONG` each line is measured (default 100ms)")
		asJSON := f.Bool("json", false, "print one JSON object a line")
		return func(ctx context.Context, c *console, args []string) error {
			if err := want(args, 0, 0, "none"); err != nil {
				return err
			}
			if *threads < 0 || *each <= 0 {
				return usagef("--threads and --each: want more than 0")
			}
			if *threads == 0 {
				*threads = runtime.GOMAXPROCS(0)
			}
			return printGauge(ctx, c, *threads, *each, *asJSON)
		}
	},
}

func printGauge(ctx context.Context, c *console, threads int, each time.Duration, asJSON bool) error {
	t := newTable("kernel", "size", " threads", " 1e9/s", "", " of the peak")
	var failed error
	err := gauge.Rows(ctx, threads, each, func(r gauge.Row) bool {
		if asJSON {
			failed = c.json(map[string]any{
				"kernel": r.Kernel, "size": r.Size, "threads": r.Threads, "rate": r.Rate, "unit": r.Unit, "peak": r.Peak, "fraction": r.Fraction,
			})
			return failed == nil
		}
		share := ""
		if r.Fraction > 0 {
			share = fmt.Sprintf("%.0f %%", 100*r.Fraction)
		}
		t.add(r.Kernel, r.Size, fmt.Sprint(r.Threads), fmt.Sprintf("%.1f", r.Rate), r.Unit, share)
		return true
	})
	if err != nil || failed != nil || asJSON {
		return errors.Join(err, failed)
	}
	return t.write(c.out)
}
