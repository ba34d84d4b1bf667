package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"espalier/evaluate/report"
	"espalier/pipeline"
	"espalier/pipeline/store"
	"espalier/trainer"
)

var reportVerb = verb{
	name:  "report",
	args:  "JOB.yaml",
	short: "copy a job's report out of its store and print its path",
	long:  []string{"Takes one job whose stages are done; espalier run makes them."},
	example: []string{
		"espalier report jobs/smoke.yaml --store out/smoke --out out/report",
	},
	setup: func(f *pflag.FlagSet) action {
		var j jobFlags
		j.add(f)
		out := f.String("out", "", "copy report.html and report.md to `DIR`")
		withLog := f.Bool("with-run-log", false, "say how long the trainings took, by the run log; in the copy too")
		asJSON := f.Bool("json", false, "print one JSON object a report")
		return func(ctx context.Context, c *console, args []string) error {
			if err := want(args, 1, 1, "one job file"); err != nil {
				return err
			}
			job, o, err := j.open(c, args[0])
			if err != nil {
				return err
			}
			planned, err := pipeline.Status(ctx, job.Graph(), o)
			if err != nil {
				return err
			}
			done := make(map[string]*pipeline.NodeResult)
			for _, p := range planned {
				if p.State != pipeline.Cached {
					continue
				}
				m, err := o.Store.Manifest(p.Key)
				if err != nil {
					continue // raw files, which have no output of their own
				}
				done[p.Stage] = &pipeline.NodeResult{Name: p.Stage, Kind: p.Kind, Key: p.Key, Manifest: m, Dir: p.Path}
			}
			found := 0
			for s := range job.Reports() {
				found++
				if done[s.Name] == nil {
					return fmt.Errorf("%s: its report is not made yet; run the job", s.Name)
				}
			}
			if found == 0 {
				return usagef("%s: no stage of kind evaluate/report", args[0])
			}
			if err := printReports(ctx, c, job, o, done, *out, *asJSON); err != nil || !*withLog {
				return err
			}
			times, err := trainingTimes(o.Store, planned)
			if err != nil {
				return err
			}
			if *out != "" {
				for s := range job.Reports() {
					if err := addTimes(reportDir(*out, s.Name, found), times); err != nil {
						return err
					}
				}
			}
			if *asJSON {
				return c.json(map[string]any{"times": times})
			}
			_, err = fmt.Fprint(c.out, report.TimesTable(times))
			return err
		}
	},
}

// trainingTimes reads from the run log what the trainings took.
func trainingTimes(s *store.Store, planned []pipeline.Planned) ([]report.Time, error) {
	rows, err := pipeline.ReadLog(s, "")
	if err != nil {
		return nil, err
	}
	var times []report.Time
	for _, p := range planned {
		if p.Kind != (*trainer.Tune)(nil).Kind() && p.Kind != (*trainer.Train)(nil).Kind() {
			continue
		}
		t := report.Time{Stage: p.Stage}
		for _, r := range rows {
			if r.Key == string(p.Key) && r.State != string(pipeline.Cached) {
				t.Seconds, t.Runs, t.Memory = t.Seconds+r.Work, t.Runs+1, max(t.Memory, r.PeakMemory)
			}
		}
		if t.Runs > 0 {
			times = append(times, t)
		}
	}
	return times, nil
}

// addTimes adds times to the copy of a report in dir.
func addTimes(dir string, times []report.Time) error {
	page, err := os.ReadFile(filepath.Join(dir, report.PageFile))
	if err != nil {
		return err
	}
	markdown, err := os.ReadFile(filepath.Join(dir, report.MarkdownFile))
	if err != nil {
		return err
	}
	if page, markdown, err = report.AddTimes(page, markdown, times); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, report.PageFile), page, 0o644),
		os.WriteFile(filepath.Join(dir, report.MarkdownFile), markdown, 0o644))
}

// reportDir is where one of several reports is copied to.
func reportDir(dir, stage string, reports int) string {
	if reports > 1 {
		return filepath.Join(dir, stage)
	}
	return dir
}

// copyReport copies the files of a report's output to dir and returns the path
// of its page.
func copyReport(ctx context.Context, o pipeline.Options, m *store.Manifest, dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	for _, e := range m.Files {
		if err := copyFile(ctx, o, m, e.Name, filepath.Join(dir, filepath.FromSlash(e.Name))); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, report.PageFile), nil
}

// copyFile replaces the file at path by one of an output.
func copyFile(ctx context.Context, o pipeline.Options, m *store.Manifest, name, path string) error {
	in, err := o.Store.OpenFile(ctx, m, name)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(path), ".report-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.NewSectionReader(in, 0, in.Size()))
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Chmod(out.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(out.Name(), path)
	}
	if err != nil {
		_ = os.Remove(out.Name())
	}
	return err
}
