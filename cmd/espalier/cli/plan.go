package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"espalier/pipeline"
)

var planVerb = verb{
	name:  "plan",
	args:  "JOB.yaml",
	short: "show what a run would do and why",
	long: []string{
		"Exit 0 whether there is work or not; --json tells it in state. Raw files are hashed, nothing is run.",
		"--parts plans stages whose inputs exist and counts their parts (- where it is not known yet).",
	},
	example: []string{"espalier plan jobs/smoke.yaml --store out/smoke --set train.steps=50"},
	setup: func(f *pflag.FlagSet) action {
		var j jobFlags
		j.add(f)
		stage := f.String("stage", "", "plan stage `S` and what it needs, nothing else")
		parts := f.Bool("parts", false, "print the number of parts of each stage, as schedulers need it")
		asJSON := f.Bool("json", false, "print one JSON object a stage")
		return func(ctx context.Context, c *console, args []string) error {
			planned, err := j.plan(ctx, c, args, *stage, *parts, pipeline.Plan)
			if planned == nil {
				return err
			}
			return errors.Join(err, printPlan(c, planned, *parts, *asJSON))
		}
	},
}

type planner func(context.Context, pipeline.Graph, pipeline.Options) ([]pipeline.Planned, error)

// plan reads a job and what is known of its stages.
func (j *jobFlags) plan(ctx context.Context, c *console, args []string, stage string, parts bool, look planner) ([]pipeline.Planned, error) {
	if err := want(args, 1, 1, "one job file"); err != nil {
		return nil, err
	}
	job, o, err := j.open(c, args[0])
	if err != nil {
		return nil, err
	}
	o.PlanParts = parts
	if stage == "" {
		return look(ctx, job.Graph(), o)
	}
	stages, err := job.Find(stage)
	if err != nil {
		return nil, usagef("%v", err)
	}
	var out []pipeline.Planned
	var errs []error
	seen := make(map[string]bool)
	for _, s := range stages {
		o.Stage = s.Name
		planned, err := look(ctx, job.Graph(), o)
		errs = append(errs, err)
		for _, p := range planned {
			if !seen[p.Stage] {
				seen[p.Stage] = true
				out = append(out, p)
			}
		}
	}
	return out, errors.Join(errs...)
}

// A planRecord is one line of plan and status in JSON.
type planRecord struct {
	stageRecord
	Why      []string         `json:"why,omitempty"`
	Parts    int              `json:"parts"` // -1 while not known, 0 for a stage without parts
	Done     int              `json:"parts_done"`
	Owner    string           `json:"owner,omitempty"`
	Progress string           `json:"progress,omitempty"`
	Mixture  []pipeline.Share `json:"mixture,omitempty"`
	Memory   int64            `json:"memory,omitempty"` // bytes that a step's tensors take at most
}

func plannedRecord(p pipeline.Planned) stageRecord {
	r := stageRecord{Stage: p.Stage, Kind: p.Kind, Key: string(p.Key), State: p.State, Digest: p.Digest, Rows: p.Rows, Bytes: p.Bytes, Path: p.Path, Dead: p.Dead}
	if p.Err != nil {
		r.Error = p.Err.Error()
	}
	return r
}

func planJSON(c *console, planned []pipeline.Planned) error {
	for _, p := range planned {
		if err := c.json(planRecord{plannedRecord(p), p.Why, p.Parts, p.PartsDone, p.Owner, p.Progress, p.Mixture, p.Memory}); err != nil {
			return err
		}
	}
	return nil
}

func printPlan(c *console, planned []pipeline.Planned, parts, asJSON bool) error {
	if asJSON {
		return planJSON(c, planned)
	}
	if parts {
		t := newTable("stage", " parts", " done")
		for _, p := range planned {
			t.add(p.Stage, count(int64(max(p.Parts, 1)), p.Parts >= 0), strconv.Itoa(p.PartsDone))
		}
		return t.write(c.out)
	}
	t := newTable("stage", "state", "key", "why")
	work := 0
	for _, p := range planned {
		if p.State != pipeline.Cached {
			work++
		}
		t.add(p.Stage, string(p.State), short(string(p.Key)), strings.Join(p.Why, "; "))
	}
	if err := t.write(c.out); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c.out, "%d of %d stages to do\n", work, len(planned)); err != nil {
		return err
	}
	for _, p := range planned {
		if p.Memory > 0 {
			if _, err := fmt.Fprintf(c.out, "a step of %s takes up to %.1f MB\n", p.Stage, float64(p.Memory)/1e6); err != nil {
				return err
			}
		}
	}
	return printMixtures(c, planned)
}

// printMixtures says how often stages go through their inputs. Of stages with one
// mixture it is printed once.
func printMixtures(c *console, planned []pipeline.Planned) error {
	for i, p := range planned {
		same := func(q pipeline.Planned) bool { return slices.Equal(p.Mixture, q.Mixture) }
		if len(p.Mixture) == 0 || slices.ContainsFunc(planned[:i], same) {
			continue
		}
		others := ""
		if n := len(slices.DeleteFunc(slices.Clone(planned[i+1:]), func(q pipeline.Planned) bool { return !same(q) })); n > 0 {
			others = fmt.Sprintf(" and %d more", n)
		}
		if _, err := fmt.Fprintf(c.out, "\nmixture of %s%s\n", p.Stage, others); err != nil {
			return err
		}
		t := newTable("input", " examples", " share", " epochs")
		for _, s := range p.Mixture {
			t.add(s.Input, strconv.FormatInt(s.Examples, 10), fmt.Sprintf("%.2f%%", 100*s.Share), fmt.Sprintf("%.2f", s.Epochs))
		}
		if err := t.write(c.out); err != nil {
			return err
		}
	}
	return nil
}

func short(key string) string {
	if key == "" {
		return "-"
	}
	return key[:min(8, len(key))]
}
