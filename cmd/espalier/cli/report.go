package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"espalier/pipeline"
	"espalier/pipeline/store"
)

// reportPage is the file of a report's output that a browser opens.
const reportPage = "report.html"

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
			return printReports(ctx, c, job, o, done, *out, *asJSON)
		}
	},
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
	return filepath.Join(dir, reportPage), nil
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
