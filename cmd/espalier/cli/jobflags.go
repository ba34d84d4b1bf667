package cli

import (
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"espalier/jobs"
	"espalier/pipeline"
	"espalier/pipeline/store"
	"espalier/trainer/kernel/cpuinfo"
)

// jobFlags are the flags of all verbs that read a job file.
type jobFlags struct {
	store  string
	values []string
	set    []string
}

func (j *jobFlags) add(f *pflag.FlagSet) {
	f.StringVar(&j.store, "store", "", "`DIR` of the store (else store: of the job, $ESPALIER_STORE, or beside it)")
	f.StringArrayVar(&j.values, "values", nil, "override the job's values by those of a YAML `FILE`; may be repeated")
	f.StringArrayVar(&j.set, "set", nil, "override a field, as in train.steps=30; may be repeated: `PATH=VALUE`")
}

// overrides are those of the files of values, then those of --set.
func (j *jobFlags) overrides() ([]string, error) {
	var out []string
	for _, file := range j.values {
		set, err := jobs.ReadValues(file)
		if err != nil {
			return nil, usagef("--values: %v", err)
		}
		out = append(out, set...)
	}
	return append(out, j.set...), nil
}

// load reads the job file; what is wrong with it is a fault of usage.
func (j *jobFlags) load(c *console, file string) (*jobs.Job, error) {
	set, err := j.overrides()
	if err != nil {
		return nil, err
	}
	job, err := jobs.Load(file, set, c.kinds)
	if err != nil {
		if _, faults := err.(jobs.Faults); !faults {
			err = usagef("%v", err)
		}
		return nil, err
	}
	return job, nil
}

// open loads the job and opens its store.
func (j *jobFlags) open(c *console, file string) (*jobs.Job, pipeline.Options, error) {
	job, err := j.load(c, file)
	if err != nil {
		return nil, pipeline.Options{}, err
	}
	s, err := store.Open(j.dir(job))
	if err != nil {
		return nil, pipeline.Options{}, err
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, pipeline.Options{}, err
	}
	set, err := j.overrides()
	if err != nil {
		return nil, pipeline.Options{}, err
	}
	return job, pipeline.Options{Store: s, Job: abs, Set: set, Tool: toolVersion(), Numerics: cpuinfo.Numerics()}, nil
}

// dir is the folder of a job's store.
func (j *jobFlags) dir(job *jobs.Job) string {
	switch env := os.Getenv("ESPALIER_STORE"); {
	case j.store != "":
		return j.store
	case job.Store != "":
		return job.Store
	case env != "":
		return env
	}
	return filepath.Join(filepath.Dir(job.File), "espalier-store")
}
