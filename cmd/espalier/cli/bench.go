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
	name:  "bench",
	short: "measure what this machine computes and moves a second",
	long: []string{
		"Each line is the best of some runs; other programs at work make it less. Nothing is written.",
		"The last column is the share of the multiply-adds, or of the bytes read, of the first lines.",
	},
	example: []string{"espalier bench --threads 2"},
	setup: func(f *pflag.FlagSet) action {
		threads := f.Int("threads", 0, "threads of kernels: `N` (default: the CPUs)")
		each := f.Duration("each", 200*time.Millisecond, "how `LONG` each line is measured (default 200ms)")
		asJSON := f.Bool("json", false, "print one JSON object a line")
		return func(ctx context.Context, c *console, args []string) error {
			if err := want(args, 0, 0, "none"); err != nil {
				return err
			}
			if *threads < 0 || *each <= 0 {
				return usagef("--threads and --each: want more than 0")
			}
			counts := []int{1}
			if n := *threads; n > 1 {
				counts = append(counts, n)
			} else if p := runtime.GOMAXPROCS(0); n == 0 && p > 1 {
				counts = append(counts, p)
			}
			t := newTable("kernel", "size", " threads", " rate", "unit", " of peak")
			var failed error
			for _, n := range counts {
				err := gauge.Rows(ctx, n, *each, func(r gauge.Row) bool {
					if *asJSON {
						failed = c.json(map[string]any{"kernel": r.Kernel, "size": r.Size, "threads": r.Threads, "rate": r.Rate, "unit": "G" + r.Unit, "of_peak": r.Fraction})
						return failed == nil
					}
					share := ""
					if r.Fraction != 0 {
						share = fmt.Sprintf("%.2f", r.Fraction)
					}
					t.add(r.Kernel, r.Size, fmt.Sprint(r.Threads), fmt.Sprintf("%.1f", r.Rate), "G"+r.Unit, share)
					return true
				})
				if err := errors.Join(err, failed); err != nil {
					return err
				}
			}
			if *asJSON {
				return nil
			}
			return t.write(c.out)
		}
	},
}
