package cli

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/spf13/pflag"

	"espalier/trainer/cpu"
	"espalier/trainer/op"
	"espalier/trainer/tensor"
)

var benchVerb = verb{
	name:    "bench",
	short:   "measure what this machine computes and moves a second",
	long:    []string{"Each line is the best of some runs; other programs at work make it less. Nothing is written."},
	example: []string{"espalier bench --threads 2"},
	setup: func(f *pflag.FlagSet) action {
		threads := f.Int("threads", 0, "threads of kernels: `N` (default: the CPUs)")
		each := f.Duration("each", 300*time.Millisecond, "how `LONG` each line is measured (default 300ms)")
		asJSON := f.Bool("json", false, "print one JSON object a line")
		return func(ctx context.Context, c *console, args []string) error {
			if err := want(args, 0, 0, "none"); err != nil {
				return err
			}
			if *threads < 0 || *each <= 0 {
				return usagef("--threads and --each: want more than 0")
			}
			n := *threads
			if n == 0 {
				n = runtime.GOMAXPROCS(0)
			}
			t := newTable("kernel", "size", " threads", " rate", "unit")
			for _, b := range benchmarks(n) {
				rate, err := b.measure(ctx, *each)
				if err != nil {
					return err
				}
				if *asJSON {
					if err := c.json(map[string]any{"kernel": b.kernel, "size": b.size, "threads": b.threads, "rate": rate, "unit": b.unit}); err != nil {
						return err
					}
					continue
				}
				t.add(b.kernel, b.size, fmt.Sprint(b.threads), fmt.Sprintf("%.1f", rate), b.unit)
			}
			if *asJSON {
				return nil
			}
			return t.write(c.out)
		}
	},
}

// A benchmark is one line: some work on a device, in units of 1e9.
type benchmark struct {
	kernel, size string
	threads      int
	work         float64 // operations or bytes a run
	unit         string
	setup        func(d *cpu.Device) func()
}

func benchmarks(threads int) []benchmark {
	var out []benchmark
	for _, n := range []int{1, threads} {
		for _, s := range [][3]int{{512, 512, 512}, {1024, 1024, 1024}, {1500, 512, 512}, {8, 512, 2048}} {
			out = append(out, gemmBenchmark(n, s[0], s[2], s[1]))
		}
		out = append(out, copyBenchmark(n, 256<<20))
		if threads == 1 {
			break
		}
	}
	return out
}

func gemmBenchmark(threads, m, n, k int) benchmark {
	return benchmark{
		"matrix product", fmt.Sprintf("%dx%dx%d", m, k, n), threads, 2 * float64(m) * float64(n) * float64(k), "GFLOP/s",
		func(d *cpu.Device) func() {
			a, b, c := d.Keep(tensor.Float32, m, k), d.Keep(tensor.Float32, k, n), d.Keep(tensor.Float32, m, n)
			packed := d.Pack(b, false)
			return func() { d.Gemm(c, a, packed, op.Gemm{}) }
		},
	}
}

func copyBenchmark(threads, bytes int) benchmark {
	return benchmark{
		"copy", bytesText(int64(bytes)), threads, 2 * float64(bytes), "GB/s",
		func(d *cpu.Device) func() {
			a, b := d.Keep(tensor.Float32, bytes/4), d.Keep(tensor.Float32, bytes/4)
			return func() { d.Copy(a, b) }
		},
	}
}

// measure returns the best rate of runs for about so long.
func (b *benchmark) measure(ctx context.Context, each time.Duration) (float64, error) {
	d := cpu.New(b.threads)
	defer d.Close()
	run := b.setup(d)
	run()
	best := time.Duration(1 << 62)
	for begin := time.Now(); time.Since(begin) < each; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		start := time.Now()
		run()
		best = min(best, time.Since(start))
	}
	if err := d.Err(); err != nil {
		return 0, err
	}
	return b.work / best.Seconds() / 1e9, nil
}
