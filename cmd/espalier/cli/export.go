package cli

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/pflag"

	"espalier/jobs"
	"espalier/jobs/schedule"
	"espalier/pipeline"
)

var exportVerb = verb{
	name:  "export",
	args:  "cron|airflow|slurm|k8s JOB.yaml",
	short: "write a job for a scheduler: crontab, Airflow DAG, Slurm script, Kubernetes Jobs",
	long:  []string{"Stages whose work falls into parts become arrays of --width tasks; any task may run twice."},
	example: []string{
		"espalier export slurm jobs/smoke.yaml --store /shared/store --width 16 > smoke.sh",
		`espalier export cron jobs/smoke.yaml --at "17 3 * * *"`,
	},
	setup: func(f *pflag.FlagSet) action {
		var e exportFlags
		e.jobFlags.add(f)
		f.IntVar(&e.width, "width", 1, "tasks of the array of a stage with parts: `N`")
		f.StringVar(&e.command, "command", "espalier", "how the program is called there: `PATH`")
		f.StringVar(&e.at, "at", "", "cron, airflow: when it runs, as in crontab: `TIME`")
		f.StringArrayVar(&e.sbatch, "sbatch", nil, "slurm: `OPTION` for every task, such as --sbatch=--mem=8G; may be repeated")
		f.IntVar(&e.running, "running", 0, "slurm: at most `N` tasks of an array at once")
		f.StringVar(&e.pod.Image, "image", "", "k8s: `IMAGE` that holds the program")
		f.StringVar(&e.pod.Claim, "claim", "", "k8s: volume `CLAIM` with job file, raw files and store")
		f.StringVar(&e.pod.Mount, "mount", "", "k8s: `PATH` at which the claim is mounted")
		f.StringVar(&e.pod.Namespace, "namespace", "", "k8s: `NAME` of the namespace")
		f.StringVar(&e.pod.CPU, "cpu", "", "k8s: processors a pod asks for: `N`")
		f.StringVar(&e.pod.Memory, "memory", "", "k8s: memory a pod asks for and may use, such as `4Gi`")
		return func(_ context.Context, c *console, args []string) error {
			if err := want(args, 2, 2, "a scheduler and a job file"); err != nil {
				return err
			}
			return e.export(c, args[0], args[1])
		}
	},
}

type exportFlags struct {
	jobFlags
	width, running int
	command, at    string
	sbatch         []string
	pod            schedule.Pod
}

func (e *exportFlags) export(c *console, scheduler, file string) error {
	if !slices.Contains([]string{"cron", "airflow", "slurm", "k8s"}, scheduler) {
		return usagef("no scheduler %s; want cron, airflow, slurm or k8s", scheduler)
	}
	if e.width < 1 {
		return usagef("--width %d: want at least 1", e.width)
	}
	job, err := e.load(c, file)
	if err != nil {
		return err
	}
	j, err := e.describe(job)
	if err != nil {
		return err
	}
	switch scheduler {
	case "cron":
		if e.at == "" {
			return usagef(`cron needs --at, such as --at "17 3 * * *"`)
		}
		err = schedule.Cron(c.out, j, e.at)
	case "airflow":
		err = schedule.Airflow(c.out, j, e.at)
	case "slurm":
		running := ""
		if e.running != 0 {
			running = strconv.Itoa(e.running)
		}
		err = schedule.Slurm(c.out, j, e.sbatch, running)
	case "k8s":
		if e.pod.Image == "" {
			return usagef("k8s needs --image")
		}
		err = schedule.Kubernetes(c.out, j, e.pod)
	}
	if err != nil {
		return usagef("%v", err)
	}
	return nil
}

// describe is the job as schedulers see it: with absolute paths, without the
// stages that only name raw files.
func (e *exportFlags) describe(job *jobs.Job) (*schedule.Job, error) {
	file, err := filepath.Abs(job.File)
	if err != nil {
		return nil, err
	}
	store, err := filepath.Abs(e.dir(job))
	if err != nil {
		return nil, err
	}
	command := e.command
	if filepath.Base(command) != command { // a path: as it is from here
		if command, err = filepath.Abs(command); err != nil {
			return nil, err
		}
	}
	set, err := e.overrides()
	if err != nil {
		return nil, err
	}
	j := &schedule.Job{Name: job.Name, Command: []string{command}, File: file, Store: store, Set: set, Width: e.width}
	raw := make(map[string]bool)
	for _, s := range job.Stages {
		if s.Params.Kind() == pipeline.FilesKind {
			raw[s.Name] = true
		}
	}
	for _, s := range job.Stages {
		if raw[s.Name] {
			continue
		}
		st := schedule.Stage{Name: s.Name}
		_, st.Parts = s.Params.(pipeline.Splitter)
		for _, in := range s.Inputs {
			if !raw[in.Stage] && !slices.Contains(st.Needs, in.Stage) {
				st.Needs = append(st.Needs, in.Stage)
			}
		}
		j.Stages = append(j.Stages, st)
	}
	return j, nil
}
