package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"

	"github.com/spf13/pflag"

	"espalier/jobs"
	"espalier/pipeline"
)

// indexVariables hold the index of a task of an array, by scheduler.
var indexVariables = []string{"JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID", "AWS_BATCH_JOB_ARRAY_INDEX"}

var runVerb = verb{
	name:  "run",
	args:  "JOB.yaml",
	short: "make what is missing of a job, resuming where the last run stopped",
	long:  []string{"Exit: 0 done, 1 failed, 2 usage or job file, 20 bad input, 75 retry, 130 or 143 interrupted."},
	example: []string{
		"espalier run jobs/smoke.yaml --store out/smoke -j 2 --set train.steps=50",
	},
	setup: func(f *pflag.FlagSet) action {
		var r runFlags
		r.jobFlags.add(f)
		f.IntVarP(&r.jobs, "jobs", "j", 0, "stages and parts in flight: `N` (default: the CPUs)")
		f.IntVar(&r.threads, "threads", 0, "threads of kernels, shared by what is in flight: `N` (default: the CPUs)")
		f.StringVar(&r.stage, "stage", "", "make stage `S` and what it needs, nothing else")
		f.IntVar(&r.part, "part", -1, "make part `I` of --stage alone (else a Slurm, Kubernetes or AWS array's index)")
		f.IntVar(&r.of, "of", 0, "with a part I: every part whose number leaves I when divided by `N`")
		f.StringVar(&r.maxDead, "max-dead", "", "most dead letters of an output: `N|P%` (default: the job's, else 1%)")
		f.BoolVar(&r.skipRefused, "skip-refused", false, "go on without raw files that cannot be used")
		f.BoolVar(&r.noWait, "no-wait", false, "exit 75 where another run holds an output, instead of waiting")
		f.StringVar(&r.report, "report", "", "copy the job's report to `DIR`")
		f.StringVar(&r.lineage, "lineage", "", "append OpenLineage events to `FILE`")
		f.StringVar(&r.progress, "progress", "auto", "`HOW` progress is shown: auto (default), plain, json or none")
		f.BoolVar(&r.json, "json", false, "print results as JSON, one object a line")
		return func(ctx context.Context, c *console, args []string) error {
			if err := want(args, 1, 1, "one job file"); err != nil {
				return err
			}
			return r.run(ctx, c, args[0], f.Changed("part"))
		}
	},
}

type runFlags struct {
	jobFlags
	jobs, threads, part, of int
	stage, maxDead          string
	skipRefused, noWait     bool
	report, lineage         string
	progress                string
	json                    bool
}

func (r *runFlags) run(ctx context.Context, c *console, file string, partGiven bool) error {
	if err := oneOf("progress", r.progress, progressModes...); err != nil {
		return err
	}
	if err := r.index(partGiven); err != nil {
		return err
	}
	job, o, err := r.open(c, file)
	if err != nil {
		return err
	}
	if r.maxDead != "" {
		l, err := pipeline.ParseLimit(r.maxDead)
		if err != nil {
			return usagef("--max-dead %v", err)
		}
		o.MaxDead = &l
	}
	o.Jobs, o.Threads, o.NoWait, o.SkipRefused, o.Lineage = r.jobs, r.threads, r.noWait, r.skipRefused, r.lineage

	names := make([]string, len(job.Stages))
	for i, s := range job.Stages {
		names[i] = s.Name
	}
	p := newPrinter(r.progress, c.errs, names)
	o.Events = func(e pipeline.Event) { c.sig.observe(e, p.event(e)) }
	o.Log = slog.New(&logHandler{print: p.log, json: r.progress == "json"})
	results, err := r.runStages(ctx, job, o)
	p.close()
	return errors.Join(err, printResults(ctx, c, job, o, results, r.report, r.json, err == nil))
}

// index settles which part of a stage is meant.
func (r *runFlags) index(given bool) error {
	switch {
	case given && r.part < 0:
		return usagef("--part %d: want at least 0", r.part)
	case r.of < 0:
		return usagef("--of %d: want at least 1", r.of)
	case given && r.stage == "":
		return usagef("--part needs --stage")
	}
	for _, name := range indexVariables {
		v, ok := os.LookupEnv(name)
		if !ok || given || r.stage == "" {
			continue
		}
		i, err := strconv.Atoi(v)
		if err != nil || i < 0 {
			return usagef("%s=%s: want a number from 0", name, v)
		}
		r.part, given = i, true
	}
	if r.of > 0 && !given {
		return usagef("--of needs --part or an array's index")
	}
	if r.of > 0 && r.part >= r.of {
		return usagef("--part %d --of %d: want a part below %d", r.part, r.of, r.of)
	}
	return nil
}

// runStages runs the whole job, or the stages and parts that the flags name.
func (r *runFlags) runStages(ctx context.Context, job *jobs.Job, o pipeline.Options) ([]*pipeline.Result, error) {
	if r.stage == "" {
		res, err := pipeline.Run(ctx, job.Graph(), o)
		return []*pipeline.Result{res}, err
	}
	stages, err := job.Find(r.stage)
	if err != nil {
		return nil, usagef("%v", err)
	}
	if r.part >= 0 && len(stages) > 1 {
		return nil, usagef("--stage %s means %d stages; with a part name one, such as %s", r.stage, len(stages), stages[0].Name)
	}
	var results []*pipeline.Result
	var errs []error
	for _, s := range stages {
		o.Stage = s.Name
		parts := []*int{nil}
		if r.part >= 0 {
			if parts, err = r.parts(ctx, job, o); err != nil {
				return results, err
			}
		}
		for _, p := range parts {
			o.Part = p
			res, err := pipeline.Run(ctx, job.Graph(), o)
			results, errs = append(results, res), append(errs, err)
			if ctx.Err() != nil {
				return results, errors.Join(errs...)
			}
		}
	}
	return results, errors.Join(errs...)
}

// parts lists the parts of o.Stage that this task of an array makes.
func (r *runFlags) parts(ctx context.Context, job *jobs.Job, o pipeline.Options) ([]*int, error) {
	if r.of == 0 {
		return []*int{&r.part}, nil
	}
	total, err := countParts(ctx, job, o, o.Stage)
	if err != nil {
		return nil, err
	}
	var out []*int
	for i := r.part; i < total; i += r.of {
		out = append(out, &i)
	}
	return out, nil
}

// countParts plans a stage and returns its number of parts, 1 for a stage
// without parts.
func countParts(ctx context.Context, job *jobs.Job, o pipeline.Options, stage string) (int, error) {
	o.PlanParts, o.Part = true, nil
	planned, err := pipeline.Plan(ctx, job.Graph(), o)
	if err != nil {
		return 0, err
	}
	for _, p := range planned {
		switch {
		case p.Stage != stage:
		case p.Parts < 0:
			return 0, &pipeline.TemporaryError{Err: fmt.Errorf("%s: its parts are not known before its inputs are made", stage)}
		default:
			return max(p.Parts, 1), nil
		}
	}
	return 0, fmt.Errorf("%s: not planned", stage)
}
