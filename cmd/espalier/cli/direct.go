package cli

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/spf13/pflag"

	"espalier/jobs"
	"espalier/pipeline"
	"espalier/trainer/kernel/cpuinfo"
)

// directFlags are the flags of verbs that make the output of one stage in a
// folder, without a job.
type directFlags struct {
	out           string
	replace       bool
	maxDead       string
	skipRefused   bool
	jobs, threads int
	progress      string
	json          bool
}

func (d *directFlags) add(f *pflag.FlagSet) {
	d.output(f)
	f.StringVar(&d.maxDead, "max-dead", "", "most dead letters: `N|P%` (default: any number)")
	f.BoolVar(&d.skipRefused, "skip-refused", false, "go on without raw files that cannot be used")
	f.IntVarP(&d.jobs, "jobs", "j", 0, "parts in flight: `N` (default: the CPUs)")
	f.IntVar(&d.threads, "threads", 0, "threads of kernels: `N` (default: the CPUs)")
	f.StringVar(&d.progress, "progress", "auto", "`HOW` progress is shown: auto (default), plain, json or none")
	f.BoolVar(&d.json, "json", false, "print one JSON object")
}

// output adds the flags of where the output goes.
func (d *directFlags) output(f *pflag.FlagSet) {
	f.StringVar(&d.out, "out", "", "`DIR` of the output, absent or up to date; DIR.partial holds work")
	f.BoolVar(&d.replace, "replace", false, "put the output in the place of another one of this verb")
}

// addOutput adds the flags of verbs that read what other verbs made: little can
// be wrong with that, and it is done soon.
func (d *directFlags) addOutput(f *pflag.FlagSet) {
	d.output(f)
	f.StringVar(&d.progress, "progress", "auto", "`HOW` progress is shown: auto (default), plain, json or none")
	f.BoolVar(&d.json, "json", false, "print one JSON object")
}

// make makes the output of a stage of a graph and prints what it is.
func (d *directFlags) make(ctx context.Context, c *console, g pipeline.Graph, stage string) error {
	if d.out == "" {
		return usagef("want --out DIR")
	}
	if err := oneOf("progress", d.progress, progressModes...); err != nil {
		return err
	}
	limit := pipeline.NoLimit
	if d.maxDead != "" {
		var err error
		if limit, err = pipeline.ParseLimit(d.maxDead); err != nil {
			return usagef("--max-dead %v", err)
		}
	}
	for _, n := range g.Nodes {
		if k, ok := n.Stage.(pipeline.Checker); ok {
			if err := k.Check(); err != nil {
				return usagef("%v", err)
			}
		}
	}
	p := newPrinter(d.progress, c.errs, []string{stage})
	o := pipeline.Options{
		Jobs: d.jobs, Threads: d.threads, MaxDead: &limit, SkipRefused: d.skipRefused,
		Tool: toolVersion(), Numerics: cpuinfo.Numerics(),
		Log: slog.New(&logHandler{print: p.log, json: d.progress == "json"}),
	}
	o.Events = func(e pipeline.Event) {
		if e.Kind != pipeline.FilesKind {
			c.sig.observe(e, p.event(e))
		}
	}
	direct := jobs.Direct{Graph: g, Stage: stage, Out: d.out, Replace: d.replace}
	m, cached, err := direct.Run(ctx, o)
	p.close()
	if err != nil {
		return err
	}
	state := pipeline.Done
	if cached {
		state = pipeline.Cached
	}
	if d.json {
		var size int64
		for _, f := range m.Files {
			size += f.Bytes
		}
		return c.json(stageRecord{Stage: stage, Kind: m.Kind, Key: string(m.Key), State: state, Digest: m.Digest, Rows: m.Rows, Bytes: size, Path: d.out, Dead: m.Dead})
	}
	what := "made"
	if cached {
		what = "up to date"
	}
	if _, err := fmt.Fprintf(c.out, "%s: %s, %d rows, %d dead letters, digest %s\n", d.out, what, m.Rows, m.Dead, short(m.Digest)); err != nil {
		return err
	}
	if m.Dead > 0 {
		_, err = fmt.Fprintf(c.out, "espalier deadletters %s tells why\n", d.out)
	}
	return err
}
